// binary, ternary and where. Contract as in unary.cu, with two or three operands; alpha has the compute type.
#include "kernels/compute.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/kernels.h"
#include "tandem/math/ternary.h"

namespace tandem::cuda {
namespace {

/// Applies a formula of math/binary.h with its parameter to the operands' elements.
template <class Formula, class C>
struct Apply {
  C alpha;
  __device__ auto operator()(const C (&x)[3]) const { return Formula()(x[1], x[2], alpha); }
};

template <class Formula, class C>
void run(const Tensor& y, Binary op, const Tensor& a, const Tensor& b, C alpha) {
  if constexpr (requires(Formula f) { f(alpha, alpha, alpha); }) {
    constexpr bool predicate = std::is_same_v<decltype(Formula()(alpha, alpha, alpha)), bool>;
    visit<C, predicate, 3>({&y, &a, &b}, Apply<Formula, C>{alpha});
  } else {
    kernels::throw_undefined_formula(op, dtype_of<C>);
  }
}

template <class Formula, class C>
struct Apply3 {
  C alpha;
  __device__ C operator()(const C (&x)[4]) const { return Formula()(x[1], x[2], x[3], alpha); }
};

template <class Formula, class C>
void run(const Tensor& y, Ternary op, const Tensor& a, const Tensor& b, const Tensor& c, C alpha) {
  if constexpr (requires(Formula f) { f(alpha, alpha, alpha, alpha); }) {
    visit<C, false, 4>({&y, &a, &b, &c}, Apply3<Formula, C>{alpha});
  } else {
    kernels::throw_undefined_formula(op, dtype_of<C>);
  }
}

/// The condition is read in the compute type.
template <class C>
struct Choose {
  __device__ C operator()(const C (&x)[4]) const { return x[1] != C(0) ? x[2] : x[3]; }
};

}  // namespace

void binary(const Tensor& y, Binary op, const Tensor& a, const Tensor& b, double alpha) {
  const DType operands = promote_types(a.dtype(), b.dtype());
  const DType wide = is_predicate(op) ? operands : promote_types(operands, y.dtype());
  kernels::visit_compute(kernels::compute_type(wide), [&](auto zero) {
    using C = decltype(zero);
    const C calpha = kernels::parameter<C>(alpha);
    switch (op) {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) \
  case Binary::NAME:                                     \
    return run<math::binary::NAME, C>(y, op, a, b, calpha);
#include "tandem/math/binary.inc"
    }
  });
}

void ternary(const Tensor& y, Ternary op, const Tensor& a, const Tensor& b, const Tensor& c, double alpha) {
  const DType operands = promote_types(promote_types(a.dtype(), b.dtype()), c.dtype());
  kernels::visit_compute(kernels::compute_type(promote_types(operands, y.dtype())), [&](auto zero) {
    using C = decltype(zero);
    const C calpha = kernels::parameter<C>(alpha);
    switch (op) {
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA) \
  case Ternary::NAME:                               \
    return run<math::ternary::NAME, C>(y, op, a, b, c, calpha);
#include "tandem/math/ternary.inc"
    }
  });
}

void where(const Tensor& y, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const DType wide = promote_types(y.dtype(), promote_types(a.dtype(), b.dtype()));
  kernels::visit_compute(kernels::compute_type(wide), [&](auto zero) {
    using C = decltype(zero);
    visit<C, false, 4>({&y, &condition, &a, &b}, Choose<C>());
  });
}

}  // namespace tandem::cuda
