#pragma once
// globalContext: libtorch's object for the switches of cuda/math_mode.h.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tandem/base/error.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/random.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The precision of products of f32 matrices: HIGHEST computes in f32, HIGH and MEDIUM may use TF32.
enum class Float32MatmulPrecision : uint8_t { HIGHEST, HIGH, MEDIUM };

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
  bool hasCuDNN() const { return cuda::is_available(); }
  bool userEnabledCuDNN() const { return cuda::is_available(); }
  const Generator& defaultGenerator(Device /*device*/) const { return default_generator(); }
  /// "highest" computes products of f32 matrices in f32; "high" and "medium" may use TF32. Throws StateError for other
  /// words.
  Float32MatmulPrecision float32MatmulPrecision() const {
    return cuda::allow_tf32_matmul() ? Float32MatmulPrecision::HIGH : Float32MatmulPrecision::HIGHEST;
  }
  void setFloat32MatmulPrecision(const std::string& precision) {
    if (precision != "highest" && precision != "high" && precision != "medium") {
      throw StateError("setFloat32MatmulPrecision", "'" + precision + "' is no precision; use highest, high or medium");
    }
    cuda::set_allow_tf32_matmul(precision != "highest");
  }
  void setFloat32MatmulPrecision(Float32MatmulPrecision precision) {
    cuda::set_allow_tf32_matmul(precision != Float32MatmulPrecision::HIGHEST);
  }
  /// These have no effect. tandem uses the libraries that it was built with, holds sums of f16 and bf16 products in
  /// f32, and chooses the algorithm of attention by the inputs.
  void setUserEnabledCuDNN(bool /*on*/) {}
  void setBenchmarkLimitCuDNN(int /*tries*/) {}
  void setDeterministicFillUninitializedMemory(bool /*on*/) {}
  void setUserEnabledMkldnn(bool /*on*/) {}
  void setAllowFP16ReductionCuBLAS(bool /*allow*/) {}
  void setAllowBF16ReductionCuBLAS(bool /*allow*/) {}
  void setSDPUseFlash(bool /*on*/) {}
  void setSDPUseMemEfficient(bool /*on*/) {}
  void setSDPUseMath(bool /*on*/) {}
  void setSDPUseCuDNN(bool /*on*/) {}
  void lazyInitCUDA() {}
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
