// Random calls with sizes that need several blocks of threads, or the tensor cores, and their gradients. Sums have
// other orders on the two devices; the bounds are those of tests/support/tolerance.h for their lengths.
#include <algorithm>
#include <cmath>

#include "soak/random_kernel_calls.h"
#include "support/compare.h"
#include "support/device.h"
#include "tandem/autograd/engine.h"
#include "tandem/backend.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using Sizes = KernelCall::Sizes;

/// Compares a result of sums of `terms` terms. `roundings`: how often a value is rounded to the dtype.
void compare_sums(KernelCall& call, const Tensor& y, int64_t terms, int roundings, double scale = 1) {
  call.compare(y, tolerance(y.dtype(), terms, roundings, std::max(scale, scale_of(values_of(y)))));
}

/// Compares y, and the gradients of the inputs for a random gradient of y.
void compare_with_gradients(KernelCall& call, const Tensor& y, const std::vector<Tensor>& inputs, int64_t terms,
                            double scale = 1) {
  compare_sums(call, y, terms, 2, scale);
  const Tensor gy = call.tensor(y.sizes().vec(), y.dtype());
  // The backward pass reads a rounded y, multiplies it by gy, which is below 4, and rounds once more.
  constexpr double kMostGradient = 4;
  for (const Tensor& g : autograd::grad({y}, inputs, {gy})) {
    compare_sums(call, g, terms, 4, kMostGradient * std::max(scale, scale_of(values_of(y))));
  }
}

Tensor leaf(const Tensor& x) { return x.detach().requires_grad_(); }

/// [rows, n] or, with the dimension elsewhere, [before, n, after].
struct Rows {
  explicit Rows(KernelCall& call) : n(call.integer(1, call.chance(0.5) ? 3000 : 300)) {
    sizes = {call.integer(1, 9), n};
    if (n < 500 && call.chance(0.4)) sizes.push_back(call.integer(1, 5));
  }
  int64_t n;
  Sizes sizes;
};

void attention(KernelCall& call) {
  const int64_t heads = call.integer(1, 4), key_heads = call.chance(0.5) ? heads : 1, batches = call.integer(1, 2);
  const int64_t queries = call.integer(1, 150), keys = call.integer(1, 150);
  const int64_t width = call.pick<int64_t>({8, 16, 40, 64, 128, 5, 130}), value_width = call.chance(0.5) ? width : 24;
  const DType dtype = call.pick<DType>({kHalf, kBFloat16, kHalf, kBFloat16, kFloat, kDouble});
  // Operands up to 1, for which tests/kernels/attention_test.cpp derives the bound.
  const auto operand = [&](Sizes sizes) { return leaf(call.tensor(sizes, dtype).clamp(-1, 1)); };
  const Tensor q = operand({batches, heads, queries, width}), k = operand({batches, key_heads, keys, width});
  const Tensor v = operand({batches, key_heads, keys, value_width});
  const int64_t kind = call.integer(0, 2);
  Tensor mask;
  if (kind == 1) mask = call.tensor({queries, keys}, kBool, KernelCall::Numbers::tame, true);
  if (kind == 2) mask = call.tensor({queries, keys}, dtype, KernelCall::Numbers::tame, true);
  const bool causal = kind == 0 && call.chance(0.4);
  const Tensor y = scaled_dot_product_attention(q, k, v, mask, 0, causal, std::nullopt, key_heads != heads);
  compare_with_gradients(call, y, {q, k, v}, keys + width + value_width + queries * heads / key_heads);
}

/// Sums by index. In deterministic mode the terms are added in the CPU's order.
void index_sums(KernelCall& call) {
  const bool in_order = call.chance(0.6);
  const int64_t count = call.integer(1, 3000), places = call.integer(1, call.chance(0.5) ? 20 : 400);
  const int64_t columns = call.integer(1, 3);
  const DType dtype = call.pick<DType>({kFloat, kHalf, kBFloat16, kDouble, kInt, kLong});
  const Tensor x = call.tensor({places, columns}, dtype), src = call.tensor({count, columns}, dtype);
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(call.integer(0, places - 1)));
  const Tensor index = call.of(numbers, call.pick<DType>({kLong, kInt}));
  const bool was = cuda::deterministic();
  cuda::set_deterministic(in_order);
  call.text += in_order ? ", deterministic" : "";
  const Tensor rows = index.to(kLong).unsqueeze(1).expand({count, columns});
  for (const Tensor& y : {index_add(x, 0, index, src), scatter_add(x, 0, rows, src)}) {
    // Each of the terms is below 4; those of f16 and bf16 are added in f32.
    if (in_order) {
      call.compare(y, kExact);
    } else {
      compare_sums(call, y, count, 1, 4);
    }
  }
  call.compare(scatter_reduce(x, 0, rows, src, "amax"), kExact);
  cuda::set_deterministic(was);
}

void weight_gradient(KernelCall& call) {
  const int64_t n = call.integer(1, 3), c = call.integer(1, 9), o = call.integer(1, 40);
  const int64_t kernel = call.integer(1, 4), height = call.integer(kernel, 12), width = call.integer(kernel, 12);
  ConvParams p;
  p.stride = {call.integer(1, 3), call.integer(1, 2), 1};
  p.padding = {call.integer(0, kernel - 1), call.integer(0, 1), 0};
  const auto out = [&](int64_t size, size_t d) { return (size + 2 * p.padding[d] - kernel) / p.stride[d] + 1; };
  const DType dtype = call.pick<DType>({kHalf, kBFloat16});
  const Tensor x = call.tensor({n, c, height, width}, dtype);
  const Tensor gy = call.tensor({n, o, out(height, 0), out(width, 1)}, dtype);
  const Tensor gweight = call.dense({o, c, kernel, kernel}, kFloat), gbias = call.dense({o}, kFloat);
  constexpr double kMostTerm = 16;  // a product of two numbers below 4
  const int64_t terms = n * gy.size(2) * gy.size(3);
  for (const Tensor& g : {gweight, gbias}) call.tolerate(g, tolerance(kFloat, terms, 1, kMostTerm * std::sqrt(terms)));
  backend(x).conv_backward_weight(gweight, gbias, gy, x, p);
}

void softmaxes(KernelCall& call) {
  const Rows rows(call);
  const Tensor x = leaf(call.tensor(rows.sizes, call.floating()));
  compare_with_gradients(call, call.chance(0.5) ? softmax(x, 1) : log_softmax(x, 1), {x}, rows.n);
}

void losses(KernelCall& call) {
  const Rows rows(call);
  const Tensor x = leaf(call.tensor(rows.sizes, call.floating()));
  Sizes sizes = rows.sizes;
  sizes.erase(sizes.begin() + 1);
  std::vector<double> numbers;
  const int64_t count = numel_of(sizes);
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(call.chance(0.1) ? -100 : static_cast<double>(call.integer(0, rows.n - 1)));
  }
  const Tensor target = call.of(numbers, call.pick<DType>({kLong, kInt})).view(sizes);
  const auto reduction = call.pick<LossReduction>({LossReduction::None, LossReduction::Mean, LossReduction::Sum});
  compare_with_gradients(call, cross_entropy(x, target, {}, reduction), {x}, rows.n + count);
}

void norms(KernelCall& call) {
  const Rows rows(call);
  const DType dtype = call.floating();
  const Tensor x = leaf(call.tensor(rows.sizes, dtype));
  const int64_t last = rows.sizes.back();
  const Tensor weight = leaf(call.dense({last}, dtype)), bias = leaf(call.dense({last}, dtype));
  constexpr double kLeast = 0.1;  // eps, so that a row of equal numbers does not magnify roundings
  const int64_t terms = x.numel();
  const double scale = 4 / std::sqrt(kLeast);
  if (call.chance(0.7)) {
    compare_with_gradients(call, layer_norm(x, {last}, weight, bias, kLeast), {x, weight, bias}, terms, scale);
  } else {
    compare_with_gradients(call, rms_norm(x, {last}, weight, kLeast), {x, weight}, terms, scale);
  }
}

void batch_norms(KernelCall& call) {
  const int64_t channels = call.integer(1, 40);
  const Sizes sizes = {call.integer(1, 20), channels, call.integer(2, 12), call.integer(1, 12)};
  const DType dtype = call.floating();
  const Tensor x = leaf(call.tensor(sizes, dtype));
  const DType parameters = dtype == kDouble ? kDouble : kFloat;
  const Tensor weight = leaf(call.dense({channels}, parameters)), bias = leaf(call.dense({channels}, parameters));
  constexpr double kLeast = 0.1;
  compare_with_gradients(call, batch_norm(x, weight, bias, {}, {}, true, 0.1, kLeast), {x, weight, bias}, x.numel(),
                         4 / std::sqrt(kLeast));
}

void reductions(KernelCall& call) {
  const Rows rows(call);
  const Tensor x = leaf(call.tensor(rows.sizes, call.floating()));
  const int64_t dim = call.integer(0, static_cast<int64_t>(rows.sizes.size()) - 1);
  constexpr double kMost = 4;
  compare_with_gradients(call, sum(x, {dim}), {x}, x.numel(), kMost * std::sqrt(x.size(dim)));
  compare_sums(call, var(x.detach(), {dim}), x.numel(), 1, kMost * kMost);
  compare_sums(call, logsumexp(x.detach(), {dim}), x.numel(), 1);
  compare_sums(call, cumsum(x.detach(), dim), x.size(dim), 1, kMost * std::sqrt(x.size(dim)));
  call.compare(amax(x.detach(), {dim}), kExact);
  call.compare(argmax(x.detach(), dim), kExact);
  call.compare(std::get<1>(cummax(x.detach(), dim)), kExact);
}

void sorts(KernelCall& call) {
  const Rows rows(call);
  const DType dtype = call.pick<DType>({kFloat, kHalf, kDouble, kBFloat16, kInt, kLong, kByte});
  const Tensor x = call.tensor(rows.sizes, dtype, KernelCall::Numbers::special);
  const bool descending = call.chance(0.5);
  const auto [values, order] = sort(x, 1, descending);
  const auto [first, places] = topk(x, call.integer(0, rows.n), 1, descending);
  for (const Tensor& y : {values, order, first, places, std::get<0>(kthvalue(x, call.integer(1, rows.n), 1))}) {
    call.compare(y, kExact);
  }
}

void pools(KernelCall& call) {
  const Sizes sizes = {call.integer(1, 3), call.integer(1, 17), call.integer(4, 24), call.integer(4, 24)};
  const Tensor x = leaf(call.tensor(sizes, call.floating()));
  const int64_t kernel = call.integer(1, 4), stride = call.integer(1, 4), padding = call.integer(0, kernel / 2);
  compare_with_gradients(call, max_pool2d(x, {kernel, kernel}, {stride, stride}, {padding, padding}), {x}, 20);
  compare_with_gradients(call, avg_pool2d(x, {kernel, kernel}, {stride, stride}, {padding, padding}), {x}, 20);
}

}  // namespace

KernelCalls random_large_calls() {
  return {{"attention", attention},
          {"index_sums", index_sums},
          {"weight_gradient", weight_gradient},
          {"softmaxes", softmaxes},
          {"losses", losses},
          {"norms", norms},
          {"batch_norms", batch_norms},
          {"reductions", reductions},
          {"sorts", sorts},
          {"pools", pools}};
}

}  // namespace tandem::testing
