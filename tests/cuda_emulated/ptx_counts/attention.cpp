// Attention on tensor cores, and float8.
#include "cuda_emulated/ptx_counts/rows.h"
#include "tandem/amp/fp8.h"
#include "tandem/tandem.h"

namespace tandem::ptx_counts {
namespace {

/// Multiplications of one mma.m16n8k16.
constexpr double kPerProduct = 16.0 * 8 * 16;

/// An element is a query with a key that it sees.
void add_heads(Report& report, int64_t width, bool causal) {
  constexpr int64_t kHeads = 4, kRows = 256;
  constexpr double kStatistics = 2 * 4;  // bytes of a row: its maximum and the logarithm of its sum
  const double rows = kHeads * kRows, pairs = causal ? rows * (kRows + 1) / 2 : rows * kRows;
  const double operand = 2.0 * static_cast<double>(width);  // bytes of a row
  const std::string form = std::string(causal ? ", causal" : "") + ", f16, heads of " + std::to_string(width);
  std::vector<Tensor> inputs;
  for (int n = 0; n < 3; ++n) {
    inputs.push_back(random({1, kHeads, kRows, width}, kHalf).requires_grad_(true));
  }
  const auto attend = [&] { return scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], {}, 0, causal); };
  const auto add = [&](const std::string& what, const char* kernel, double bytes_of_row, int products,
                       const std::function<void()>& body) {
    report.add(
        what + form, kernel, pairs,
        {.bytes = bytes_of_row * rows / pairs, .matrix_products = products * static_cast<double>(width) / kPerProduct},
        body);
  };
  const Tensor y = attend(), gy = random(y.sizes(), kHalf);
  add("attention", "attend", 4 * operand + kStatistics, 2, attend);
  const std::function<void()> backward = [=] { autograd::grad({y}, inputs, {gy}, /*retain_graph=*/true); };
  // All three gradients take five products: scores, gradients of weights, and one for each of gq, gk and gv.
  add("attention, backward", "gradient", 8 * operand + kStatistics, 5, backward);
  add("attention, backward, gq", "gradient_of_queries", 5 * operand + kStatistics + 4, 3, backward);
  add("attention, backward, gk and gv", "gradient_of_keys", 6 * operand + kStatistics + 4, 4, backward);
  report.add("attention, backward, products of rows" + form + ", per element of y", "multiply_results",
             rows * static_cast<double>(width), {.bytes = 4 + 4.0 / static_cast<double>(width)}, backward);
}

}  // namespace

void add_attention(Report& report) {
  for (const int64_t width : {64, 128}) {
    for (const bool causal : {false, true}) add_heads(report, width, causal);
  }
}

void add_float8(Report& report) {
  constexpr int64_t kSide = 512;
  constexpr double kNumel = kSide * kSide;
  const Tensor x = random({kSide, kSide}, kHalf), one = ones({}), amax = zeros({});
  const auto add = [&](const char* what, double bytes, const std::function<void()>& body) {
    report.add(what, "", kNumel, {.bytes = bytes}, body);
  };
  add("cast f16 to e4m3", 3, [&] { x.to(kFloat8_e4m3fn); });
  add("cast_float8 with scale and amax, f16 to e4m3", 3,
      [&] { cast_float8(x, kFloat8_e4m3fn, Float8CastOptions().scale(one).amax(amax)); });
  add("cast_float8, stochastic, f16 to e4m3", 3,
      [&] { cast_float8(x, kFloat8_e4m3fn, Float8CastOptions().stochastic(true)); });
  const amp::DelayedScales scales(amp::DelayedScaling(), {kFloat8_e4m3fn}, kCUDA);
  scales.quantize(x, 0);
  scales.update(0, 1);
  add("quantize, DelayedScaling, f16", 3, [&] { scales.quantize(x, 0); });
  const auto tensorwise = amp::quantize(x, kFloat8_e4m3fn, amp::Float8CurrentScaling());
  add("quantize, Float8CurrentScaling, f16", 3, [&] { amp::quantize(x, kFloat8_e4m3fn, amp::Float8CurrentScaling()); });
  constexpr double kBlockScale = 4.0 / 128, kMxScale = 1.0 / 32;  // bytes, of one element
  for (const int64_t dim : {-1, -2}) {
    const std::string form = dim == -1 ? "rows" : "columns";
    report.add("quantize, Float8BlockScaling, f16, along " + form, "", kNumel, {.bytes = 3 + kBlockScale},
               [&] { amp::quantize(x, amp::Fp8Role::input, amp::Float8BlockScaling(), dim); });
    report.add("quantize, MXFP8BlockScaling, f16, along " + form, "", kNumel, {.bytes = 3 + kMxScale},
               [&] { amp::quantize(x, amp::Fp8Role::input, amp::MXFP8BlockScaling(), dim); });
  }
  report.add("quantize, Float8BlockScaling, f16, 128x128", "", kNumel, {.bytes = 3},
             [&] { amp::quantize(x, amp::Fp8Role::weight, amp::Float8BlockScaling()); });
  add("dequantize to f16", 3, [&] { tensorwise.dequantize(kHalf); });
  const auto in_blocks = amp::quantize(x, amp::Fp8Role::input, amp::Float8BlockScaling());
  report.add("dequantize blocks to f16", "", kNumel, {.bytes = 3 + kBlockScale}, [&] { in_blocks.dequantize(kHalf); });
}

}  // namespace tandem::ptx_counts
