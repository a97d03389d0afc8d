// The operators of Tensor, with tensors and numbers on either side.
#include "bridge.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/promotion.h"
#include "tandem/tensor/factories.h"

namespace tandem::python {
namespace {

/// A tensor that promotes with b as the number a does.
Tensor number_for(Scalar a, const Tensor& b) { return full({}, a, b.options().dtype(result_type(b, a))); }

/// An array that is compared with a tensor. Throws next_overload for what is never equal to a tensor, such as None.
Tensor array_from(nb::handle b) {
  if (nb::isinstance(b, nb::module_::import_("numpy").attr("ndarray"))) return tensor_from(b);
  if (PyNumber_Check(b.ptr())) throw nb::type_error("tensors are compared with real numbers of at most 64 bits");
  throw nb::next_overload();
}

}  // namespace

void bind_operators(nb::class_<Tensor>& t) {
  const nb::is_operator op;
#define TANDEM_OPERATOR(NAME, EXPRESSION)                                                           \
  t.def(                                                                                            \
      NAME, [](const Tensor& a, const Tensor& b) -> Tensor { return EXPRESSION; }, op, Unlocked()); \
  t.def(                                                                                            \
      NAME, [](const Tensor& a, Scalar b) -> Tensor { return EXPRESSION; }, op, Unlocked())
  TANDEM_OPERATOR("__add__", a.add(b));
  TANDEM_OPERATOR("__sub__", a.sub(b));
  TANDEM_OPERATOR("__mul__", a.mul(b));
  TANDEM_OPERATOR("__truediv__", a.div(b));
  TANDEM_OPERATOR("__floordiv__", a.floor_divide(b));
  TANDEM_OPERATOR("__mod__", a.remainder(b));
  TANDEM_OPERATOR("__pow__", a.pow(b));
  TANDEM_OPERATOR("__eq__", a.eq(b));
  TANDEM_OPERATOR("__ne__", a.ne(b));
  // Without these overloads, Python would compare the addresses of a tensor and an array, or an int beyond 64 bits.
  t.def(
      "__eq__", [](const Tensor& a, nb::handle b) { return a.eq(array_from(b)); }, op);
  t.def(
      "__ne__", [](const Tensor& a, nb::handle b) { return a.ne(array_from(b)); }, op);
  TANDEM_OPERATOR("__lt__", a.lt(b));
  TANDEM_OPERATOR("__le__", a.le(b));
  TANDEM_OPERATOR("__gt__", a.gt(b));
  TANDEM_OPERATOR("__ge__", a.ge(b));
  TANDEM_OPERATOR("__and__", a.bitwise_and(b));
  TANDEM_OPERATOR("__or__", a.bitwise_or(b));
  TANDEM_OPERATOR("__xor__", a.bitwise_xor(b));
  TANDEM_OPERATOR("__lshift__", bitwise_left_shift(a, b));
  TANDEM_OPERATOR("__rshift__", bitwise_right_shift(a, b));
#undef TANDEM_OPERATOR
  t.def(
      "__matmul__", [](const Tensor& a, const Tensor& b) { return a.matmul(b); }, op, Unlocked());
  t.def(
      "__rmatmul__", [](const Tensor& b, const Tensor& a) { return a.matmul(b); }, op, Unlocked());

  // A number on the left.
#define TANDEM_REFLECTED(NAME, EXPRESSION) \
  t.def(                                   \
      NAME, [](const Tensor& b, Scalar a) -> Tensor { return EXPRESSION; }, op, Unlocked())
  TANDEM_REFLECTED("__radd__", b.add(a));
  TANDEM_REFLECTED("__rsub__", rsub(b, a));
  TANDEM_REFLECTED("__rmul__", b.mul(a));
  TANDEM_REFLECTED("__rtruediv__", a / b);
  TANDEM_REFLECTED("__rfloordiv__", floor_divide(number_for(a, b), b));
  TANDEM_REFLECTED("__rmod__", remainder(a, b));
  TANDEM_REFLECTED("__rpow__", pow(a, b));
  TANDEM_REFLECTED("__rand__", b.bitwise_and(a));
  TANDEM_REFLECTED("__ror__", b.bitwise_or(a));
  TANDEM_REFLECTED("__rxor__", b.bitwise_xor(a));
  TANDEM_REFLECTED("__rlshift__", bitwise_left_shift(number_for(a, b), b));
  TANDEM_REFLECTED("__rrshift__", bitwise_right_shift(number_for(a, b), b));
#undef TANDEM_REFLECTED

#define TANDEM_UNARY_OPERATOR(NAME, EXPRESSION) \
  t.def(                                        \
      NAME, [](const Tensor& x) -> Tensor { return EXPRESSION; }, Unlocked())
  TANDEM_UNARY_OPERATOR("__neg__", x.neg());
  TANDEM_UNARY_OPERATOR("__pos__", x.positive());
  TANDEM_UNARY_OPERATOR("__abs__", x.abs());
  TANDEM_UNARY_OPERATOR("__invert__", x.bitwise_not());
#undef TANDEM_UNARY_OPERATOR

  // In place: the result is the same object. Other operands are errors, not NotImplemented, for which Python would bind
  // the name to the result of the operator that is not in place.
#define TANDEM_IN_PLACE(NAME, METHOD)                                                                               \
  t.def(                                                                                                            \
      NAME, [](Tensor& a, const Tensor& b) -> Tensor& { return a.METHOD(b), a; }, nb::rv_policy::none, Unlocked()); \
  t.def(                                                                                                            \
      NAME, [](Tensor& a, Scalar b) -> Tensor& { return a.METHOD(b), a; }, nb::rv_policy::none, Unlocked())
  TANDEM_IN_PLACE("__iadd__", add_);
  TANDEM_IN_PLACE("__isub__", sub_);
  TANDEM_IN_PLACE("__imul__", mul_);
  TANDEM_IN_PLACE("__itruediv__", div_);
  TANDEM_IN_PLACE("__ifloordiv__", floor_divide_);
  TANDEM_IN_PLACE("__imod__", remainder_);
  TANDEM_IN_PLACE("__ipow__", pow_);
  TANDEM_IN_PLACE("__iand__", bitwise_and_);
  TANDEM_IN_PLACE("__ior__", bitwise_or_);
  TANDEM_IN_PLACE("__ixor__", bitwise_xor_);
  TANDEM_IN_PLACE("__ilshift__", bitwise_left_shift_);
  TANDEM_IN_PLACE("__irshift__", bitwise_right_shift_);
#undef TANDEM_IN_PLACE
}

}  // namespace tandem::python
