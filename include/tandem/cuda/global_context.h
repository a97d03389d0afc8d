#pragma once
// globalContext: libtorch's object for the switches of cuda/math_mode.h.
#include <cstddef>

#include "tandem/cuda/device.h"
#include "tandem/cuda/math_mode.h"

#pragma GCC visibility push(default)
namespace tandem {

/// `at::globalContext().setBenchmarkCuDNN(true)` is `cuda::set_benchmark(true)`, and so on.
class Context {
 public:
  /// Each calls the function of cuda/math_mode.h or cuda/device.h that has the same meaning.
  bool hasCUDA() const { return cuda::is_available(); }
  bool benchmarkCuDNN() const { return cuda::benchmark(); }
  void setBenchmarkCuDNN(bool on) { cuda::set_benchmark(on); }
  bool deterministicCuDNN() const { return cuda::deterministic(); }
  void setDeterministicCuDNN(bool on) { cuda::set_deterministic(on); }
  bool deterministicAlgorithms() const { return cuda::deterministic(); }
  void setDeterministicAlgorithms(bool on, bool /*warn_only*/ = false) { cuda::set_deterministic(on); }
  bool allowTF32CuBLAS() const { return cuda::allow_tf32_matmul(); }
  void setAllowTF32CuBLAS(bool allow) { cuda::set_allow_tf32_matmul(allow); }
  bool allowTF32CuDNN() const { return cuda::allow_tf32_conv(); }
  void setAllowTF32CuDNN(bool allow) { cuda::set_allow_tf32_conv(allow); }
};

/// The only Context, which has no state of its own.
inline Context& globalContext() {
  static Context context;  // without state: the switches are in cuda/math_mode.h
  return context;
}

/// libtorch's name for cuda::device_count().
inline size_t getNumGPUs() { return static_cast<size_t>(cuda::device_count()); }

namespace cuda {
/// tandem's CUDA backend always has cuDNN.
inline bool cudnn_is_available() { return is_available(); }
}  // namespace cuda

}  // namespace tandem
#pragma GCC visibility pop
