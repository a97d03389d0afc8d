// Matrix products and convolutions of the emulated device: the CPU's kernels, on the device's memory, given to the
// current stream like any launch.
#include <functional>
#include <utility>

#include "cuda_emulated/emulator.h"
#include "kernels/cuda/kernels.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// The same memory, as the CPU's kernels know it.
Tensor on_cpu(const Tensor& t) {
  if (!t.defined()) return t;
  return from_blob(t.raw_bytes(), t.sizes(), t.strides(), std::function<void(void*)>(), TensorOptions(t.dtype()));
}

/// kernel(arguments...) by the CPU, tensors among the arguments being the device's.
template <class Kernel, class... A>
void give(const Kernel& kernel, const A&... arguments) {
  const auto convert = []<class T>(const T& argument) {
    if constexpr (std::is_same_v<T, Tensor>) {
      return on_cpu(argument);
    } else {
      return argument;
    }
  };
  emulated::submit([kernel, ... own = convert(arguments)] { kernel(own...); });
}

}  // namespace

void gemm(const GemmCall& call) {
  GemmCall own = call;
  for (Tensor* t : {&own.d, &own.a, &own.b, &own.bias}) *t = on_cpu(*t);
  give(cpu::backend().gemm, own);
}
void linear_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x) {
  give(cpu::backend().linear_backward_weight, gweight, gbias, gy, x);
}
void conv2d(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
            Activation activation) {
  give(cpu::backend().conv2d, y, x, weight, bias, p, activation);
}
void conv2d_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p) {
  give(cpu::backend().conv2d_backward_input, gx, gy, weight, p);
}
void conv2d_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
                            const Conv2dParams& p) {
  give(cpu::backend().conv2d_backward_weight, gweight, gbias, gy, x, p);
}

}  // namespace tandem::cuda
