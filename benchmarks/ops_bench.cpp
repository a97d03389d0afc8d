// The costs around the arithmetic (op dispatch, autograd, autocast, the scaler), and kernels compared with the
// machine's measured limits. Counters:
//   new, tensors, system   calls to operator new, tensor blocks, and requests to the system, per iteration
//   bytes_per_second       bytes that the pass must move; x_copy, x_read: its time divided by that of a plain copy
//                          or read of as many bytes in the same process, measured alternately
//   FLOPS, of_peak         operations per second, and their share of the f32 multiply-add peak of this process
#include <benchmark/benchmark.h>
#include <tandem/tandem.h>

#include <functional>
#include <memory>
#include <tuple>
#include <vector>

#include "common/processor.h"
#include "heap_count.h"
#include "peak.h"
#include "statistics.h"
#include "stream.h"

namespace {

using namespace tandem;
using bench::against_stream;
using bench::Stream;
using benchmark::Counter;
using benchmark::State;

/// Runs `body` as a benchmark and counts allocations.
void run(State& state, const std::function<void()>& body) {
  for (int i = 0; i < 10; ++i) body();
  const int64_t heap = bench::heap_allocations();
  const AllocatorStats before = cpu::memory_stats();
  for (auto _ : state) body();
  const AllocatorStats after = cpu::memory_stats();
  const auto per_iteration = [](int64_t n) { return Counter(static_cast<double>(n), Counter::kAvgIterations); };
  state.counters["new"] = per_iteration(bench::heap_allocations() - heap);
  state.counters["tensors"] = per_iteration(after.allocations - before.allocations);
  state.counters["system"] = per_iteration(after.system_allocations - before.system_allocations);
}

/// A weight as in modules: an f32 leaf that requires grad.
Tensor weight(IntArrayRef sizes) { return randn(sizes).requires_grad_(); }

// ---- op dispatch, autograd, autocast, the scaler: the parts of a small step

void add_8(State& state) {
  const Tensor a = randn({8}), b = randn({8});
  run(state, [&] { benchmark::DoNotOptimize(a + b); });
}
BENCHMARK(add_8);

void add_8_recorded(State& state) {
  const Tensor a = weight({8}), b = randn({8});
  run(state, [&] { benchmark::DoNotOptimize(a + b); });
}
BENCHMARK(add_8_recorded);

void add_8_autocast(State& state) {
  const Tensor a = randn({8}), b = randn({8});
  amp::AutocastGuard autocast(kCPU);
  run(state, [&] { benchmark::DoNotOptimize(a + b); });
}
BENCHMARK(add_8_autocast);

void view_8(State& state) {
  const Tensor a = randn({8});
  run(state, [&] { benchmark::DoNotOptimize(a.view({2, 4})); });
}
BENCHMARK(view_8);

void backward_8(State& state) {
  const Tensor a = weight({8});
  run(state, [&] {
    a.sum().backward();
    a.mutable_grad() = Tensor();
  });
}
BENCHMARK(backward_8);

void linear_32x64x64(State& state) {
  const Tensor x = randn({32, 64}), w = randn({64, 64}), b = randn({64});
  run(state, [&] { benchmark::DoNotOptimize(linear(x, w, b)); });
}
BENCHMARK(linear_32x64x64);

void linear_relu_32x64x64(State& state) {
  const Tensor x = randn({32, 64}), w = randn({64, 64}), b = randn({64});
  run(state, [&] { benchmark::DoNotOptimize(linear_relu(x, w, b)); });
}
BENCHMARK(linear_relu_32x64x64);

void linear_32x64x64_recorded(State& state) {
  const Tensor x = randn({32, 64}), w = weight({64, 64}), b = weight({64});
  run(state, [&] { benchmark::DoNotOptimize(linear(x, w, b)); });
}
BENCHMARK(linear_32x64x64_recorded);

void linear_32x64x64_autocast(State& state) {
  const Tensor x = randn({32, 64}), w = weight({64, 64}), b = weight({64});
  amp::AutocastGuard autocast(kCPU, kBFloat16);
  run(state, [&] { benchmark::DoNotOptimize(linear(x, w, b)); });
}
BENCHMARK(linear_32x64x64_autocast);

void autocast_region(State& state) {
  run(state, [] { amp::AutocastGuard autocast(kCPU, kBFloat16); });
}
BENCHMARK(autocast_region);

void autocast_lookup_hit(State& state) {
  const Tensor w = weight({64, 64});
  amp::AutocastGuard autocast(kCPU, kBFloat16);
  run(state, [&] { benchmark::DoNotOptimize(amp::detail::cached_cast(w, kBFloat16)); });
}
BENCHMARK(autocast_lookup_hit);

/// One parameter of 8 numbers: the baseline for the cost of the scaler.
void sgd_step_8(State& state) {
  const Tensor p = weight({8});
  optim::SGD sgd({p}, optim::SGDOptions(1e-3));
  p.mutable_grad() = randn({8});
  run(state, [&] { sgd.step(); });
}
BENCHMARK(sgd_step_8);

void scaler_step_update_8(State& state) {
  const Tensor p = weight({8});
  optim::SGD sgd({p}, optim::SGDOptions(1e-3));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1));
  scaler.scale(p.sum()).backward();
  run(state, [&] {
    scaler.step(sgd);
    scaler.update();
  });
}
BENCHMARK(scaler_step_update_8);

// ---- passes over memory, compared with a stream of as many bytes

constexpr int64_t kLarge = int64_t{1} << 24;

void cast(State& state, DType from, DType to) {
  const int64_t n = state.range(0);
  const Tensor x = randn({n}).to(from), y = empty({n}, to);
  const auto bytes = n * static_cast<int64_t>(element_size(from) + element_size(to));
  against_stream(state, Stream::copy, bytes, [&] { y.copy_(x); });
}
void cast_sizes(benchmark::internal::Benchmark* b) { b->Arg(1 << 16)->Arg(kLarge)->UseManualTime(); }
BENCHMARK_CAPTURE(cast, f32_bf16, kFloat, kBFloat16)->Apply(cast_sizes);
BENCHMARK_CAPTURE(cast, f32_f16, kFloat, kHalf)->Apply(cast_sizes);
BENCHMARK_CAPTURE(cast, bf16_f32, kBFloat16, kFloat)->Apply(cast_sizes);
BENCHMARK_CAPTURE(cast, f16_f32, kHalf, kFloat)->Apply(cast_sizes);

/// Returns `count` tensors with `numel` elements in total.
std::vector<Tensor> pieces(int64_t count, int64_t numel) {
  std::vector<Tensor> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(randn({numel / count}));
  return list;
}
void list_sizes(benchmark::internal::Benchmark* b) { b->Arg(1)->Arg(1024)->UseManualTime(); }

void check_finite(State& state) {
  const std::vector<Tensor> grads = pieces(state.range(0), kLarge);
  const Tensor inverse = full({}, 0.5f), found = zeros({});
  against_stream(state, Stream::read, kLarge * 4, [&] { backend(kCPU).check_finite(grads, inverse, found); });
}
BENCHMARK(check_finite)->Apply(list_sizes);

void unscale(State& state) {
  const std::vector<Tensor> grads = pieces(state.range(0), kLarge);
  const Tensor inverse = full({}, 0.9999999f), found = zeros({});
  against_stream(state, Stream::copy, kLarge * 8, [&] { backend(kCPU).unscale(grads, inverse, found); });
}
BENCHMARK(unscale)->Apply(list_sizes);

enum class Mode { plain, amp };

/// A fused step. With Mode::amp it also unscales, and writes the bf16 copies of the weights.
template <class Optimizer, class Options>
void fused_step(State& state, const Options& options, Mode mode, int64_t bytes_per_element) {
  std::vector<Tensor> params = pieces(state.range(0), kLarge);
  for (const Tensor& p : params) {
    p.requires_grad_();
    p.mutable_grad() = randn(p.sizes());
  }
  Optimizer optimizer(params, options);
  FusedUnscale scaling;
  if (mode == Mode::amp) {
    scaling = {.inverse_scale = full({}, 0.5f), .found_inf = zeros({})};
    amp::AutocastGuard autocast(kCPU, kBFloat16);
    for (const Tensor& p : params) amp::detail::cached_cast(p, kBFloat16);
    bytes_per_element += 2;
  }
  against_stream(state, Stream::copy, kLarge * bytes_per_element,
                 [&] { mode == Mode::amp ? optimizer.step(scaling) : static_cast<void>(optimizer.step()); });
}
void sgd_step(State& state, Mode mode) { fused_step<optim::SGD>(state, optim::SGDOptions(1e-3), mode, 12); }
/// `first`, `second`: the dtypes of the moments.
void adam_step(State& state, DType first, DType second, Mode mode) {
  const auto options = optim::AdamOptions(1e-3).exp_avg_dtype(first).exp_avg_sq_dtype(second);
  const auto of_moments = static_cast<int64_t>(element_size(first) + element_size(second));
  fused_step<optim::Adam>(state, options, mode, 12 + 2 * of_moments);
}
BENCHMARK_CAPTURE(sgd_step, f32, Mode::plain)->Apply(list_sizes);
BENCHMARK_CAPTURE(sgd_step, amp, Mode::amp)->Apply(list_sizes);
BENCHMARK_CAPTURE(adam_step, f32, kFloat, kFloat, Mode::plain)->Apply(list_sizes);
BENCHMARK_CAPTURE(adam_step, amp, kFloat, kFloat, Mode::amp)->Apply(list_sizes);
BENCHMARK_CAPTURE(adam_step, amp_bf16_moments, kBFloat16, kBFloat16, Mode::amp)->Apply(list_sizes);
BENCHMARK_CAPTURE(adam_step, amp_fp8_moments, kFloat8_e4m3fn, kBFloat16, Mode::amp)->Apply(list_sizes);

// ---- a residual connection and the layer norm after it, forward and backward, as in a transformer of [rows, n]

enum class Residual { apart, fused };

void residual_norm(State& state, Residual way, DType branch) {
  const int64_t rows = state.range(0), n = state.range(1);
  const Tensor x = randn({rows, n}).to(branch).requires_grad_(), residual = weight({rows, n});
  const Tensor w = weight({n}), b = weight({n}), gy = randn({rows, n}), gsum = randn({rows, n});
  run(state, [&] {
    Tensor y, sum;
    if (way == Residual::fused) {
      std::tie(y, sum) = add_layer_norm(x, residual, {n}, w, b);
    } else {
      sum = add(x, residual);
      y = layer_norm(sum, {n}, w, b);
    }
    benchmark::DoNotOptimize(autograd::grad({y, sum}, {x, residual, w, b}, {gy, gsum}));
  });
}
void residual_sizes(benchmark::internal::Benchmark* b) {
  b->Args({2048, 384})->Args({512, 1024})->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(residual_norm, apart_f32, Residual::apart, kFloat)->Apply(residual_sizes);
BENCHMARK_CAPTURE(residual_norm, fused_f32, Residual::fused, kFloat)->Apply(residual_sizes);
BENCHMARK_CAPTURE(residual_norm, apart_bf16_branch, Residual::apart, kBFloat16)->Apply(residual_sizes);
BENCHMARK_CAPTURE(residual_norm, fused_bf16_branch, Residual::fused, kBFloat16)->Apply(residual_sizes);

// ---- matrix products: the three in the training of a linear layer, batch 512

enum class Product { forward, input_gradient, weight_gradient };

void matrix_product(State& state, Product product, DType dtype) {
  const int64_t n = state.range(0), rows = 512;
  const Tensor x = randn({rows, n}).to(dtype), w = randn({n, n}).to(dtype), gy = randn({rows, n}).to(dtype);
  NoGradGuard no_grad;
  const Tensor gw = empty({n, n}), gb = empty({n});
  const auto once = [&] {
    switch (product) {
      case Product::forward:
        benchmark::DoNotOptimize(linear(x, w));
        break;
      case Product::input_gradient:
        benchmark::DoNotOptimize(gemm(gy, w, dtype));
        break;
      case Product::weight_gradient:
        backend(kCPU).linear_backward_weight(gw, gb, gy, x);
        break;
    }
  };
  once();
  std::vector<double> seconds;
  for (auto _ : state) {
    const double start = bench::now();
    once();
    seconds.push_back(bench::now() - start);
    state.SetIterationTime(seconds.back());
  }
  const double operations = 2.0 * static_cast<double>(rows * n * n);
  state.counters["FLOPS"] = operations / bench::median(seconds);
  state.counters["of_peak"] = operations / bench::median(seconds) / (bench::fma_peak_gflops() * 1e9);
}
void product_sizes(benchmark::internal::Benchmark* b) {
  b->Arg(64)->Arg(513)->Arg(1024)->Arg(4096)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(matrix_product, forward_f32, Product::forward, kFloat)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, forward_bf16, Product::forward, kBFloat16)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, forward_f16, Product::forward, kHalf)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, input_gradient_f32, Product::input_gradient, kFloat)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, input_gradient_bf16, Product::input_gradient, kBFloat16)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, weight_gradient_f32, Product::weight_gradient, kFloat)->Apply(product_sizes);
BENCHMARK_CAPTURE(matrix_product, weight_gradient_bf16, Product::weight_gradient, kBFloat16)->Apply(product_sizes);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("processor", common::processor().description());
  benchmark::AddCustomContext("f32 multiply-add peak, GFLOP/s", std::to_string(bench::fma_peak_gflops()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
