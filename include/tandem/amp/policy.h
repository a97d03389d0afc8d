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
    {"addbmm", Cast::lower},
    {"addmm", Cast::lower},
    {"addmv", Cast::lower, Cast::keep},
    {"addr", Cast::lower, Cast::keep},
    {"baddbmm", Cast::lower},
    {"bmm", Cast::lower},
    {"chain_matmul", Cast::lower, Cast::keep},
    {"conv2d", Cast::lower},
    {"conv2d_relu", Cast::lower},
    {"einsum", Cast::lower, Cast::keep},
    {"linalg_multi_dot", Cast::lower, Cast::keep},
    {"linalg_vecdot", Cast::lower},
    {"linear", Cast::lower},
    {"linear_relu", Cast::lower},
    {"matmul", Cast::lower},
    {"mm", Cast::lower},
    {"prelu", Cast::lower},
    {"mv", Cast::lower, Cast::keep},
    {"scaled_dot_product_attention", Cast::lower},
    // ops with a wide range of values, or with sums that overflow f16
    {"acos", Cast::f32, Cast::keep},
    {"asin", Cast::f32, Cast::keep},
    {"cosh", Cast::f32, Cast::keep},
    {"erfinv", Cast::f32, Cast::keep},
    {"log10", Cast::f32, Cast::keep},
    {"log2", Cast::f32, Cast::keep},
    {"logsumexp", Cast::f32, Cast::keep},
    {"sinh", Cast::f32, Cast::keep},
    {"tan", Cast::f32, Cast::keep},
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
    {"group_norm", Cast::f32, Cast::keep},
    {"rms_norm", Cast::f32, Cast::keep},
    {"cdist", Cast::f32},
    {"cosine_similarity", Cast::f32, Cast::keep},
    {"dist", Cast::f32, Cast::keep},
    {"frobenius_norm", Cast::f32, Cast::keep},
    {"pdist", Cast::f32, Cast::keep},
    {"renorm", Cast::f32, Cast::keep},
    {"binary_cross_entropy_with_logits", Cast::f32},
    {"mse_loss", Cast::f32},
    {"nll_loss", Cast::f32},
    {"trace", Cast::f32},
    // the same, for ops with a dtype argument
    {"cross_entropy", Cast::f32_dtype, Cast::f32},
    {"cumprod", Cast::f32_dtype, Cast::keep},
    {"cumsum", Cast::f32_dtype, Cast::keep},
    {"linalg_matrix_norm", Cast::f32_dtype, Cast::keep},
    {"linalg_vector_norm", Cast::f32_dtype, Cast::keep},
    {"log_softmax", Cast::f32_dtype, Cast::keep},
    {"norm", Cast::f32_dtype, Cast::keep},
    {"prod", Cast::f32_dtype, Cast::f32},
    {"softmax", Cast::f32_dtype, Cast::keep},
    {"sum", Cast::f32_dtype, Cast::keep},
    // ops whose operands must have the same dtype
    {"addcdiv", Cast::promote, Cast::keep},
    {"addcmul", Cast::promote, Cast::keep},
    {"atan2", Cast::promote, Cast::keep},
    {"bilinear", Cast::promote, Cast::keep},
    {"cat", Cast::promote},
    {"index_copy", Cast::promote},
    {"index_put", Cast::promote, Cast::keep},
    {"cross", Cast::promote, Cast::keep},
    {"dot", Cast::promote, Cast::keep},
    {"scatter_add", Cast::promote, Cast::keep},
    {"stack", Cast::promote},
    {"tensordot", Cast::promote, Cast::keep},
    {"vdot", Cast::promote, Cast::keep},
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
    {"linalg_cross", Cast::keep},
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
    // more functions, arithmetic and activations
    {"acosh", Cast::keep},
    {"asinh", Cast::keep},
    {"atan", Cast::keep},
    {"atanh", Cast::keep},
    {"bitwise_and", Cast::keep},
    {"bitwise_left_shift", Cast::keep},
    {"bitwise_not", Cast::keep},
    {"bitwise_or", Cast::keep},
    {"bitwise_right_shift", Cast::keep},
    {"bitwise_xor", Cast::keep},
    {"celu", Cast::keep},
    {"copysign", Cast::keep},
    {"digamma", Cast::keep},
    {"elu", Cast::keep},
    {"erfc", Cast::keep},
    {"exp2", Cast::keep},
    {"floor_divide", Cast::keep},
    {"fmax", Cast::keep},
    {"fmin", Cast::keep},
    {"fmod", Cast::keep},
    {"frac", Cast::keep},
    {"gcd", Cast::keep},
    {"hardshrink", Cast::keep},
    {"hardsigmoid", Cast::keep},
    {"hardswish", Cast::keep},
    {"hardtanh", Cast::keep},
    {"heaviside", Cast::keep},
    {"hypot", Cast::keep},
    {"isneginf", Cast::keep},
    {"isposinf", Cast::keep},
    {"lcm", Cast::keep},
    {"leaky_relu", Cast::keep},
    {"lerp", Cast::keep},
    {"lgamma", Cast::keep},
    {"logaddexp", Cast::keep},
    {"logaddexp2", Cast::keep},
    {"logit", Cast::keep},
    {"mish", Cast::keep},
    {"nan_to_num", Cast::keep},
    {"remainder", Cast::keep},
    {"round_decimals", Cast::keep},
    {"selu", Cast::keep},
    {"signbit", Cast::keep},
    {"silu", Cast::keep},
    {"sinc", Cast::keep},
    {"softshrink", Cast::keep},
    {"tanhshrink", Cast::keep},
    {"threshold", Cast::keep},
    {"trunc", Cast::keep},
    {"trunc_divide", Cast::keep},
    {"xlogy", Cast::keep},
    // reductions without range problems
    {"all", Cast::keep},
    {"amax", Cast::keep},
    {"amin", Cast::keep},
    {"any", Cast::keep},
    {"argmax", Cast::keep},
    {"argmin", Cast::keep},
    {"max", Cast::keep},
    {"mean", Cast::keep},
    {"min", Cast::keep},
    {"nansum", Cast::keep},
    {"std", Cast::keep},
    {"var", Cast::keep},
    // sorting, scans and search
    {"cummax", Cast::keep},
    {"cummin", Cast::keep},
    {"kthvalue", Cast::keep},
    {"logcumsumexp", Cast::keep},
    {"median", Cast::keep},
    {"nanmedian", Cast::keep},
    {"nanquantile", Cast::keep, Cast::f32},
    {"quantile", Cast::keep, Cast::f32},
    {"searchsorted", Cast::keep},
    {"sort", Cast::keep},
    {"topk", Cast::keep},
    // layers whose kernels accept mixed dtypes
    {"adaptive_avg_pool2d", Cast::keep},
    {"avg_pool2d", Cast::keep},
    {"batch_norm", Cast::keep},
    {"embedding", Cast::keep},
    {"max_pool2d", Cast::keep},
    // copies, views, conversions and indexing
    {"as_strided", Cast::keep},
    {"as_strided_scatter", Cast::keep},
    {"clone", Cast::keep},
    {"constant_pad_nd", Cast::keep},
    {"contiguous", Cast::keep},
    {"copy", Cast::keep},
    {"detach", Cast::keep},
    {"diagonal", Cast::keep},
    {"diagonal_scatter", Cast::keep},
    {"expand", Cast::keep},
    {"flip", Cast::keep},
    {"gather", Cast::keep},
    {"index", Cast::keep},
    {"index_add", Cast::keep},
    {"index_fill", Cast::keep},
    {"index_select", Cast::keep},
    {"masked_fill", Cast::keep},
    {"pad_circular", Cast::keep},
    {"permute", Cast::keep},
    {"reflection_pad1d", Cast::keep, Cast::f32},
    {"reflection_pad2d", Cast::keep, Cast::f32},
    {"reflection_pad3d", Cast::keep},
    {"replication_pad1d", Cast::keep, Cast::f32},
    {"replication_pad2d", Cast::keep, Cast::f32},
    {"replication_pad3d", Cast::keep, Cast::f32},
    {"reshape", Cast::keep},
    {"scatter", Cast::keep},
    {"scatter_reduce", Cast::keep},
    {"roll", Cast::keep},
    {"select", Cast::keep},
    {"select_scatter", Cast::keep},
    {"slice", Cast::keep},
    {"slice_scatter", Cast::keep},
    {"split", Cast::keep},
    {"squeeze", Cast::keep},
    {"to", Cast::keep},
    {"transpose", Cast::keep},
    {"tril", Cast::keep},
    {"triu", Cast::keep},
    {"unbind", Cast::keep},
    {"unfold", Cast::keep},
    {"unsqueeze", Cast::keep},
    {"view", Cast::keep},
    // derivatives; gemm is the matrix product with a selectable result dtype, for the backward of the other products
    derivative("adaptive_avg_pool2d_backward"),
    derivative("avg_pool2d_backward"),
    derivative("batch_norm_backward"),
    derivative("binary_cross_entropy_backward"),
    derivative("cdist_backward"),
    derivative("conv2d_backward_input"),
    derivative("conv2d_backward_weight"),
    derivative("cross_entropy_backward"),
    derivative("dropout_backward"),
    derivative("gelu_backward"),
    derivative("gemm"),
    derivative("group_norm_backward"),
    derivative("layer_norm_backward"),
    derivative("log_softmax_backward"),
    derivative("max_pool2d_backward"),
    derivative("max_pool2d_gather"),
    derivative("mse_loss_backward"),
    derivative("pad_backward"),
    derivative("relu_backward"),
    derivative("rms_norm_backward"),
    derivative("sigmoid_backward"),
    derivative("softmax_backward"),
    derivative("tanh_backward"),
    derivative("unfold_backward"),
    derivative("trigamma"),
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
