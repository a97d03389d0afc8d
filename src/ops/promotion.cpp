#include "tandem/ops/promotion.h"

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"

namespace tandem {
namespace {

/// The promoted dtype of one kind of operand; Bool with seen == false if there was none.
struct Category {
  bool seen = false;
  DType dtype = kBool;
  void add(DType t) {
    dtype = seen ? promote_types(dtype, t) : t;
    seen = true;
  }
};

/// `lower` counts only if its dtype is of a higher category than that of `higher`.
Category combine(Category higher, Category lower) {
  if (!higher.seen) return lower;
  if (!lower.seen || is_floating_point(higher.dtype)) return higher;
  if (higher.dtype == kBool || is_floating_point(lower.dtype)) return {true, promote_types(higher.dtype, lower.dtype)};
  return higher;
}

struct Operands {
  Category dimensioned, zero_dim, number;
  void add(const Tensor& x) { (x.dim() == 0 ? zero_dim : dimensioned).add(x.dtype()); }
  void add(Scalar s) { number.add(s.is_floating_point() ? get_default_dtype() : s.kind()); }
  DType result() const { return combine(dimensioned, combine(zero_dim, number)).dtype; }
};

}  // namespace

DType result_type(const Tensor& a, const Tensor& b) {
  const OpScope op("result_type");
  checks::defined("the first tensor", a);
  checks::defined("the second tensor", b);
  if (a.dtype() == b.dtype()) return a.dtype();
  Operands o;
  o.add(a);
  o.add(b);
  return o.result();
}

DType result_type(const Tensor& a, Scalar b) {
  const OpScope op("result_type");
  checks::defined("the tensor", a);
  Operands o;
  o.add(a);
  o.add(b);
  return o.result();
}

DType result_type(Scalar a, Scalar b) {
  Operands o;
  o.add(a);
  o.add(b);
  return o.result();
}

DType result_type(TensorList tensors) {
  const OpScope op("result_type");
  TANDEM_CHECK(!tensors.empty(), StateError, "the list of tensors is empty; give at least one");
  Operands o;
  for (size_t i = 0; i < tensors.size(); ++i) {
    checks::defined_at(i, tensors[i]);
    o.add(tensors[i]);
  }
  return o.result();
}

bool can_cast(DType from, DType to) {
  return is_floating_point(to) || (!is_floating_point(from) && (to != kBool || from == kBool));
}

}  // namespace tandem
