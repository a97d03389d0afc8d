#include "kernels/compute.h"

#include "tandem/base/check.h"

namespace tandem::kernels {
namespace {

const char* name(Unary op) {
  constexpr const char* names[] = {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA) #NAME,
#include "tandem/math/unary.inc"
  };
  return names[static_cast<int>(op)];
}
const char* name(Binary op) {
  constexpr const char* names[] = {
#define TANDEM_BINARY_IF(CONDITION, NAME, A, B, FORMULA) #NAME,
#include "tandem/math/binary.inc"
  };
  return names[static_cast<int>(op)];
}
const char* name(Ternary op) {
  constexpr const char* names[] = {
#define TANDEM_TERNARY_IF(CONDITION, NAME, FORMULA) #NAME,
#include "tandem/math/ternary.inc"
  };
  return names[static_cast<int>(op)];
}

template <class Op>
[[noreturn]] void refuse(Op op, DType compute) {
  TANDEM_THROW(NotImplementedError, "{} is not defined for {} numbers; convert to a floating dtype first", name(op),
               tandem::name(compute));
}

}  // namespace

void throw_undefined_formula(Unary op, DType compute) { refuse(op, compute); }
void throw_undefined_formula(Binary op, DType compute) { refuse(op, compute); }
void throw_undefined_formula(Ternary op, DType compute) { refuse(op, compute); }

}  // namespace tandem::kernels
