// Tensor's own methods reject undefined tensors, wrong dtypes, ranks and devices, and invalid values.
#include <cmath>
#include <cstring>

#include "support/bad_input.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"
#include "tandem/tensor/threads.h"

namespace tandem::testing {
namespace {

struct Property {
  const char* name;
  void (*read)(const Tensor& x);
};
#define PROPERTY(...)                                                       \
  {                                                                         \
#__VA_ARGS__, [](const Tensor& x) { static_cast<void>(x.__VA_ARGS__); } \
  }
constexpr Property properties[] = {PROPERTY(strides()),
                                   PROPERTY(stride(0)),
                                   PROPERTY(element_size()),
                                   PROPERTY(itemsize()),
                                   PROPERTY(nbytes()),
                                   PROPERTY(device()),
                                   PROPERTY(options()),
                                   PROPERTY(storage()),
                                   PROPERTY(data_ptr()),
                                   PROPERTY(data_ptr<float>()),
                                   PROPERTY(const_data_ptr<float>()),
                                   PROPERTY(accessor<float, 2>()),
                                   PROPERTY(item()),
                                   PROPERTY(item<float>()),
                                   PROPERTY(requires_grad_()),

                                   PROPERTY(is_leaf()),
                                   PROPERTY(grad()),
                                   PROPERTY(mutable_grad()),
                                   PROPERTY(grad_fn()),
                                   PROPERTY(register_hook([](const Tensor& g) { return g; })),
                                   PROPERTY(remove_hook(0)),
                                   PROPERTY(retain_grad()),
                                   PROPERTY(detach()),
                                   PROPERTY(detach_()),
                                   PROPERTY(set_data(ones({1}))),
                                   PROPERTY(is_pinned()),
                                   PROPERTY(pin_memory()),
                                   PROPERTY(to(Device(kCPU))),
                                   PROPERTY(to(TensorOptions())),
                                   PROPERTY(cpu()),
                                   PROPERTY(cuda()),
                                   PROPERTY(index({0})),
                                   PROPERTY(index_put_({0}, 1)),
                                   PROPERTY(index_put_({0}, ones({1}))),
                                   PROPERTY(operator[](0)),
                                   PROPERTY(operator[](ones({}, kLong)))};
#undef PROPERTY

TEST(TensorErrors, UndefinedTensorHasNoDataDeviceOrHistory) {
  const Tensor none;
  for (const Property& p : properties) {
    const std::string method(p.name, std::strcspn(p.name, "(<"));  // the message begins with the method's name
    EXPECT_EQ((mismatch<StateError>([&] { p.read(none); }, {"undefined tensor", "give it a value first"}, method)), "")
        << p.name;
  }
}

TEST(TensorErrors, ConversionErrorsNameTheCall) {
  const Tensor none, x = ones({2, 3});
  expect_refused({UNDEFINED("to", none.to(kHalf)), UNDEFINED("to", none.to(Device(kCPU), kHalf)),
                  UNDEFINED("to", none.half()), UNDEFINED("to", none.bfloat16()), UNDEFINED("to", none.toType(kInt)),
                  UNDEFINED("clone", none.clone()),
                  BAD_INPUT("contiguous", x.contiguous(kChannelsLast), ShapeError, "rank 4", "[2, 3]")});
  if (cuda::is_available()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused({BAD_INPUT("to", x.to(Device(kCUDA)), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("to", x.to("cuda:3"), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("to", x.to(TensorOptions(kCUDA)), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("to", x.to(kCUDA, kHalf), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("cuda", x.cuda(), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("pin_memory", x.pin_memory(), DeviceError, "cuda is not available", "Device(kCPU)"),
                  BAD_INPUT("zeros", zeros({2}, TensorOptions().pinned_memory(true)), DeviceError,
                            "cuda is not available", "Device(kCPU)")});
}

TEST(TensorErrors, AccessorsCheckDeviceDtypeAndRank) {
  const Tensor x = ones({2, 3}), number = scalar_tensor(1), far = on_another_device({2, 3});
  expect_refused({
      BAD_INPUT("accessor", (far.accessor<const float, 2>()), DeviceError, "on cuda", ".cpu()"),
      BAD_INPUT("accessor", (x.accessor<double, 2>()), DTypeError, "is f32, not f64", ".to()"),
      BAD_INPUT("accessor", (x.accessor<float, 3>()), ShapeError, "rank 3", "rank 2 [2, 3]"),
      BAD_INPUT("data_ptr", x.data_ptr<double>(), DTypeError, "is f32, not f64", "request f32", ".to()"),
      BAD_INPUT("const_data_ptr", x.const_data_ptr<Half>(), DTypeError, "is f32, not f16", "request f32", ".to()"),
      BAD_INPUT("item", x.item(), ShapeError, "one element", "[2, 3] f32", "index or reduce"),
      BAD_INPUT("item", far.item<float>(), ShapeError, "one element", "[2, 3] f32"),
      BAD_INPUT("item", ones({0}).item(), ShapeError, "one element", "[0] f32"),
      BAD_INPUT("size", x.size(2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("size", number.size(0), IndexError, "rank 0", "dimension 0"),
      BAD_INPUT("stride", x.stride(-3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      BAD_INPUT("stride", number.stride(0), IndexError, "rank 0", "dimension 0"),
  });
}

TEST(TensorErrors, DataThatRequiresGradStaysFloating) {
  const Tensor x = ones({2, 3}), w = ones({2}).requires_grad_(), n = ones({2}, kLong);
  expect_refused({BAD_INPUT("set_data", w.set_data(n), DTypeError, "i64", "requires_grad_(false)"),
                  UNDEFINED("set_data", w.set_data(Tensor())),
                  BAD_INPUT("retain_grad", x.retain_grad(), AutogradError, "[2, 3]", "requires_grad_()")});
}

TEST(TensorErrors, RandomNumbersNeedWritableTensorsAndARange) {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), weight = ones({2, 3}).requires_grad_();
  const Tensor result = weight * 2;
  expect_refused({
      UNDEFINED("uniform_", none.uniform_()),
      UNDEFINED("normal_", none.normal_()),
      UNDEFINED("bernoulli_", none.bernoulli_()),
      UNDEFINED("random_", none.random_(0, 2)),
      BAD_INPUT("uniform_", ones({2, 1}).expand({2, 3}).uniform_(), ShapeError, "[2, 3] f32", "strides [1, 0]",
                "clone()"),
      BAD_INPUT("normal_", ones({1}).expand({3}).normal_(), ShapeError, "[3] f32", "clone()"),
      UNDEFINED("exponential_", none.exponential_()),
      UNDEFINED("geometric_", none.geometric_(0.5)),
      UNDEFINED("cauchy_", none.cauchy_()),
      UNDEFINED("log_normal_", none.log_normal_()),
      UNDEFINED("random_", none.random_()),
      UNDEFINED("bernoulli_", x.bernoulli_(none)),
      BAD_INPUT("exponential_", n.exponential_(), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("exponential_", x.exponential_(0), StateError, "lambda = 0", "positive"),
      BAD_INPUT("exponential_", weight.exponential_(), AutogradError, "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("geometric_", x.geometric_(1), StateError, "p = 1", "(0, 1)"),
      BAD_INPUT("cauchy_", x.cauchy_(0, 0), StateError, "sigma = 0", "positive"),
      BAD_INPUT("cauchy_", n.cauchy_(), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("log_normal_", x.log_normal_(0, -1), StateError, "std = -1", "positive"),
      BAD_INPUT("log_normal_", n.log_normal_(), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("random_", x.random_(0), StateError, "low = 0", "high = 0"),
      BAD_INPUT("bernoulli_", x.bernoulli_(ones({4})), ShapeError, "[4]", "[2, 3]", "broadcast"),
      BAD_INPUT("bernoulli_", x.bernoulli_(full({3}, 1.5)), StateError, "1.5", "[0, 1]"),
      BAD_INPUT("bernoulli_", weight.bernoulli_(x), AutogradError, "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("uniform_", n.uniform_(), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("normal_", n.normal_(), DTypeError, "i64", ".to(kFloat)"),
      BAD_INPUT("uniform_", x.uniform_(2, 1), StateError, "from = 2", "to = 1", "swap"),
      BAD_INPUT("uniform_", x.uniform_(0, std::nan("")), StateError, "to = nan", "finite"),
      BAD_INPUT("normal_", x.normal_(0, -1), StateError, "std = -1", "at least 0"),
      BAD_INPUT("normal_", x.normal_(0, std::nan("")), StateError, "std = nan", "at least 0"),
      BAD_INPUT("normal_", x.normal_(std::nan(""), 1), StateError, "mean = nan", "finite"),
      BAD_INPUT("normal_", x.normal_(0, INFINITY), StateError, "std = inf", "finite"),
      BAD_INPUT("bernoulli_", x.bernoulli_(std::nan("")), StateError, "p = nan", "[0, 1]"),
      BAD_INPUT("bernoulli_", x.bernoulli_(-0.5), StateError, "p = -0.5", "[0, 1]"),
      BAD_INPUT("random_", x.random_(3, 3), StateError, "low = 3", "high = 3"),
      BAD_INPUT("random_", ones({2}, kBool).random_(0, 3), StateError, "[0, 3)", "bool", "[0, 1]", "wider dtype"),
      BAD_INPUT("random_", ones({2}, kHalf).random_(0, 70000), StateError, "[0, 70000)", "f16", "65504"),
      BAD_INPUT("uniform_", weight.uniform_(), AutogradError, "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("normal_", result.normal_(), AutogradError, "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("bernoulli_", weight.bernoulli_(), AutogradError, "[2, 3] f32", "NoGradGuard"),
      BAD_INPUT("random_", weight.random_(0, 2), AutogradError, "[2, 3] f32", "NoGradGuard"),
  });
}

TEST(TensorErrors, OnlyFloatingLeavesRequireGrad) {
  const Tensor x = ones({2, 3}), n = ones({2, 3}, kLong), weight = ones({2, 3}).requires_grad_();
  const Tensor result = weight * 2, row = result[0];
  Tensor inferred;
  {
    const InferenceMode inference;
    inferred = ones({2, 3});
  }
  expect_refused({
      BAD_INPUT("requires_grad_", n.requires_grad_(), DTypeError, "[2, 3] i64", ".to()"),
      BAD_INPUT("requires_grad_", n.set_requires_grad(true), DTypeError, "[2, 3] i64", ".to()"),
      BAD_INPUT("requires_grad_", result.requires_grad_(false), AutogradError, "detach()"),
      BAD_INPUT("requires_grad_", inferred.requires_grad_(), AutogradError, "InferenceMode", "clone()"),
      BAD_INPUT("register_hook", x.register_hook([](const Tensor& g) { return g; }), AutogradError, "[2, 3]",
                "requires_grad_()"),
      BAD_INPUT("detach_", row.detach_(), AutogradError, "view", "use detach()"),
  });
}

TEST(TensorErrors, ThreadCountMustBePositive) {
  const int count = get_num_threads();
  expect_refused({BAD_INPUT("set_num_threads", set_num_threads(0), StateError, "0 threads", "1 to 4096"),
                  BAD_INPUT("set_num_threads", set_num_threads(-1), StateError, "-1 threads", "1 to 4096"),
                  BAD_INPUT("set_num_threads", set_num_threads(5000), StateError, "5000 threads", "1 to 4096")});
  EXPECT_EQ(get_num_threads(), count);
}

}  // namespace
}  // namespace tandem::testing
