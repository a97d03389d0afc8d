#pragma once
// THE autocast table: what each op does with its inputs inside an autocast region, on every device.
//
// It is PyTorch's CUDA list, plus the CPU-only rows whose reason is numeric (docs/differences.md). An op that is not in
// the table does not compile.
#include <array>
#include <cstdint>
#include <string_view>

namespace tandem::amp {

/// What autocast does with the eligible inputs of an op. Eligible: floating, not f64, on the region's device.
enum class Cast : uint8_t {
  lower,      ///< cast to the region's dtype
  f32,        ///< cast to f32
  f32_dtype,  ///< f32 through the op's own optional `dtype` argument, unless the caller gave one
  promote,    ///< cast to the widest dtype among them
  keep,       ///< run as given; the op promotes by the ordinary rules
  banned      ///< throw, and say what to use
};

/// One row of the table.
struct PolicyRow {
  std::string_view op;
  Cast cast;
};

// Sorted by policy, then by family. The ops that backward passes are made of run outside every region: keep.
inline constexpr auto policy_table = std::to_array<PolicyRow>({
    // matrix products and convolutions: what tensor cores are for
    {"addmm", Cast::lower},
    {"bmm", Cast::lower},
    {"conv2d", Cast::lower},
    {"conv2d_relu", Cast::lower},
    {"linear", Cast::lower},
    {"linear_relu", Cast::lower},
    {"matmul", Cast::lower},
    {"mm", Cast::lower},
    // wide range of values, or sums that leave f16's range
    {"exp", Cast::f32},
    {"expm1", Cast::f32},
    {"log", Cast::f32},
    {"log1p", Cast::f32},
    {"pow", Cast::f32},
    {"reciprocal", Cast::f32},
    {"rsqrt", Cast::f32},
    {"softplus", Cast::f32},
    {"square", Cast::f32},
    {"layer_norm", Cast::f32},
    {"binary_cross_entropy_with_logits", Cast::f32},
    {"mse_loss", Cast::f32},
    {"nll_loss", Cast::f32},
    // the same, where the op has a dtype argument
    {"cross_entropy", Cast::f32_dtype},
    {"log_softmax", Cast::f32_dtype},
    {"norm", Cast::f32_dtype},
    {"softmax", Cast::f32_dtype},
    {"sum", Cast::f32_dtype},
    // several operands that must agree
    {"atan2", Cast::promote},
    {"cat", Cast::promote},
    {"scatter_add", Cast::promote},
    {"stack", Cast::promote},
    // safe only in another form
    {"binary_cross_entropy", Cast::banned},
    // element-wise, as given
    {"abs", Cast::keep},
    {"add", Cast::keep},
    {"ceil", Cast::keep},
    {"clamp", Cast::keep},
    {"cos", Cast::keep},
    {"div", Cast::keep},
    {"dropout", Cast::keep},
    {"eq", Cast::keep},
    {"erf", Cast::keep},
    {"floor", Cast::keep},
    {"ge", Cast::keep},
    {"gelu", Cast::keep},
    {"gt", Cast::keep},
    {"isfinite", Cast::keep},
    {"isinf", Cast::keep},
    {"isnan", Cast::keep},
    {"le", Cast::keep},
    {"logical_and", Cast::keep},
    {"logical_not", Cast::keep},
    {"logical_or", Cast::keep},
    {"logical_xor", Cast::keep},
    {"logsigmoid", Cast::keep},
    {"lt", Cast::keep},
    {"maximum", Cast::keep},
    {"minimum", Cast::keep},
    {"mul", Cast::keep},
    {"ne", Cast::keep},
    {"neg", Cast::keep},
    {"relu", Cast::keep},
    {"round", Cast::keep},
    {"sigmoid", Cast::keep},
    {"sign", Cast::keep},
    {"sin", Cast::keep},
    {"sqrt", Cast::keep},
    {"sub", Cast::keep},
    {"tanh", Cast::keep},
    {"where", Cast::keep},
    // reductions that stay in range
    {"all", Cast::keep},
    {"any", Cast::keep},
    {"argmax", Cast::keep},
    {"argmin", Cast::keep},
    {"max", Cast::keep},
    {"mean", Cast::keep},
    {"min", Cast::keep},
    {"var", Cast::keep},
    // layers whose kernels take mixed dtypes
    {"adaptive_avg_pool2d", Cast::keep},
    {"avg_pool2d", Cast::keep},
    {"batch_norm", Cast::keep},
    {"embedding", Cast::keep},
    {"max_pool2d", Cast::keep},
    // moving and picking values
    {"as_strided", Cast::keep},
    {"as_strided_scatter", Cast::keep},
    {"clone", Cast::keep},
    {"contiguous", Cast::keep},
    {"copy", Cast::keep},
    {"detach", Cast::keep},
    {"expand", Cast::keep},
    {"gather", Cast::keep},
    {"index_add", Cast::keep},
    {"index_select", Cast::keep},
    {"permute", Cast::keep},
    {"reshape", Cast::keep},
    {"select", Cast::keep},
    {"slice", Cast::keep},
    {"squeeze", Cast::keep},
    {"to", Cast::keep},
    {"transpose", Cast::keep},
    {"unsqueeze", Cast::keep},
    {"view", Cast::keep},
    // derivatives
    {"adaptive_avg_pool2d_backward", Cast::keep},
    {"avg_pool2d_backward", Cast::keep},
    {"batch_norm_backward", Cast::keep},
    {"binary_cross_entropy_backward", Cast::keep},
    {"conv2d_backward_input", Cast::keep},
    {"conv2d_backward_weight", Cast::keep},
    {"cross_entropy_backward", Cast::keep},
    {"dropout_backward", Cast::keep},
    {"gelu_backward", Cast::keep},
    {"gemm", Cast::keep},
    {"layer_norm_backward", Cast::keep},
    {"log_softmax_backward", Cast::keep},
    {"max_pool2d_backward", Cast::keep},
    {"max_pool2d_gather", Cast::keep},
    {"mse_loss_backward", Cast::keep},
    {"relu_backward", Cast::keep},
    {"sigmoid_backward", Cast::keep},
    {"softmax_backward", Cast::keep},
    {"tanh_backward", Cast::keep},
});

/// Row number of `op` in the table, or -1.
constexpr int policy_row(std::string_view op) {
  for (size_t i = 0; i < policy_table.size(); ++i) {
    if (policy_table[i].op == op) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace tandem::amp
