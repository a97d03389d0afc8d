// Matrix products.
// Contract: f32, f16 and bf16 are multiplied by cuBLASLt with f32 sums (f32 factors are rounded to TF32 only if
// cuda::set_allow_tf32_matmul allows it), f64 in f64. The result is rounded once, after bias and activation: if
// cuBLASLt cannot add the bias itself (an f32 bias with an f16 or bf16 result), it is added to a product in f32. relu
// keeps NaN: cuBLASLt's relu is used only if a trial run confirms that, else relu is a separate pass over the rounded
// result. Products with and without an extra use different algorithms and may sum in different orders. With k = 0 the
// product is 0. Float8 is multiplied by cuBLASLt where the device, the sizes and the form of the scales allow it,
// without fast accumulation; the precision of the sums is that of its float8 kernels. Other codes are widened to bf16
// (f16 below compute capability 8.0), which is exact. Equal calls on one device give equal bits, unless
// cuda::set_autotune is on: then two runs of a program may choose different algorithms.
#include <functional>

#include "kernels/cuda/finish.h"
#include "kernels/cuda/float8_scales.h"
#include "kernels/cuda/gemm_plan.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"
#include "kernels/float8_gemm.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"
#include "tandem/math/reduce.h"
#include "tandem/math/unary.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

Tensor transposed(const Tensor& x) {
  Dims sizes = x.sizes(), strides = x.strides();
  std::swap(sizes[sizes.size() - 2], sizes.back());
  std::swap(strides[strides.size() - 2], strides.back());
  return make_view(x, sizes, strides, x.storage_offset());
}

Tensor new_tensor(const Tensor& like, DType dtype) {
  return empty(like.sizes(), TensorOptions(dtype).device(like.device()));
}

Tensor copied(const Tensor& x, DType dtype) {
  const Tensor y = new_tensor(x, dtype);
  copy(y, x);
  return y;
}

/// `x` itself if a BLAS can read it in place, else a row-major copy.
Tensor operand(const Tensor& x, DType dtype) {
  return x.dtype() == dtype && as_matrices(x.sizes(), x.strides()) ? x : copied(x, dtype);
}

/// The result dtypes that cuBLASLt writes for operands of dtype `operand`.
bool writes(DType operand, DType result) {
  if (is_float8(operand)) return result == kFloat || is_reduced_floating_point(result);
  return result == operand || (result == kFloat && is_reduced_floating_point(operand));
}

/// Whether a product can be written to `d` in place.
bool is_writable(const Tensor& d, DType operands, bool by_rows) {
  const std::optional<Matrices> m = as_matrices(d.sizes(), d.strides());
  return m && writes(operands, d.dtype()) && !(by_rows && m->by_columns && m->columns != 1);
}

/// Whether cuBLASLt's epilogues can read and write `v` in place. The heuristic cannot be told this vector's alignment,
/// and some kernels fault below 16 bytes.
bool is_vector(const Tensor& v) { return v.is_contiguous() && alignment_of(v.raw_bytes()) >= 16; }

/// One value per column, viewed as a tensor of d's sizes; undefined stays undefined.
Tensor spread_over_rows(const Tensor& bias, const Tensor& d) {
  if (!bias.defined()) return bias;
  Dims strides(d.sizes().size(), 0);
  strides.back() = bias.stride(0);
  return make_view(bias, d.sizes(), strides, bias.storage_offset());
}

std::string show(const Tensor& x) {
  return fmt::format("{} {} with strides {}", name(x.dtype()), to_string(x.sizes()), to_string(x.strides()));
}

[[noreturn]] void refuse(const Product& p) {
  TANDEM_THROW(BackendError,
               "cuBLASLt has no algorithm for d = {}, a = {}, b = {}; set CUBLASLT_LOG_LEVEL=2 to see why", show(p.d),
               show(p.a), show(p.b));
}

/// The operands of a product in forms that cuBLASLt reads.
struct Factors {
  Tensor a, b;
  Tensor scales_a = {}, scales_b = {};
  std::pair<ScaleForm, ScaleForm> forms = {};

  Product product(const Tensor& d) const {
    return {.d = d, .a = a, .b = b, .vector = {}, .scales_a = scales_a, .scales_b = scales_b, .forms = forms};
  }
};

/// Computes the product, then bias and activation in separate passes. Returns false if cuBLASLt has no algorithm.
bool run_apart(const GemmCall& call, const Factors& factors) {
  const DType operands = factors.a.dtype();
  const bool float8 = is_float8(operands);
  if (call.activation == Activation::relu && !float8) {
    gemm({.d = call.d, .a = factors.a, .b = factors.b, .bias = call.bias});
    unary(call.d, Unary::relu, call.d, 0, 0);
    return true;
  }
  const DType wide = operands == kDouble ? kDouble : kFloat;
  const Product plain = factors.product(new_tensor(call.d, wide));
  if (!multiply(plain)) {
    if (!float8) refuse(plain);
    return false;
  }
  finish(call.d, plain.d, spread_over_rows(call.bias, call.d), call.activation);
  return true;
}

/// Computes everything in one cuBLASLt call: a relu, and a bias whose values d's dtype can represent. False: not done.
bool run_fused(const GemmCall& call, const Factors& factors) {
  const DType operands = factors.a.dtype();
  const DType dtype = writes(operands, call.d.dtype()) ? call.d.dtype() : operands;
  const bool biased = call.bias.defined(), relu = call.activation == Activation::relu;
  if (biased && promote_types(call.bias.dtype(), dtype) != dtype) return false;
  Product p = factors.product(call.d);
  if (biased) {
    p.vector = call.bias.dtype() == dtype && is_vector(call.bias) ? call.bias : copied(call.bias, dtype);
  }
  p.extra = biased ? (relu ? GemmExtra::relu_bias : GemmExtra::bias) : relu ? GemmExtra::relu : GemmExtra::none;
  if (!is_writable(call.d, operands, biased)) p.d = new_tensor(call.d, dtype);
  const auto apart = [&] {
    if (!run_apart(call, factors)) kernels::multiply_float8(call, kBFloat16);
  };
  if (!(p.extra == GemmExtra::none ? multiply(p) : multiply(p, std::ref(apart)))) return false;
  if (!p.d.is_same(call.d)) copy(call.d, p.d);
  return true;
}

void accumulate(const GemmCall& call, const Tensor& a, const Tensor& b) {
  Product p{.d = call.d, .a = a, .b = b, .vector = {}, .accumulate = true};
  if (!is_writable(call.d, a.dtype(), false)) {
    p.d = copied(call.d, writes(a.dtype(), call.d.dtype()) ? call.d.dtype() : a.dtype());
  }
  if (!multiply(p)) refuse(p);
  if (!p.d.is_same(call.d)) copy(call.d, p.d);
}

/// Multiplies codes in cuBLASLt, which needs operands that follow the summed dimension in memory, sizes that are
/// multiples of 16, and scales in a form that the device multiplies. Returns false if it cannot. Source: the
/// documentation of cublasLtMatmul (CUDA 13.0).
bool run_float8(const GemmCall& call) {
  const Tensor &d = call.d, &a = call.a, &b = call.b;
  if (a.numel() == 0 || call.accumulate || (a.dtype() == kFloat8_e5m2 && b.dtype() == kFloat8_e5m2)) return false;
  const Float8Scales scales_b = kernels::transposed(call.scales_b);
  const auto form_a = scale_form(call.scales_a), form_b = scale_form(scales_b);
  const DeviceProperties device = get_device_properties(d.device().index());
  if (!form_a || !form_b || !multiplies_scaled(*form_a, *form_b, 10 * device.major + device.minor)) return false;
  const int64_t multiple = *form_a == ScaleForm::vec32 ? 32 : 16;  // of the summed dimension
  if (a.size(0) % 16 != 0 || a.size(1) % multiple != 0 || b.size(1) % 16 != 0) {
    warn_once(
        "a float8 product has a size that is not a multiple of 16 (MXFP8: a summed dimension that is not a multiple of "
        "32) and is computed in bf16, which is slower; pad the batch and the layers");
    return false;
  }
  const auto rows_of = [](const Tensor& x) {
    return x.is_contiguous() && alignment_of(x.raw_bytes()) >= 16 ? x : copied(x, x.dtype());
  };
  const Factors factors{.a = rows_of(a),
                        .b = transposed(rows_of(transposed(b))),
                        .scales_a = laid_out(call.scales_a.inverse, *form_a),
                        .scales_b = laid_out(scales_b.inverse, *form_b),
                        .forms = {*form_a, *form_b}};
  const bool in_place = d.is_contiguous() && alignment_of(d.raw_bytes()) >= 16;
  return (in_place && run_fused(call, factors)) || run_apart(call, factors);
}

}  // namespace

void gemm(const GemmCall& given) {
  GemmCall call = given;
  if (call.d.numel() == 0) return;
  const DeviceGuard on(call.d.device());
  if (is_float8(call.a.dtype())) {
    const DType wide = get_device_properties(call.d.device().index()).major >= 8 ? kBFloat16 : kHalf;
    if (!run_float8(call)) kernels::multiply_float8(call, wide);
    return;
  }
  if (call.accumulate) {  // accumulates only the product
    call.bias = {};
    call.activation = Activation::none;
  }
  if (call.a.numel() == 0) {
    if (call.accumulate) return;
    fill(call.d, 0);
    finish(call.d, call.d, spread_over_rows(call.bias, call.d), call.activation);
    return;
  }
  const DType dtype = call.a.dtype();
  const Tensor a = operand(call.a, dtype), b = operand(call.b, dtype);
  if (call.accumulate) return accumulate(call, a, b);
  if (!run_fused(call, {a, b})) run_apart(call, {a, b});
}

void linear_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x) {
  const Tensor& any = gweight.defined() ? gweight : gbias;
  if (!any.defined()) return;
  const DeviceGuard on(any.device());
  const auto apart = [&] {
    if (gweight.defined()) gemm({.d = gweight, .a = transposed(gy), .b = x, .bias = {}});
    if (gbias.defined()) {
      const Tensor row = make_view(gbias, {1, gbias.size(0)}, {0, gbias.stride(0)}, gbias.storage_offset());
      reduce(row, Reduction::sum, gy);
    }
  };
  // Both in one call if the library can write such gradients in place.
  if (gweight.defined() && gbias.defined() && gweight.numel() > 0 && gy.numel() > 0 &&
      gbias.dtype() == gweight.dtype() && is_vector(gbias) && is_writable(gweight, gy.dtype(), false)) {
    const Product both{.d = gweight,
                       .a = transposed(operand(gy, gy.dtype())),
                       .b = operand(x, gy.dtype()),
                       .vector = gbias,
                       .extra = GemmExtra::row_sums};
    if (multiply(both, std::ref(apart))) return;
  }
  apart();
}

}  // namespace tandem::cuda
