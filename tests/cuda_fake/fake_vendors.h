#pragma once
// cuBLASLt and cuDNN without a GPU: calls succeed and are counted in Calls; nothing is computed.
#include <cstdint>
#include <set>
#include <vector>

#include "kernels/cuda/blas_driver.h"
#include "kernels/cuda/dnn_driver.h"

namespace tandem::cuda::testing {

const BlasDriver& fake_blas_driver();
const DnnDriver& fake_dnn_driver();

/// The capabilities of the libraries, and the calls they received.
struct Vendors {
  /// Milliseconds of cuBLASLt's algorithms, in the heuristic's order; an algorithm below 0 fails when it runs.
  std::vector<float> algorithms{1};
  float epilogue_time = 0;        ///< added to an algorithm's time by a bias, relu or bias gradient
  bool relu_keeps_nan = false;    ///< that of cuBLASLt
  std::vector<float> engines{1};  ///< the same of cuDNN's engines
  std::set<size_t> tensor_core_engines;
  bool mixes_dtypes = true;           ///< whether cuDNN has engines whose tensors differ in dtype
  std::vector<int64_t> workspaces{};  ///< bytes by algorithm or engine; 1 MiB for those not listed
  int64_t workspace_of(size_t i) const { return i < workspaces.size() ? workspaces[i] : int64_t{1} << 20; }

  /// A call of cublasLtMatmul.
  struct Product {
    size_t algorithm;
    void* d;
    float alpha, beta;  ///< for products with sums in f32
    uint32_t epilogue;
    const void* vector;  ///< the vector of the epilogue
  };
  std::vector<Product> products;
  uint32_t reductions = 0;  ///< split-k reductions allowed in the last search for an algorithm
  /// A call of cudnnBackendExecute: the tensors of its graph.
  struct Convolution {
    size_t engine;
    std::vector<std::vector<int64_t>> sizes;
    std::vector<cudnnDataType_t> dtypes;
  };
  std::vector<Convolution> convolutions;
};

/// The state of the fakes. A test that changes it must restore it with `{}`.
Vendors& vendors();

}  // namespace tandem::cuda::testing
