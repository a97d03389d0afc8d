#pragma once
// CustomFunction: an autograd::Function that goes with autocast. PyTorch's custom_fwd and custom_bwd in C++.
#include "tandem/autograd/function.h"

namespace tandem::amp {

/// Base of a Function for use under autocast, in one of two ways:
///
///   struct MyMM : amp::CustomFunction<MyMM> { ... };
///     forward runs under the caller's autocast, and backward, whenever it runs, under the same: device by device the
///     same dtype, policies and cache flag.
///   struct MyLoss : amp::CustomFunction<MyLoss, kFloat> { ... };
///     In an autocast region forward gets its inputs in f32 (or f16, bf16) and runs, as does backward, with autocast
///     off. Cast are floating tensors, f64 apart, on devices whose autocast is on, in containers too; all else is
///     passed as it is. Outside of regions nothing is cast.
///
/// A gradient comes back in the dtype of the input before the cast. A saved input stays connected to what it was cast
/// from, so double backward flows through it.
/// Source: PyTorch's custom_fwd(cast_inputs) and custom_bwd (torch/amp/autocast_mode.py). They name a device type; here
/// each tensor goes by its own device.
template <class T, DType... CastInputs>
requires(sizeof...(CastInputs) <= 1) struct CustomFunction {
  static constexpr bool casts_inputs = sizeof...(CastInputs) == 1;
  static_assert(((is_floating_point(CastInputs) && CastInputs != kDouble) && ...),
                "CustomFunction casts its inputs to f32, f16 or bf16");

  template <class... Args>
  static auto apply(Args&&... args) {
    autograd::FunctionCall::Amp amp{.keeps_autocast = true, .cast_inputs = {}};
    if constexpr (casts_inputs) amp.cast_inputs = {CastInputs...};
    return autograd::detail::call_function<T, casts_inputs>(amp, std::forward<Args>(args)...);
  }
};

}  // namespace tandem::amp
