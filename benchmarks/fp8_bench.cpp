// Float8 on the CPU, where it serves correctness and rehearsal: what rounding costs, against a copy of as many bytes; a
// step of a linear layer by each recipe, against bf16 (x_bf16: its time divided by that in bf16, measured alternately);
// and the relative error of a product (error: |y - exact| / |exact| in the L2 norm).
#include <benchmark/benchmark.h>
#include <tandem/amp/fp8.h>
#include <tandem/tandem.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/processor.h"
#include "stream.h"

namespace {

using namespace tandem;
using benchmark::State;

/// Rounds an f32 matrix, as an operand whose rows are summed.
void round_operand(State& state, const std::string& recipe) {
  const int64_t rows = state.range(0), columns = 1024;
  const Tensor x = randn({rows, columns});
  const amp::DelayedScales delayed(amp::DelayedScaling(), {kFloat8_e4m3fn}, kCPU);
  const auto pass = [&] {
    if (recipe == "delayed") benchmark::DoNotOptimize(delayed.quantize(x, 0));
    if (recipe == "tensorwise") {
      benchmark::DoNotOptimize(amp::quantize(x, kFloat8_e4m3fn, amp::Float8CurrentScaling()));
    }
    if (recipe == "blockwise") {
      benchmark::DoNotOptimize(amp::quantize(x, amp::Fp8Role::input, amp::Float8BlockScaling()));
    }
    if (recipe == "mxfp8") {
      benchmark::DoNotOptimize(amp::quantize(x, amp::Fp8Role::input, amp::MXFP8BlockScaling()));
    }
  };
  against_stream(state, bench::Stream::copy, 5 * rows * columns, pass);
}
void round_sizes(benchmark::internal::Benchmark* b) { b->Arg(64)->Arg(16384)->UseManualTime(); }
BENCHMARK_CAPTURE(round_operand, delayed, "delayed")->Apply(round_sizes);
BENCHMARK_CAPTURE(round_operand, tensorwise, "tensorwise")->Apply(round_sizes);
BENCHMARK_CAPTURE(round_operand, blockwise, "blockwise")->Apply(round_sizes);
BENCHMARK_CAPTURE(round_operand, mxfp8, "mxfp8")->Apply(round_sizes);

/// Forward and backward of a layer of n x n weights on 512 rows.
void linear_step(State& state, const std::string& recipe) {
  const int64_t n = state.range(0);
  const Tensor x = randn({512, n}).requires_grad_(), w = randn({n, n}).requires_grad_();
  const Tensor gy = randn({512, n}, kBFloat16);
  const auto step = [&](bool fp8) {
    Tensor y;
    if (fp8) {
      const amp::Fp8AutocastGuard region(kCPU, amp::fp8_recipe(recipe));
      y = linear(x, w);
    } else {
      const amp::AutocastGuard region(kCPU, kBFloat16);
      y = linear(x, w);
    }
    benchmark::DoNotOptimize(autograd::grad({y}, {x, w}, {gy}));
  };
  step(true);
  step(false);
  std::vector<double> ours, bf16;
  for (auto _ : state) {
    const double start = bench::now();
    step(true);
    const double middle = bench::now();
    step(false);
    ours.push_back(middle - start);
    bf16.push_back(bench::now() - middle);
    state.SetIterationTime(ours.back());
  }
  state.counters["x_bf16"] = bench::median(ours) / bench::median(bf16);
}
void layer_sizes(benchmark::internal::Benchmark* b) {
  b->Arg(256)->Arg(1024)->Arg(4096)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(linear_step, delayed, "delayed")->Apply(layer_sizes);
BENCHMARK_CAPTURE(linear_step, tensorwise, "tensorwise")->Apply(layer_sizes);
BENCHMARK_CAPTURE(linear_step, blockwise, "blockwise")->Apply(layer_sizes);
BENCHMARK_CAPTURE(linear_step, mxfp8, "mxfp8")->Apply(layer_sizes);

enum class Inputs { normal, spread, outliers };

/// Normal numbers; with magnitudes that vary by e^1.5; and with one in a thousand 100 times as large.
Tensor inputs_of(Inputs kind) {
  Tensor x = randn({256, 1024});
  if (kind == Inputs::normal) return x;
  x = x * (randn({256, 1024}) * 1.5).exp();
  return kind == Inputs::spread ? x : x * ((rand({256, 1024}) < 1e-3).to(kFloat) * 99 + 1);
}

void product_error(State& state, const std::string& precision, Inputs kind) {
  manual_seed(1);
  const Tensor x = inputs_of(kind), w = randn({512, 1024}).requires_grad_();
  const Tensor exact = matmul(x.to(kDouble), w.detach().to(kDouble).t());
  const auto product = [&] {
    if (precision == "bf16") {
      const amp::AutocastGuard region(kCPU, kBFloat16);
      return linear(x, w).detach();
    }
    const amp::Fp8AutocastGuard region(kCPU, amp::fp8_recipe(precision));
    return linear(x, w).detach();
  };
  Tensor y = product();  // "delayed" has its scales from the second iteration on
  for (auto _ : state) y = product();
  state.counters["error"] = ((y.to(kDouble) - exact).norm() / exact.norm()).item<double>();
}
#define PRODUCT_ERROR(PRECISION)                                                                   \
  BENCHMARK_CAPTURE(product_error, PRECISION##_normal, #PRECISION, Inputs::normal)->Iterations(1); \
  BENCHMARK_CAPTURE(product_error, PRECISION##_spread, #PRECISION, Inputs::spread)->Iterations(1); \
  BENCHMARK_CAPTURE(product_error, PRECISION##_outliers, #PRECISION, Inputs::outliers)->Iterations(1)
PRODUCT_ERROR(bf16);
PRODUCT_ERROR(delayed);
PRODUCT_ERROR(tensorwise);
PRODUCT_ERROR(blockwise);
PRODUCT_ERROR(mxfp8);
#undef PRODUCT_ERROR

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("processor", common::processor().description());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
