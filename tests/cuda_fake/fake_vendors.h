#pragma once
// cuBLASLt and cuDNN without a GPU: every call succeeds and is counted in Calls; nothing is computed.
#include <vector>

#include "kernels/cuda/blas_driver.h"
#include "kernels/cuda/dnn_driver.h"

namespace tandem::cuda::testing {

const BlasDriver& fake_blas_driver();
const DnnDriver& fake_dnn_driver();

/// What the libraries offer, and what they were asked.
struct Vendors {
  /// Milliseconds of cuBLASLt's algorithms, in the heuristic's order; below 0: it fails when it is run.
  std::vector<float> algorithms{1};
  float epilogue_time = 0;        ///< what bias, relu and bias gradient add to an algorithm's time
  bool relu_keeps_nan = false;    ///< in both libraries
  std::vector<float> engines{1};  ///< of cuDNN, in the heuristic's order
  bool mixes_dtypes = true;       ///< whether cuDNN has engines whose tensors differ in dtype

  /// A call of cublasLtMatmul.
  struct Product {
    size_t algorithm;
    void* d;
    float alpha, beta;  ///< of products with sums in f32
    uint32_t epilogue;
    const void* vector;  ///< of the epilogue
  };
  std::vector<Product> products;
  uint32_t reductions = 0;  ///< ways to add up a split k that the last search for an algorithm allowed
  /// A call of cudnnBackendExecute, by the tensors of its graph.
  struct Convolution {
    size_t engine;
    std::vector<std::vector<int64_t>> sizes;
    std::vector<cudnnDataType_t> dtypes;
  };
  std::vector<Convolution> convolutions;
};

/// Those of the fakes. A test that changes them puts `{}` back.
Vendors& vendors();

}  // namespace tandem::cuda::testing
