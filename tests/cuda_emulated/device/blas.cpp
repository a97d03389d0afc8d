// cuBLASLt on the emulated device: column-major products as its documentation defines them, computed by the CPU
// kernels. It rejects calls that fault on a GPU: operands less aligned than the heuristic was given, and vectors
// aligned to less than 16 bytes.
#include <cublasLt.h>

#include <cmath>

#include "cuda_emulated/device/device.h"
#include "cuda_emulated/device/vendor_memory.h"
#include "kernels/cuda/runtime.h"
#include "kernels/float8_gemm.h"
#include "tandem/math/reduce.h"

using namespace tandem;
using namespace tandem::cuda::emulated;

struct cublasLtContext {
  int device;
};
struct EmulatedLayout {
  DType dtype;
  int64_t rows, columns, ld;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};
struct EmulatedProduct {
  cublasComputeType_t compute;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t bias_dtype = -1;
  void *vector = nullptr, *scale_a = nullptr, *scale_b = nullptr;
  int32_t mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
};
struct EmulatedPreference {
  uint64_t most_workspace = 0;
  uint32_t reductions = 0, align_a = 256, align_b = 256, align_c = 256, align_d = 256;
};

namespace {

constexpr size_t kWorkspace = 1024;

DType type_of(cudaDataType t) {
  switch (t) {
    case CUDA_R_16F:
      return kHalf;
    case CUDA_R_16BF:
      return kBFloat16;
    case CUDA_R_64F:
      return kDouble;
    case CUDA_R_8F_E4M3:
      return kFloat8_e4m3fn;
    case CUDA_R_8F_E5M2:
      return kFloat8_e5m2;
    default:
      return kFloat;
  }
}

template <class Handle>
cublasStatus_t forget(Handle handle) {
  return delete handle, CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t read(T& to, const void* value, size_t bytes) {
  require(bytes == sizeof(T), "an attribute has the wrong size");
  return std::memcpy(&to, value, bytes), CUBLAS_STATUS_SUCCESS;
}

/// The transpose of op(x) as a row-major view: [batch, columns of op(x), rows of op(x)].
Tensor turned(const void* data, const EmulatedLayout& x, bool transpose) {
  Dims sizes = {x.columns, x.rows}, strides = {x.ld, 1};
  if (transpose) {
    std::swap(sizes[0], sizes[1]);
    std::swap(strides[0], strides[1]);
  }
  if (x.batch > 1) {
    sizes.insert(0, x.batch);
    strides.insert(0, x.batch_stride);
  }
  return device_tensor(data, sizes, strides, x.dtype);
}

/// The scales of a float8 operand with `outer` rows and sums over k, from the layouts of cuBLASLt's documentation.
Float8Scales scales_of(const void* data, int32_t mode, int64_t outer, int64_t k) {
  const int64_t blocks = (k + 127) / 128;
  switch (mode) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
      return {device_tensor(data, {outer, blocks}, {1, outer}, kFloat), 1, 128, false};
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
      return {device_tensor(data, {(outer + 127) / 128, blocks}, {(blocks + 3) / 4 * 4, 1}, kFloat), 128, 128, false};
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0: {
      const int64_t inner = (k + 31) / 32, padded = (inner + 3) / 4 * 4;
      const Tensor inverse = empty({outer, inner}, TensorOptions(kFloat8_e8m0fnu).device(kCPU));
      for (int64_t i = 0; i < outer; ++i) {
        for (int64_t l = 0; l < inner; ++l) {
          const int64_t tile = (l / 4 * 4 + i / 128 * padded) * 128;
          const int64_t in_tile = i % 128 % 32 * 16 + i % 128 / 32 * 4 + l % 4;
          static_cast<uint8_t*>(inverse.raw_bytes())[i * inner + l] = static_cast<const uint8_t*>(data)[tile + in_tile];
        }
      }
      return {inverse, 1, 32, true};
    }
    default:
      return {device_tensor(data, {1}, {1}, kFloat)};
  }
}

struct Call {
  EmulatedProduct what;
  EmulatedLayout a_layout, b_layout, d_layout;
  const void *a, *b;
  void* d;
  double alpha, beta;
};

bool is_biased(const EmulatedProduct& p) {
  return p.epilogue == CUBLASLT_EPILOGUE_BIAS || p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

/// The dtype that the bias is read in. With float8 operands and an f32 result there is no default, and only bf16 is
/// supported.
DType bias_dtype(const EmulatedProduct& p, const EmulatedLayout& a, const EmulatedLayout& d) {
  require(p.bias_dtype >= 0 || !is_float8(a.dtype) || d.dtype != kFloat, "the bias has no dtype");
  return p.bias_dtype >= 0 ? type_of(static_cast<cudaDataType>(p.bias_dtype)) : d.dtype;
}

void run(const Call& c) {
  const bool transpose_a = c.what.transpose_a == CUBLAS_OP_T, transpose_b = c.what.transpose_b == CUBLAS_OP_T;
  // The column-major D = op(A) op(B) is the row-major D' = op(B)' op(A)'.
  const Tensor d = turned(c.d, c.d_layout, false);
  Tensor left = turned(c.b, c.b_layout, transpose_b), right = turned(c.a, c.a_layout, transpose_a);
  if (c.what.compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
    left = rounded_to_tf32(left);
    right = rounded_to_tf32(right);
  }
  const Backend& cpu = backend(kCPU);
  const bool relu = c.what.epilogue == CUBLASLT_EPILOGUE_RELU || c.what.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  if (std::isnan(c.alpha)) return cpu.fill(d, std::nan(""));
  Tensor bias;
  if (is_biased(c.what)) {
    bias = device_tensor(c.what.vector, {c.d_layout.rows}, {1}, bias_dtype(c.what, c.a_layout, c.d_layout));
  }
  GemmCall call{.d = d,
                .a = left,
                .b = right,
                .bias = bias,
                .activation = relu ? Activation::relu : Activation::none,
                .accumulate = c.beta == 1};
  if (is_float8(left.dtype())) {
    call.scales_a = scales_of(c.what.scale_b, c.what.mode_b, left.size(0), left.size(1));
    call.scales_b = kernels::transposed(scales_of(c.what.scale_a, c.what.mode_a, right.size(1), right.size(0)));
  }
  cpu.gemm(call);
  if (c.what.epilogue == CUBLASLT_EPILOGUE_BGRADA) {
    cpu.reduce(device_tensor(c.what.vector, {1, c.d_layout.rows}, {0, 1}, c.d_layout.dtype), kernels::Reduction::sum,
               right);
  } else if (c.what.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
    cpu.reduce(device_tensor(c.what.vector, {c.d_layout.columns, 1}, {1, 0}, c.d_layout.dtype), kernels::Reduction::sum,
               left);
  }
}

/// Checks what cuBLASLt's documentation demands of products in float8.
void require_float8(const EmulatedProduct& p, const EmulatedLayout& a, const EmulatedLayout& b,
                    const EmulatedLayout& d) {
  require_sm89("products of float8");
  require(is_float8(b.dtype) && (a.dtype == kFloat8_e4m3fn || b.dtype == kFloat8_e4m3fn), "the dtypes do not fit");
  require(p.transpose_a == CUBLAS_OP_T && p.transpose_b == CUBLAS_OP_N, "A is not transposed, or B is");
  require(a.rows % 16 == 0 && a.columns % 16 == 0 && b.columns % 16 == 0, "a size is not a multiple of 16");
  require(a.ld % 16 == 0 && b.ld % 16 == 0 && d.ld % 16 == 0, "a leading dimension is not a multiple of 16");
  const bool scalar = p.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  const bool vec32 = p.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
  const uint64_t alignment = scalar ? 4 : 16;
  require(p.scale_a && p.scale_b && is_aligned(p.scale_a, alignment) && is_aligned(p.scale_b, alignment),
          "a scale is missing or not aligned");
  if (scalar || vec32) {
    require(p.mode_a == p.mode_b, "the scales have different modes");
  } else {
    require(p.mode_b == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ||
                (p.mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F &&
                 p.mode_b == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F),
            "the scales' modes do not fit");
  }
  if (!scalar) require_float8_blocks(vec32);
  require(p.epilogue <= CUBLASLT_EPILOGUE_RELU_BIAS, "float8 with row sums");
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t) { return "a status of the emulated device"; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return *handle = new cublasLtContext{cuda::current_device()}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType dtype, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
  require(ld >= static_cast<int64_t>(rows), "columns overlap");
  if (dtype == CUDA_R_16BF) require_sm80("matrices of bf16");
  *layout = new EmulatedLayout{type_of(dtype), static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return forget(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t name,
                                                const void* value, size_t bytes) {
  return name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? read(layout->batch, value, bytes)
                                                    : read(layout->batch_stride, value, bytes);
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute, cudaDataType) {
  return *product = new EmulatedProduct{compute}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) { return forget(product); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name,
                                              const void* value, size_t bytes) {
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return read(product->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return read(product->transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return read(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return read(product->bias_dtype, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return read(product->scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return read(product->scale_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return read(product->mode_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return read(product->mode_b, value, bytes);
    default:
      return read(product->vector, value, bytes);
  }
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return *preference = new EmulatedPreference, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return forget(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name, const void* value,
                                                    size_t bytes) {
  switch (name) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return read(preference->most_workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return read(preference->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return read(preference->align_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return read(preference->align_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return read(preference->align_c, value, bytes);
    default:
      return read(preference->align_d, value, bytes);
  }
}

/// Returns two algorithms for every product, which store the requested alignments and the device.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
                                              int wanted, cublasLtMatmulHeuristicResult_t* results, int* count) {
  require(preference->most_workspace >= kWorkspace, "the workspace limit is too small");
  if (is_biased(*product) && is_float8(a->dtype) && d->dtype == kFloat && bias_dtype(*product, *a, *d) != kBFloat16) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  *count = std::min(wanted, 2);
  for (int i = 0; i < *count; ++i) {
    results[i] = {{{preference->align_a, preference->align_b, preference->align_c, preference->align_d,
                    static_cast<uint64_t>(handle->device)}},
                  kWorkspace,
                  CUBLAS_STATUS_SUCCESS};
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t bytes, cudaStream_t stream) {
  require(c == d && c_layout == d_layout, "C differs from D");
  if (is_float8(a_layout->dtype)) {
    require_float8(*product, *a_layout, *b_layout, *d_layout);
    require(is_aligned(a, 16) && is_aligned(b, 16) && is_aligned(d, 16), "an operand of float8 is not aligned to 16");
    ++counts().float8_products[product->mode_a];
  }
  require(is_aligned(a, algorithm->data[0]) && is_aligned(b, algorithm->data[1]) && is_aligned(d, algorithm->data[3]),
          "an operand is less aligned than declared");
  require(product->epilogue < CUBLASLT_EPILOGUE_BIAS || is_aligned(product->vector, 16),
          "a vector is aligned to less than 16 bytes");
  require(bytes == kWorkspace && is_aligned(workspace, 256), "the workspace differs from the requested one");
  require(stream == cuda::current_handle(), "the stream is not the current one");
  require(handle->device == cuda::current_device() && algorithm->data[4] == static_cast<uint64_t>(handle->device),
          "the handle or the algorithm belongs to another device");
  const auto scalar = [&](const void* value) {
    if (product->compute == CUBLAS_COMPUTE_64F) return *static_cast<const double*>(value);
    return static_cast<double>(*static_cast<const float*>(value));
  };
  const Call call{*product, *a_layout, *b_layout, *d_layout, a, b, d, scalar(alpha), scalar(beta)};
  require(std::isnan(call.alpha) || call.alpha == 1, "alpha is neither 1 nor NaN");
  require(call.beta == 0 || call.beta == 1, "beta is neither 0 nor 1");
  submit([call, workspace] {
    scribble(workspace, kWorkspace);
    run(call);
  });
  return CUBLAS_STATUS_SUCCESS;
}
