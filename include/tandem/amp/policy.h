#pragma once
// The policy table: one row per op, with what autocast does with the op's inputs, the same on all devices.
//
// The policies are PyTorch's for CUDA, plus those of its CPU-only policies that have numeric reasons
// (docs/differences.md). An op that is not in the table does not compile.
#include <array>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace tandem::amp {

/// What autocast does with the eligible inputs of an op. An input is eligible if it is floating, not f64, and on a
/// device for which autocast is on.
enum class Cast : uint8_t {
  lower,      ///< cast to the region's dtype
  f32,        ///< cast to f32
  f32_dtype,  ///< set the op's optional `dtype` argument to f32, unless the caller gave one
  promote,    ///< cast to the widest dtype among the eligible inputs
  keep,       ///< no cast; the op applies the ordinary promotion rules
  banned      ///< throw an error that says what to use instead, for inputs of any dtype
};

/// One row of the table.
struct PolicyRow {
  constexpr PolicyRow(std::string_view name, Cast policy) : PolicyRow(name, policy, policy) {}
  constexpr PolicyRow(std::string_view name, Cast policy, Cast policy_of_torch_cpu, bool derivative = false)
      : op(name), cast(policy), torch_cpu(policy_of_torch_cpu), is_derivative(derivative) {}

  std::string_view op;
  Cast cast;
  Cast torch_cpu;      ///< PyTorch's policy on the CPU; see torch_cpu_policy()
  bool is_derivative;  ///< runs in the backward pass of another op; that op's test cases cover it
};

/// Returns the row of an op that is used in backward passes, where autocast is off.
constexpr PolicyRow derivative(std::string_view op) { return {op, Cast::keep, Cast::keep, true}; }

// Sorted by policy, then by family.
inline constexpr auto policy_table = std::to_array<PolicyRow>({
    // matrix products and convolutions: fast on tensor cores
    {"addmm", Cast::lower},
    {"bmm", Cast::lower},
    {"conv2d", Cast::lower},
    {"conv2d_relu", Cast::lower},
    {"linear", Cast::lower},
    {"linear_relu", Cast::lower},
    {"matmul", Cast::lower},
    {"mm", Cast::lower},
    // ops with a wide range of values, or with sums that overflow f16
    {"exp", Cast::f32, Cast::keep},
    {"expm1", Cast::f32, Cast::keep},
    {"log", Cast::f32, Cast::keep},
    {"log1p", Cast::f32, Cast::keep},
    {"pow", Cast::f32, Cast::keep},
    {"reciprocal", Cast::f32, Cast::keep},
    {"rsqrt", Cast::f32, Cast::keep},
    {"softplus", Cast::f32, Cast::keep},
    {"square", Cast::f32, Cast::keep},
    {"layer_norm", Cast::f32, Cast::keep},
    {"binary_cross_entropy_with_logits", Cast::f32},
    {"cosine_embedding_loss", Cast::f32},
    {"ctc_loss", Cast::f32},
    {"gaussian_nll_loss", Cast::f32, Cast::keep},
    {"hinge_embedding_loss", Cast::f32},
    {"huber_loss", Cast::f32},
    {"kl_div", Cast::f32},
    {"l1_loss", Cast::f32},
    {"margin_ranking_loss", Cast::f32},
    {"mse_loss", Cast::f32},
    {"multi_margin_loss", Cast::f32},
    {"multilabel_margin_loss", Cast::f32},
    {"nll_loss", Cast::f32},
    {"poisson_nll_loss", Cast::f32},
    {"smooth_l1_loss", Cast::f32},
    {"soft_margin_loss", Cast::f32},
    {"triplet_margin_loss", Cast::f32},
    {"upsample_nearest1d", Cast::f32, Cast::keep},
    {"upsample_nearest2d", Cast::f32, Cast::keep},
    {"upsample_nearest3d", Cast::f32, Cast::keep},
    {"_upsample_nearest_exact1d", Cast::f32, Cast::keep},
    {"_upsample_nearest_exact2d", Cast::f32, Cast::keep},
    {"_upsample_nearest_exact3d", Cast::f32, Cast::keep},
    {"upsample_linear1d", Cast::f32, Cast::keep},
    {"upsample_bilinear2d", Cast::f32, Cast::keep},
    {"upsample_trilinear3d", Cast::f32, Cast::keep},
    {"upsample_bicubic2d", Cast::f32, Cast::keep},
    // the same, for ops with a dtype argument
    {"cross_entropy", Cast::f32_dtype, Cast::f32},
    {"cumsum", Cast::f32_dtype, Cast::keep},
    {"log_softmax", Cast::f32_dtype, Cast::keep},
    {"norm", Cast::f32_dtype, Cast::keep},
    {"softmax", Cast::f32_dtype, Cast::keep},
    {"sum", Cast::f32_dtype, Cast::keep},
    // ops whose operands must have the same dtype
    {"atan2", Cast::promote, Cast::keep},
    {"cat", Cast::promote},
    {"scatter_add", Cast::promote, Cast::keep},
    {"stack", Cast::promote},
    // unsafe in f16; another op is safe
    {"binary_cross_entropy", Cast::banned, Cast::f32},
    // element-wise ops
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
    {"softsign", Cast::keep},
    {"sqrt", Cast::keep},
    {"sub", Cast::keep},
    {"tanh", Cast::keep},
    {"where", Cast::keep},
    // reductions without range problems
    {"all", Cast::keep},
    {"any", Cast::keep},
    {"argmax", Cast::keep},
    {"argmin", Cast::keep},
    {"max", Cast::keep},
    {"mean", Cast::keep},
    {"min", Cast::keep},
    {"var", Cast::keep},
    // layers whose kernels accept mixed dtypes
    {"adaptive_avg_pool2d", Cast::keep},
    {"adaptive_avg_pool3d", Cast::keep, Cast::f32},
    {"adaptive_max_pool3d", Cast::keep, Cast::f32},
    {"avg_pool2d", Cast::keep},
    {"avg_pool3d", Cast::keep, Cast::f32},
    {"batch_norm", Cast::keep},
    {"embedding", Cast::keep},
    {"max_pool2d", Cast::keep},
    {"max_pool3d", Cast::keep, Cast::f32},
    // copies, views, conversions and indexing
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
    // derivatives; gemm is the matrix product with a selectable result dtype, for the backward of the other products
    derivative("adaptive_avg_pool2d_backward"),
    derivative("avg_pool2d_backward"),
    derivative("batch_norm_backward"),
    derivative("binary_cross_entropy_backward"),
    derivative("conv2d_backward_input"),
    derivative("conv2d_backward_weight"),
    derivative("cross_entropy_backward"),
    derivative("ctc_loss_backward"),
    derivative("dropout_backward"),
    derivative("gelu_backward"),
    derivative("gemm"),
    derivative("layer_norm_backward"),
    derivative("log_softmax_backward"),
    derivative("max_pool2d_backward"),
    derivative("max_pool2d_gather"),
    derivative("mse_loss_backward"),
    derivative("multilabel_margin_loss_backward"),
    derivative("pair_loss_backward"),
    derivative("relu_backward"),
    derivative("resample_backward"),
    derivative("sigmoid_backward"),
    derivative("softmax_backward"),
    derivative("tanh_backward"),
    // runs inside max pooling
    derivative("window_argmax"),
});

/// Row index of `op` in the table, or -1.
constexpr int policy_row(std::string_view op) {
  for (size_t i = 0; i < policy_table.size(); ++i) {
    if (policy_table[i].op == op) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace tandem::amp
#pragma GCC visibility pop
