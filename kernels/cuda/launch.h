#pragma once
// launch: starts a kernel on the current stream through the Driver table and checks the result. Arguments are converted
// to the kernel's parameter types. The grid must not be empty.
#include <tuple>
#include <utility>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch_shape.h"
#include "kernels/cuda/runtime.h"

namespace tandem::cuda {

void launch_raw(const void* kernel, const Launch& shape, void** arguments);

/// launch(kernel, shape, arguments...)
template <class... P, class... A>
void launch(void (*kernel)(P...), const Launch& shape, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A));
  static_assert(parameter_bytes<P...>() <= kMostParameterBytes);
  std::tuple<std::remove_cv_t<P>...> values(static_cast<P>(std::forward<A>(arguments))...);
  std::apply(
      [&](auto&... v) {
        void* pointers[] = {static_cast<void*>(&v)..., nullptr};
        launch_raw(reinterpret_cast<const void*>(kernel), shape, pointers);
      },
      values);
}

}  // namespace tandem::cuda
