// Elementwise kernels, reductions, softmax and cross entropy, compared with a plain copy of as many bytes.
//
//   OMP_NUM_THREADS=1 build/release/benchmarks/elementwise_bench --benchmark_min_time=0.3
//
// TANDEM_SIMD=baseline|avx2|avx512 selects the SIMD level. bytes_per_second counts bytes read and written.
#include <benchmark/benchmark.h>

#include <cstring>

#include "tandem/backend.h"
#include "tandem/math/binary.h"
#include "tandem/math/reduce.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

constexpr int64_t kLarge = int64_t{1} << 24;  // 64 MiB of f32: larger than the caches
constexpr int64_t kSmall = 4096;

Tensor filled(IntArrayRef sizes, DType dtype) {
  const Tensor x = empty(sizes, dtype);
  backend(kCPU).uniform(x, -2, 2, {1, 0});
  return x;
}

/// Runs f, which reads and writes `bytes` bytes each time.
template <class F>
void measure(benchmark::State& state, size_t bytes, F f) {
  f();  // maps the pages
  for (auto _ : state) {
    f();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void stream_copy(benchmark::State& state) {
  const Tensor x = filled({kLarge}, kFloat), y = empty({kLarge}, kFloat);
  measure(state, 2 * x.nbytes(), [&] { backend(kCPU).copy(y, x); });
}
BENCHMARK(stream_copy)->UseRealTime();

void cast(benchmark::State& state, DType from, DType to) {
  const Tensor x = filled({kLarge}, from), y = empty({kLarge}, to);
  measure(state, x.nbytes() + y.nbytes(), [&] { backend(kCPU).copy(y, x); });
}
BENCHMARK_CAPTURE(cast, f32_f16, kFloat, kHalf)->UseRealTime();
BENCHMARK_CAPTURE(cast, f32_bf16, kFloat, kBFloat16)->UseRealTime();
BENCHMARK_CAPTURE(cast, f16_f32, kHalf, kFloat)->UseRealTime();
BENCHMARK_CAPTURE(cast, bf16_f32, kBFloat16, kFloat)->UseRealTime();

void unary(benchmark::State& state, kernels::Unary op, DType dtype, int64_t n) {
  const Tensor x = filled({n}, dtype), y = empty({n}, dtype);
  measure(state, 2 * x.nbytes(), [&] { backend(kCPU).unary(y, op, x, 0.5, 2); });
}
BENCHMARK_CAPTURE(unary, relu_f32, kernels::Unary::relu, kFloat, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, exp_f32, kernels::Unary::exp, kFloat, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, tanh_f32, kernels::Unary::tanh, kFloat, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, gelu_f32, kernels::Unary::gelu, kFloat, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, relu_bf16, kernels::Unary::relu, kBFloat16, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, gelu_bf16, kernels::Unary::gelu, kBFloat16, kLarge)->UseRealTime();
BENCHMARK_CAPTURE(unary, small_relu_f32, kernels::Unary::relu, kFloat, kSmall)->UseRealTime();
BENCHMARK_CAPTURE(unary, tiny_relu_f32, kernels::Unary::relu, kFloat, 8)->UseRealTime();
BENCHMARK_CAPTURE(unary, tiny_relu_bf16, kernels::Unary::relu, kBFloat16, 8)->UseRealTime();

void add(benchmark::State& state, DType dtype) {
  const Tensor a = filled({kLarge}, dtype), b = filled({kLarge}, dtype), y = empty({kLarge}, dtype);
  measure(state, 3 * a.nbytes(), [&] { backend(kCPU).binary(y, kernels::Binary::add, a, b, 1); });
}
BENCHMARK_CAPTURE(add, f32, kFloat)->UseRealTime();
BENCHMARK_CAPTURE(add, bf16, kBFloat16)->UseRealTime();

void add_bias(benchmark::State& state) {
  const Tensor x = filled({4096, 4096}, kFloat), row = filled({4096}, kFloat), y = empty({4096, 4096}, kFloat);
  const Tensor bias = make_view(row, {4096, 4096}, {0, 1}, 0);
  measure(state, 2 * x.nbytes(), [&] { backend(kCPU).binary(y, kernels::Binary::add, x, bias, 1); });
}
BENCHMARK(add_bias)->UseRealTime();

void transpose(benchmark::State& state) {
  const Tensor x = filled({4096, 4096}, kFloat), y = empty({4096, 4096}, kFloat);
  const Tensor t = make_view(x, {4096, 4096}, {1, 4096}, 0);
  measure(state, 2 * x.nbytes(), [&] { backend(kCPU).copy(y, t); });
}
BENCHMARK(transpose)->UseRealTime();

void sum(benchmark::State& state, DType dtype, Dims sizes, Dims kept) {
  const Tensor x = filled(sizes, dtype), y = empty(kept, kFloat);
  measure(state, x.nbytes(), [&] { backend(kCPU).reduce(y, kernels::Reduction::sum, x); });
}
BENCHMARK_CAPTURE(sum, all_f32, kFloat, {kLarge}, {1})->UseRealTime();
BENCHMARK_CAPTURE(sum, all_bf16, kBFloat16, {kLarge}, {1})->UseRealTime();
BENCHMARK_CAPTURE(sum, rows_f32, kFloat, {4096, 4096}, {4096, 1})->UseRealTime();
BENCHMARK_CAPTURE(sum, columns_f32, kFloat, {4096, 4096}, {1, 4096})->UseRealTime();
BENCHMARK_CAPTURE(sum, columns_bf16, kBFloat16, {512, 4096}, {1, 4096})->UseRealTime();
BENCHMARK_CAPTURE(sum, tiny_f32, kFloat, {8}, {1})->UseRealTime();

void softmax(benchmark::State& state, int64_t rows, int64_t n) {
  const Tensor x = filled({rows, n}, kFloat), y = empty({rows, n}, kFloat);
  measure(state, 2 * x.nbytes(), [&] { backend(kCPU).softmax(y, x, 1, false); });
}
BENCHMARK_CAPTURE(softmax, rows_of_1000, 16384, 1000)->UseRealTime();
BENCHMARK_CAPTURE(softmax, rows_of_10, 16384, 10)->UseRealTime();

/// Forward and backward: reads x twice, writes gx once.
void cross_entropy(benchmark::State& state, DType dtype, int64_t rows, int64_t n) {
  const Tensor x = filled({rows, n}, dtype), gx = empty({rows, n}, dtype), gy = filled({1}, kFloat), none;
  const Tensor target = empty({rows}, kLong), loss = empty({rows}), max = empty({rows}), log_sum = empty({rows});
  backend(kCPU).fill(target, n / 2);
  measure(state, 3 * x.nbytes(), [&] {
    backend(kCPU).cross_entropy(loss, none, max, log_sum, x, target, none, -100);
    backend(kCPU).cross_entropy_backward(gx, gy, x, max, log_sum, target, none, -100);
  });
}
BENCHMARK_CAPTURE(cross_entropy, rows_of_1000_f32, kFloat, 16384, 1000)->UseRealTime();
BENCHMARK_CAPTURE(cross_entropy, rows_of_1000_bf16, kBFloat16, 16384, 1000)->UseRealTime();
BENCHMARK_CAPTURE(cross_entropy, rows_of_10_f32, kFloat, 16384, 10)->UseRealTime();

void random(benchmark::State& state, bool is_normal) {
  const Tensor y = empty({kLarge}, kFloat);
  measure(state, y.nbytes(), [&] {
    is_normal ? backend(kCPU).normal(y, 0, 1, {1, 0}) : backend(kCPU).uniform(y, 0, 1, {1, 0});
  });
}
BENCHMARK_CAPTURE(random, uniform_f32, false)->UseRealTime();
BENCHMARK_CAPTURE(random, normal_f32, true)->UseRealTime();

}  // namespace
}  // namespace tandem
