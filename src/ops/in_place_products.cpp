// In-place methods of products: the op without the underscore, with the result stored in self.
#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/products.h"
#include "tandem/ops/vector_norm.h"

namespace tandem {
namespace {

/// self = op(self), which must have self's sizes.
const Tensor& replace_by_product(const OpScope& op, const Tensor& self, ArrayRef<Tensor> operands,
                                 const std::function<Tensor(const Tensor&)>& product) {
  checks::defined("self", self);
  for (const Tensor& x : operands) checks::defined("an operand", x);
  const auto checked = [&](const Tensor& x) {
    Tensor y = product(x);
    TANDEM_CHECK(y.sizes() == self.sizes(), ShapeError, "self is {}, but the result is {}; self must have its sizes",
                 checks::show(self), checks::show(y));
    return y;
  };
  return apply_in_place(
      op, self, operands, [&](const Tensor& y) { backend(y).copy(y, checked(y)); }, checked);
}

}  // namespace

#define TANDEM_PRODUCT_IN_PLACE(NAME)                                                                \
  const Tensor& Tensor::NAME##_(const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) const { \
    const OpScope op(#NAME "_");                                                                     \
    const Tensor operands[] = {a, b};                                                                \
    return replace_by_product(op, *this, {operands, 2},                                              \
                              [&](const Tensor& x) { return tandem::NAME(x, a, b, beta, alpha); });  \
  }
TANDEM_PRODUCT_IN_PLACE(addmv)
TANDEM_PRODUCT_IN_PLACE(addr)
TANDEM_PRODUCT_IN_PLACE(addbmm)
TANDEM_PRODUCT_IN_PLACE(baddbmm)
#undef TANDEM_PRODUCT_IN_PLACE

const Tensor& Tensor::renorm_(Scalar p, int64_t dim, Scalar maxnorm) const {
  const OpScope op("renorm_");
  return replace_by_product(op, *this, {}, [&](const Tensor& x) { return tandem::renorm(x, p, dim, maxnorm); });
}

}  // namespace tandem
