#pragma once
// CustomFunction: an autograd::Function with defined behavior under autocast, like PyTorch's custom_fwd and custom_bwd.
#include "tandem/autograd/function.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Base of a Function for use under autocast. There are two variants:
///
///   struct MyMM : amp::CustomFunction<MyMM> { ... };
///     forward runs under the caller's autocast state, and so does backward, whenever it runs: the same state of each
///     device type, policies and cache flag.
///   struct MyLoss : amp::CustomFunction<MyLoss, kFloat> { ... };
///     In an autocast region, forward gets its inputs in f32 (or f16, bf16), and forward and backward run with
///     autocast off. Floating tensors except f64 are cast, in containers too, if autocast is on for their device
///     type; other arguments are passed unchanged. Outside regions nothing is cast.
///
/// The gradient of an input has the input's dtype before the cast. A saved cast input stays connected to the original
/// input, so double backward flows through it.
/// Source: PyTorch's custom_fwd(cast_inputs) and custom_bwd (torch/amp/autocast_mode.py). Those take a device type;
/// here the device type of each tensor decides.
template <class T, DType... CastInputs>
requires(sizeof...(CastInputs) <= 1) struct CustomFunction {
  static constexpr bool casts_inputs = sizeof...(CastInputs) == 1;
  static_assert(((is_differentiable(CastInputs) && CastInputs != kDouble) && ...),
                "CustomFunction casts its inputs to f32, f16 or bf16");

  /// Runs T::forward and records T::backward, as autograd::Function<T>::apply does, with the casts described above.
  template <class... Args>
  static auto apply(Args&&... args) {
    autograd::FunctionCall::Amp amp{.keeps_autocast = true, .cast_inputs = {}};
    if constexpr (casts_inputs) amp.cast_inputs = {CastInputs...};
    return autograd::detail::call_function<T, casts_inputs>(amp, std::forward<Args>(args)...);
  }
};

}  // namespace tandem::amp
#pragma GCC visibility pop
