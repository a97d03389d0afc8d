#pragma once
// Autocast for ops that are composed of recorded ops. Internal.
#include <vector>

#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/apply.h"
#include "tandem/ops/convert.h"
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem::detail {

/// The thread's autocast region if it can cast x; else null.
inline const AutocastState* casting_region(const Tensor& x) {
  if (!x.defined() || !is_differentiable(x.dtype()) || x.dtype() == kDouble) return nullptr;
  const AutocastState& state = thread_state().autocast[static_cast<int>(x.device().type())];
  return state.enabled ? &state : nullptr;
}

/// Casts the operands as `cast` says for the autocast region of the thread, by recorded ops. `cast` is lower, f32 or
/// promote; any other policy returns them unchanged.
inline std::vector<Tensor> cast_operands(amp::Cast cast, TensorList operands) {
  std::vector<Tensor> result = operands.vec();
  std::optional<DType> widest;
  for (const Tensor& x : operands) {
    if (casting_region(x)) widest = widest ? promote_types(*widest, x.dtype()) : x.dtype();
  }
  for (Tensor& x : result) {
    const AutocastState* const state = casting_region(x);
    if (!state) continue;
    if (cast == amp::Cast::lower) x = to(x, state->dtype);
    if (cast == amp::Cast::f32) x = to(x, kFloat);
    if (cast == amp::Cast::promote) x = to(x, *widest);
  }
  return result;
}
template <FixedString Name>
std::vector<Tensor> cast_operands(const Op<Name>&, TensorList operands) {
  return cast_operands(amp::detail::current_policy(amp::policy_row(Name.text)), operands);
}

/// Casts the input of a composite op by the op's own policy, because the cast hook sees only the ops that it calls: to
/// f32 if that is the policy, as a PolicyGuard or amp::torch_cpu_policy() may set it.
inline Tensor cast_of_composite(const char* op, const Tensor& x) {
  if (amp::get_policy(op) != amp::Cast::f32) return x;
  return cast_operands(amp::Cast::f32, std::vector<Tensor>{x})[0];
}

}  // namespace tandem::detail
#pragma GCC visibility pop
