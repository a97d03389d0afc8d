// The families of random kernel calls. Where a kernel's results are not equal on both devices, it states by how much
// they may differ.
#include "soak/random_kernel_calls.h"

#include <algorithm>
#include <cmath>

#include "optim/tested_optimizers.h"
#include "support/device.h"
#include "tandem/backend.h"
#include "tandem/cuda/graph.h"
#include "tandem/math/distributions.h"
#include "tandem/ops/float8.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using Numbers = KernelCall::Numbers;
using Sizes = KernelCall::Sizes;

const Backend& kernels_here() { return backend(device_type()); }

// ---- loss scaling: one multiplication and one rounding
std::vector<Tensor> gradients(KernelCall& call) {
  std::vector<Tensor> list;
  for (int64_t i = call.integer(1, call.chance(0.2) ? 70 : 6); i > 0; --i) {
    list.push_back(call.tensor(call.sizes(i > 6 ? 100 : 6000), call.floating(),
                               call.chance(0.1) ? Numbers::special : Numbers::tame, /*expanded=*/true));
  }
  return list;
}

void unscale(KernelCall& call) {
  const bool writes = call.chance(0.6);
  const std::vector<Tensor> list = gradients(call);
  const Tensor inverse = call.of({call.pick<double>({1, 0x1p-16, 1.0 / 3, 1e30, 0})}, kFloat);
  const Tensor found = call.of({call.pick<double>({0, 0, 1})}, kFloat);
  (writes ? kernels_here().unscale : kernels_here().check_finite)(list, inverse, found);
}

void update_scale(KernelCall& call) {
  ScaleUpdateCall update;
  update.scale = call.of({call.pick<double>({65536, 1, 0x1p127, 0x1p-126, 3.3})}, kFloat);
  update.growth_tracker = call.of({static_cast<double>(call.integer(0, 3))}, kInt);
  update.hysteresis_tracker = call.of({static_cast<double>(call.integer(0, 3))}, kInt);
  update.skips = call.of({static_cast<double>(call.integer(0, 3))}, kInt);
  for (int64_t i = call.integer(1, 40); i > 0; --i) {
    update.found_infs.push_back(call.of({call.chance(0.05) ? 1.0 : 0.0}, kFloat));
  }
  update.growth_factor = call.pick<double>({2, 1.7, 1});
  update.backoff_factor = call.pick<double>({0.5, 0.3});
  update.growth_interval = call.integer(1, 3);
  update.min_scale = call.pick<double>({0, 0, 1});
  update.max_scale = call.pick<double>({0, 0, 70000});
  update.hysteresis = call.integer(1, 3);
  update.rule = call.pick<HysteresisRule>({HysteresisRule::megatron, HysteresisRule::colossal, HysteresisRule::paddle});
  update.dynamic = call.chance(0.9);
  kernels_here().update_scale(update);
  kernels_here().copy_scale(call.of({0}, kFloat), call.of({0}, kFloat), update.scale);
}

// ---- optimizers
/// Several steps of one optimizer. On a CUDA device, steps after the first may be replays of a graph.
void optimizer_steps(KernelCall& call) {
  const TestedOptimizer& kind = call.pick(tested_optimizers());
  const int64_t steps = call.integer(1, 4);
  const bool graph = call.chance(0.3), scaled = call.chance(0.6);
  call.text += " " + kind.name + ", " + std::to_string(steps) + " steps" + (graph ? ", graph" : "");
  std::vector<Tensor> params, grads;
  for (int64_t i = call.integer(1, 6); i > 0; --i) {
    const Sizes sizes = call.sizes();
    params.push_back(call.tensor(sizes, call.floating()));
    grads.push_back(call.tensor(sizes, params.back().dtype()));
  }
  FusedUnscale scaling;
  if (scaled) {
    scaling.inverse_scale = call.of({call.pick<double>({1, 0x1p-4, 1.0 / 3})}, kFloat);
    scaling.found_inf = call.of({call.chance(0.1) ? 1.0 : 0.0}, kFloat);
  }
  for (size_t i = 0; i < params.size(); ++i) {
    // A step has at most 16 roundings in the dtype of its computation, and one in the parameter's. A moment of e4m3fn
    // may be rounded to its other neighbour, 1/8 away, which changes the next update by as much, and updates are at
    // most 4 rates.
    Tolerance t = tolerance(params[i].dtype(), 16 * steps, static_cast<int>(steps), 8);
    if (kind.name == "AdamWCompact") t.atol += 4 * kind.rate / 8 * static_cast<double>(steps);
    call.tolerate(params[i], t);
    params[i] = params[i].detach().requires_grad_();
    params[i].mutable_grad() = grads[i];
  }
  const auto optimizer = kind.make(params, kind.rate);
  if (call.chance(0.4)) {
    optimizer->keep_master_weights(call.chance(0.5) ? optim::MasterWeights::f32 : optim::MasterWeights::remainder);
  }
  const auto step = [&] { optimizer->step(scaling); };
  step();
  if (!graph || !on_cuda()) {
    for (int64_t i = 1; i < steps; ++i) step();
  } else if (steps > 1) {
    cuda::CUDAGraph captured;
    captured.capture(step);
    for (int64_t i = 1; i < steps; ++i) captured.replay();
  }
}

// ---- random numbers: the same streams on every device (math/philox.h)
PhiloxState stream(KernelCall& call) {
  return {static_cast<uint64_t>(call.integer(0, int64_t{1} << 40)),
          static_cast<uint64_t>(call.pick<int64_t>({0, 1, 77, 0xfffffffe}))};
}

void uniform(KernelCall& call) {
  const Tensor y = call.tensor(call.sizes(), call.floating());
  const double from = call.pick<double>({0, 0, -1, 1000}), to = from + call.pick<double>({1, 1, 0.5, 3});
  if (from != 0 || to != 1) call.tolerate(y, tolerance(y.dtype(), 1, 1, std::abs(to)));
  kernels_here().uniform(y, from, to, stream(call));
}

void normal(KernelCall& call) {
  constexpr double kFarthest = 9;  // standard deviations
  const Tensor y = call.tensor(call.sizes(), call.floating());
  const double mean = call.pick<double>({0, 0, -2}), std = call.pick<double>({1, 1, 3, 0.01});
  call.tolerate(y, tolerance(y.dtype(), 1, 1, std::abs(mean) + kFarthest * std));
  kernels_here().normal(y, mean, std, stream(call));
}

void random_int(KernelCall& call) {
  const DType dtype = call.pick<DType>({kLong, kInt, kShort, kByte, kChar, kFloat, kHalf, kDouble});
  const int64_t low = call.integer(0, 5), high = low + call.integer(1, 100);
  kernels_here().random_int(call.tensor(call.sizes(), dtype), low, high, stream(call));
}

void bernoulli(KernelCall& call) {
  const DType dtype = call.pick<DType>({kFloat, kHalf, kBool, kLong, kDouble});
  kernels_here().bernoulli(call.tensor(call.sizes(), dtype), call.pick<double>({0, 0.3, 1}), stream(call));
}

void dropout(KernelCall& call) {
  const Sizes sizes = call.sizes();
  const Tensor x = call.tensor(sizes, call.floating(), Numbers::special, /*expanded=*/true);
  const Tensor y = call.tensor(sizes, x.dtype()), mask = call.tensor(sizes, kBool);
  call.tolerate(y, tolerance(y.dtype()));  // a factor of 1 / (1 - p)
  kernels_here().dropout(y, mask, x, call.pick<double>({0, 0.1, 0.5, 1}), stream(call));
}

void random_from(KernelCall& call) {
  using kernels::Distribution;
  const auto which = call.pick<Distribution>(
      {Distribution::exponential, Distribution::geometric, Distribution::cauchy, Distribution::log_normal});
  const bool counts = which == Distribution::geometric;
  const Tensor y = call.tensor(call.sizes(), counts ? call.pick<DType>({kFloat, kDouble, kInt}) : call.floating());
  const double a = counts ? std::log1p(-call.pick<double>({0.3, 0.9, 0.01})) : 0.75, b = call.pick<double>({1.5, 0.1});
  call.text += " distribution " + std::to_string(static_cast<int>(which));
  // The quotient of two logarithms is rounded up, so a rounding error may add or take 1 in about one of 10^5 numbers.
  if (counts) {
    call.tolerate(y, kExact, 1);
  } else {
    Tolerance t = tolerance(y.dtype(), 1, 1, 4);
    t.rtol *= 2;  // of quotients of two functions, and e^z with z of up to 10
    call.tolerate(y, t);
  }
  kernels_here().random_from(y, which, a, b, stream(call));
}

void poisson(KernelCall& call) {
  const Sizes sizes = call.sizes(1000);
  const Tensor y = call.tensor(sizes, call.floating());
  const Tensor rate = call.tensor(sizes, y.dtype(), Numbers::positive, /*expanded=*/true);
  kernels_here().poisson(y, rate, stream(call));
}

void binomial(KernelCall& call) {
  const Sizes sizes = call.sizes(1000);
  const Tensor y = call.tensor(sizes, call.floating()), count = call.tensor(sizes, y.dtype(), Numbers::positive);
  const Tensor prob = call.tensor(sizes, y.dtype(), Numbers::positive);
  count.mul_(call.pick<double>({2, 30})).floor_();
  prob.mul_(0.25);
  kernels_here().binomial(y, count, prob, stream(call));
}

void pick_weighted(KernelCall& call) {
  const int64_t rows = call.integer(1, 9), n = call.integer(1, 300), k = call.integer(1, 100);
  const DType dtype = call.pick<DType>({kFloat, kDouble});
  std::vector<double> sums, u;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0, sum = 0; i < n; ++i)
      sums.push_back(static_cast<double>(sum += call.integer(0, 3) + (i == n - 1)));
    for (int64_t i = 0; i < k; ++i) u.push_back(static_cast<double>(call.integer(0, 4095)) / 4096);
  }
  const Tensor of_rows = call.of(sums, dtype).view({rows, n}), draws = call.of(u, dtype).view({rows, k});
  kernels_here().pick_weighted(call.dense({rows, k}, kLong), of_rows, draws);
}

// ---- float8: equal on both devices
DType float8(KernelCall& call) { return call.pick<DType>({kFloat8_e4m3fn, kFloat8_e5m2}); }

void cast(KernelCall& call) {
  const Sizes sizes = call.sizes();
  Float8CastCall cast;
  cast.x = call.tensor(sizes, call.floating(), Numbers::special, /*expanded=*/true);
  cast.y = call.tensor(sizes, float8(call));
  if (call.chance(0.5)) cast.scale = call.of({call.pick<double>({1, 0x1p-9, 3.3, 1000})}, kFloat);
  if (call.chance(0.5)) cast.amax = call.of({call.pick<double>({0, 2})}, kFloat);
  cast.overflow = call.chance(0.5) ? Float8Overflow::saturate : Float8Overflow::overflow;
  cast.stochastic = call.chance(0.5);
  cast.state = stream(call);
  kernels_here().cast_float8(cast);
}

void quantize(KernelCall& call) {
  Sizes sizes = call.sizes(20000);
  if (sizes.empty()) sizes = {5};
  Float8QuantizeCall quantize;
  quantize.x = call.dense(sizes, call.pick<DType>({kFloat, kHalf, kBFloat16}), Numbers::special);
  quantize.codes = call.dense(sizes, float8(call));
  quantize.least_amax = call.pick<double>({0, 1e-3});
  Float8Scales& scales = quantize.scales;
  if (call.chance(0.5)) {
    scales.rows = call.pick<int64_t>({1, 1, 16, 128});
    scales.columns = call.pick<int64_t>({1, 7, 32, 128});
    const bool exponents = call.chance(0.5);
    scales.power_of_two = exponents || call.chance(0.5);
    sizes.back() = (sizes.back() + scales.columns - 1) / scales.columns;
    if (sizes.size() > 1) sizes.end()[-2] = (sizes.end()[-2] + scales.rows - 1) / scales.rows;
    scales.inverse = call.dense(sizes, exponents ? kFloat8_e8m0fnu : kFloat);
  } else {
    scales.inverse = call.dense({1}, kFloat);
    if (call.chance(0.6)) {
      quantize.scale = call.of({call.pick<double>({1, 100, 3.3})}, kFloat);
      if (call.chance(0.5)) quantize.noted = call.of({call.pick<double>({0, 7})}, kFloat);
    }
  }
  call.text += " blocks " + std::to_string(scales.rows) + " x " + std::to_string(scales.columns);
  kernels_here().quantize_float8(quantize);
  if (scales.rows == 0) return;
  const Tensor y = call.dense(quantize.x.sizes().vec(), call.floating());
  kernels_here().dequantize_float8(y, quantize.codes, scales);
}

void delayed_scales(KernelCall& call) {
  DelayedScalesCall update;
  const int64_t rows = call.integer(1, 20);
  update.first = call.integer(0, rows - 1);
  update.count = call.integer(1, rows - update.first);
  for (int64_t i = call.integer(1, 40); i > 0; --i) {
    update.states.push_back(call.dense({rows, 1 + call.integer(1, 17)}, kFloat, Numbers::positive));
  }
  for (int64_t i = 0; i < update.count; ++i) update.largest.push_back(call.pick<double>({448, 57344}));
  update.factor = call.pick<double>({1, 0.5});
  update.most_recent = call.chance(0.3);
  kernels_here().update_delayed_scales(update);
}

// ---- copies: rounded once
DType any_dtype(KernelCall& call) { return static_cast<DType>(call.integer(0, kNumDTypes - 1)); }

/// The source of a copy to `y`. A conversion of a number that is out of an integer's range is not defined.
Tensor source(KernelCall& call, const Tensor& y, DType dtype) {
  const Numbers numbers = is_floating_point(y.dtype()) ? Numbers::special : Numbers::positive;
  return call.tensor(y.sizes().vec(), dtype, numbers, /*expanded=*/true);
}

void copy(KernelCall& call) {
  const Tensor y = call.tensor(call.sizes(), any_dtype(call));
  kernels_here().copy(y, source(call, y, any_dtype(call)));
}

void copy_list(KernelCall& call) {
  std::vector<Tensor> to, from;
  for (int64_t i = call.integer(1, 40); i > 0; --i) {
    to.push_back(call.tensor(call.sizes(i > 6 ? 60 : 3000), call.floating()));
    from.push_back(source(call, to.back(), call.floating()));
  }
  kernels_here().copy_list(to, from);
}

}  // namespace

KernelCalls random_kernel_calls() {
  return {{"unscale", unscale},
          {"update_scale", update_scale},
          {"optimizer_steps", optimizer_steps},
          {"uniform", uniform},
          {"normal", normal},
          {"random_int", random_int},
          {"bernoulli", bernoulli},
          {"dropout", dropout},
          {"random_from", random_from},
          {"poisson", poisson},
          {"binomial", binomial},
          {"pick_weighted", pick_weighted},
          {"cast_float8", cast},
          {"quantize_float8", quantize},
          {"delayed_scales", delayed_scales},
          {"copy", copy},
          {"copy_list", copy_list}};
}

}  // namespace tandem::testing
