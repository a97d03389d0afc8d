// Factories reject impossible sizes, ranges and memory, gradients of integers, and missing devices.
#include <cmath>
#include <map>

#include "support/bad_input.h"
#include "support/throws.h"
#include "tandem/backend.h"
#include "tandem/cuda/device.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

constexpr int64_t kHuge = int64_t{1} << 60;

/// Calls whose message names the factory that was called.
BadInputs named() {
  const Tensor none, x = ones({2, 3});
  static float memory[6] = {};
  const TensorOptions integer_grad = TensorOptions(kInt).requires_grad(true);
  const Tensor n = ones({2}, kLong);
  return {
      BAD_INPUT("empty", empty({2, -1}), ShapeError, "[2, -1]", "negative", "at least 0"),
      BAD_INPUT("empty", empty({kHuge * 4, 2}), ShapeError, "f32", "check the sizes"),
      BAD_INPUT("empty", empty({kHuge / 4}), OutOfMemoryError, "1152921504606846976 bytes", "free tensors"),
      BAD_INPUT("empty", empty({2, 3}, kChannelsLast), ShapeError, "rank 2", "[2, 3]", "Contiguous"),
      BAD_INPUT("empty", empty({2}, integer_grad), DTypeError, "i32", "floating dtype"),
      UNDEFINED("empty_like", empty_like(none)),
      BAD_INPUT("empty_like", empty_like(x, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("empty_like", empty_like(n, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("zeros", zeros({-1}), ShapeError, "[-1]", "at least 0"),
      BAD_INPUT("zeros", zeros({2}, integer_grad), DTypeError, "i32", "floating dtype"),
      UNDEFINED("zeros_like", zeros_like(none)),
      BAD_INPUT("zeros_like", zeros_like(n, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("ones", ones({-1}), ShapeError, "[-1]", "at least 0"),
      BAD_INPUT("ones", ones({2}, integer_grad), DTypeError, "i32", "floating dtype"),
      UNDEFINED("ones_like", ones_like(none)),
      BAD_INPUT("ones_like", ones_like(n, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("scalar_tensor", scalar_tensor(1, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("scalar_tensor", scalar_tensor(1e6, kHalf), StateError, "1000000", "f16", "wider dtype"),
      BAD_INPUT("eye", eye(2, -1), ShapeError, "[2, -1]", "at least 0"),
      BAD_INPUT("eye", eye(2, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("full", full({2}, 256, kByte), StateError, "256", "u8", "wider dtype"),
      BAD_INPUT("full", full({2}, std::nan(""), kLong), StateError, "nan", "i64", "wider dtype"),
      BAD_INPUT("full_like", full_like(n, 1e19), StateError, "1e+19", "i64", "wider dtype"),
      BAD_INPUT("arange", arange(300, kByte), StateError, "299", "u8", "wider dtype"),
      BAD_INPUT("arange", arange(0, 7e4, 1, kHalf), StateError, "69999", "f16", "wider dtype"),
      BAD_INPUT("linspace", linspace(0, 1e5, 3, kHalf), StateError, "100000", "f16", "wider dtype"),
      BAD_INPUT("tensor", tensor({1, 300}, kByte), StateError, "300", "u8", "wider dtype"),
      BAD_INPUT("tensor", tensor({1e5}, kHalf), StateError, "100000", "f16", "wider dtype"),
      BAD_INPUT("rand", rand({kHuge / 4}), OutOfMemoryError, "1152921504606846976 bytes", "free tensors"),
      BAD_INPUT("rand", rand({2}, kLong), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("randn", randn({2}, kBool), DTypeError, "bool", ".to(kFloat)"),
      BAD_INPUT("rand_like", rand_like(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("randn_like", randn_like(n), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("randint", randint(3, 3, {2}), StateError, "low = 3", "high = 3"),
      BAD_INPUT("randint", randint(0, {2}), StateError, "low = 0", "high = 0"),
      BAD_INPUT("randint", randint(257, {2}, kByte), StateError, "[0, 257)", "u8", "[0, 255]", "wider dtype"),
      BAD_INPUT("randperm", randperm(257, kByte), StateError, "256", "u8", "wider dtype"),
      BAD_INPUT("empty_strided", empty_strided({2, 3}, {1}), ShapeError, "[2, 3]", "[1]", "length"),
      BAD_INPUT("empty_strided", empty_strided({2, 3}, {3, -1}), ShapeError, "[3, -1]", "negative", "at least 0"),
      BAD_INPUT("empty_strided", empty_strided({2, -3}, {3, 1}), ShapeError, "[2, -3]", "negative", "at least 0"),
      BAD_INPUT("empty_strided", empty_strided({2, 3}, {INT64_MAX, 1}), ShapeError, "[2, 3]", "more bytes"),
      BAD_INPUT("empty_strided", empty_strided({5}, {int64_t{1} << 60}), ShapeError, "[5]", "more bytes"),
      BAD_INPUT("from_blob", from_blob(nullptr, {int64_t{1} << 40, int64_t{1} << 40}), ShapeError, "more bytes"),
      BAD_INPUT("empty_strided", empty_strided({2}, {1}, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("full", full({2, -1}, 1), ShapeError, "[2, -1]", "negative", "at least 0"),
      BAD_INPUT("full", full({kHuge, kHuge}, 1), ShapeError, "1152921504606846976", "i64", "check the sizes"),
      BAD_INPUT("full", full({2}, 1, requires_grad()), DTypeError, "i64", "floating dtype"),
      UNDEFINED("full_like", full_like(none, 1)),
      BAD_INPUT("full_like", full_like(x, 1, integer_grad), DTypeError, "i32", "floating dtype"),
      UNDEFINED("rand_like", rand_like(none)),
      UNDEFINED("randn_like", randn_like(none)),
      BAD_INPUT("arange", arange(0, 3, 0), StateError, "step is 0", "start = 0", "end = 3"),
      BAD_INPUT("arange", arange(0, 3, -1), StateError, "step = -1", "end = 3", "start = 0", "change its sign"),
      BAD_INPUT("arange", arange(-1), StateError, "step = 1", "end = -1", "change its sign"),
      BAD_INPUT("arange", arange(std::nan("")), StateError, "nan", "finite"),
      BAD_INPUT("arange", arange(0, 1, 1e-300), ShapeError, "1e-300", "more elements than memory"),
      BAD_INPUT("arange", arange(3, kBool), DTypeError, "bool", "integer or floating"),
      BAD_INPUT("arange", arange(3, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("linspace", linspace(0, 1, -1), StateError, "steps = -1", "at least 0"),
      BAD_INPUT("linspace", linspace(0, 1, kHuge * 4), ShapeError, "check the sizes"),
      BAD_INPUT("linspace", linspace(0, 1, 3, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("logspace", logspace(0, 1, -1), StateError, "steps = -1", "at least 0"),
      BAD_INPUT("logspace", logspace(0, 5, 2, 10, kHalf), StateError, "100000", "f16", "wider dtype"),
      BAD_INPUT("range", range(0, 3, 0), StateError, "step is 0", "start = 0", "end = 3"),
      BAD_INPUT("range", range(0, 3, -1), StateError, "step = -1", "end = 3", "change its sign"),
      BAD_INPUT("range", range(0, std::nan("")), StateError, "nan", "finite"),
      BAD_INPUT("range", range(0, 1, 1e-300), ShapeError, "1e-300", "more elements than memory"),
      BAD_INPUT("range", range(0, 3, 1, kBool), DTypeError, "bool", "integer or floating"),
      BAD_INPUT("range", range(0, 300, 1, kByte), StateError, "300", "u8", "wider dtype"),
      BAD_INPUT("hann_window", hann_window(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("hann_window", hann_window(3, true, kLong), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("hamming_window", hamming_window(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("blackman_window", blackman_window(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("bartlett_window", bartlett_window(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("kaiser_window", kaiser_window(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("kaiser_window", kaiser_window(3, true, 1e4), StateError, "beta = 10000", "700"),
      UNDEFINED("randint_like", randint_like(none, 3)),
      BAD_INPUT("randint_like", randint_like(x, 3, 3), StateError, "low = 3", "high = 3"),
      UNDEFINED("new_empty", none.new_empty({2})),
      BAD_INPUT("new_empty", x.new_empty({-2}), ShapeError, "[-2]", "at least 0"),
      BAD_INPUT("new_empty_strided", x.new_empty_strided({2}, {-1}), ShapeError, "[-1]", "at least 0"),
      BAD_INPUT("new_zeros", n.new_zeros({2}, requires_grad()), DTypeError, "i64", "floating dtype"),
      UNDEFINED("new_ones", none.new_ones({2})),
      BAD_INPUT("new_full", n.new_full({2}, 1e19), StateError, "1e+19", "i64", "wider dtype"),
      BAD_INPUT("tensor", tensor({{1, 2}, {3}}), ShapeError, "[2]", "[1]", "equal"),
      BAD_INPUT("tensor", tensor({TensorData(1), TensorData(2.5)}), DTypeError, "i32", "f64", "the same type"),
      BAD_INPUT("tensor", tensor({1}, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("tensor", tensor(std::vector<int>{1}, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("tensor", tensor(std::vector<bool>{true}, requires_grad()), DTypeError, "bool", "floating dtype"),
      BAD_INPUT("from_blob", from_blob(nullptr, {3}), StateError, "null", "[3]", "pass the data"),
      BAD_INPUT("from_blob", from_blob(memory, {3}, {1, 1}), ShapeError, "[3]", "[1, 1]", "length"),
      BAD_INPUT("from_blob", from_blob(memory, {-3}), ShapeError, "[-3]", "negative", "at least 0"),
      BAD_INPUT("from_blob", from_blob(memory, {3}, {-1}), ShapeError, "[-1]", "negative", "at least 0"),
      BAD_INPUT("from_blob", from_blob(memory, {2}, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("rand", rand({-1}), ShapeError, "[-1]", "negative", "at least 0"),
      BAD_INPUT("rand", rand({2}, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("randn", randn({-1}), ShapeError, "[-1]", "negative", "at least 0"),
      BAD_INPUT("randn", randn({2}, integer_grad), DTypeError, "i32", "floating dtype"),
      BAD_INPUT("randint", randint(5, {-2}), ShapeError, "[-2]", "negative", "at least 0"),
      BAD_INPUT("randint", randint(5, {2}, requires_grad()), DTypeError, "i64", "floating dtype"),
      BAD_INPUT("randperm", randperm(-1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("randperm", randperm(3, requires_grad()), DTypeError, "i64", "floating dtype"),
  };
}

/// Factories without a row above, with the reason.
const std::map<std::string, const char*> unchecked_factories = {
    {"dense_strides", "takes sizes and strides that tensors have"},
    {"tensor_from", "what tensor(vector) calls, in its name"},
};

TEST(FactoryErrors, BadInputIsRefused) { expect_refused(named()); }

TEST(FactoryErrors, EveryFactoryHasARow) {
  expect_covered(declared_functions("tensor/factories.h"), named(), unchecked_factories);
}

TEST(FactoryErrors, AbsentDevicesAreRefused) {
  if (cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  const Tensor x = ones({2});
  expect_refused({
      BAD_INPUT("empty", empty({2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("empty_like", empty_like(x, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("zeros", zeros({2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("ones", ones({2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("eye", eye(2, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("empty_strided", empty_strided({2}, {1}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("full", full({2}, 1, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("full_like", full_like(x, 1, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("arange", arange(3, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("linspace", linspace(0, 1, 2, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("tensor", tensor({1.0}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("tensor", tensor(std::vector<float>{1}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("rand", rand({2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("randn", randn({2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("randn_like", randn_like(x, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("randint", randint(5, {2}, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("randperm", randperm(3, kCUDA), DeviceError, "cuda", "Device(kCPU)"),
      BAD_INPUT("set_default_device", set_default_device(kCUDA), DeviceError, "cuda", "Device(kCPU)"),
  });
}

}  // namespace
}  // namespace tandem::testing
