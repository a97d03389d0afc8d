#pragma once
// Replaces kernels/cuda/launch.h by preceding it on the include path: launch() runs kernels in the emulator, or from
// PTX. Device memory is host memory, so kernels work on CPU tensors.
#include <functional>
#include <tuple>
#include <utility>

#include "cuda_emulated/emulator.h"
#include "cuda_emulated/ptx/ptx_launch.h"
#include "kernels/cuda/launch_shape.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda {

template <class... P, class... A>
void launch(void (*kernel)(P...), const Launch& shape, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A));
  static_assert(parameter_bytes<P...>() <= kMostParameterBytes);
  const std::tuple<std::remove_cvref_t<P>...> values(static_cast<P>(std::forward<A>(arguments))...);
  const void* const address = reinterpret_cast<const void*>(kernel);
  emulated::check_launch(address, shape.grid, shape.block, shape.shared_bytes);
  std::function<void()> work;
  if (emulated::runs_ptx()) {
    work = emulated::ptx_work(address, shape.grid, shape.block, emulated::pack(values));
  } else {
    work = [kernel, shape, values] { emulated::run(shape.grid, shape.block, [&] { std::apply(kernel, values); }); };
  }
  emulated::submit(std::move(work));
}

}  // namespace tandem::cuda
