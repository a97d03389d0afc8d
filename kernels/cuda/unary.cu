// unary: y = f(x; a, b). Contract: x is converted to the compute type (backend.h). Each element is computed there
// independently and rounded once to y's dtype. y may be x.
#include "kernels/compute.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/kernels.h"
#include "tandem/math/unary.h"

namespace tandem::cuda {
namespace {

/// Applies a formula of math/unary.h with its parameters to the operands' elements.
template <class Formula, class C>
struct Apply {
  C a, b;
  __device__ auto operator()(const C (&x)[2]) const { return Formula()(x[1], a, b); }
};

template <class Formula, class C>
void run(const Tensor& y, Unary op, const Tensor& x, C a, C b) {
  if constexpr (requires(Formula f) { f(a, a, b); }) {
    constexpr bool predicate = std::is_same_v<decltype(Formula()(a, a, b)), bool>;
    visit<C, predicate, 2>({&y, &x}, Apply<Formula, C>{a, b});
  } else {
    kernels::throw_undefined_formula(op, dtype_of<C>);
  }
}

}  // namespace

void unary(const Tensor& y, Unary op, const Tensor& x, double a, double b) {
  const DType wide = is_predicate(op) ? x.dtype() : promote_types(x.dtype(), y.dtype());
  kernels::visit_compute(kernels::compute_type(wide), [&](auto zero) {
    using C = decltype(zero);
    const C ca = kernels::parameter<C>(a), cb = kernels::parameter<C>(b);
    switch (op) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) \
  case Unary::NAME:                               \
    return run<math::unary::NAME, C>(y, op, x, ca, cb);
#include "tandem/math/unary.inc"
    }
  });
}

}  // namespace tandem::cuda
