#include "kernels/cuda/gemm_plan.h"

#include <map>
#include <memory>
#include <mutex>

#include "kernels/cuda/blas_driver.h"
#include "kernels/cuda/plan_cache.h"
#include "kernels/cuda/runtime.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPlans = 4096;

cudaDataType_t data_type(DType t) {
  switch (t) {
    case kHalf:
      return CUDA_R_16F;
    case kBFloat16:
      return CUDA_R_16BF;
    case kDouble:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

cublasLtEpilogue_t epilogue(const GemmKey& key) {
  switch (key.extra) {
    case GemmExtra::none:
      break;
    case GemmExtra::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case GemmExtra::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case GemmExtra::relu_bias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case GemmExtra::row_sums:
      return key.sums_a ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// One handle for each device, safe on all threads, kept for the life of the process.
cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static auto* const handles = new std::map<int, cublasLtHandle_t>;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = (*handles)[device];
  if (!handle) TANDEM_BLAS("none", cublasLtCreate, &handle);
  return handle;
}

/// Bytes that an algorithm may use beside the operands: what NVIDIA recommends for cuBLAS.
uint64_t most_workspace(int device) { return uint64_t{get_device_properties(device).major >= 9 ? 32u : 4u} << 20; }

/// Descriptors of one product. Destroyed through the table, whose errors do not matter there.
class Plan {
 public:
  Plan(const GemmKey& key, const void* vector);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool found() const { return found_; }
  void run(const GemmKey& key, void* d, const void* a, const void* b, const void* vector) const;

 private:
  void set_up(const GemmKey& key, const void* vector);
  void make_layout(cublasLtMatrixLayout_t& layout, const GemmKey& key, DType dtype, int64_t rows, int64_t columns,
                   int64_t ld, int64_t stride);
  void find_algorithm(const GemmKey& key);
  void destroy() noexcept;

  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspace_bytes_ = 0;
  bool found_ = false;
};

template <class T>
void set(const GemmKey& key, cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  TANDEM_BLAS(to_string(key), cublasLtMatmulDescSetAttribute, operation, attribute, &value, sizeof(value));
}

Plan::Plan(const GemmKey& key, const void* vector) : handle_(handle_of(key.device)) {
  try {
    set_up(key, vector);
  } catch (...) {
    destroy();
    throw;
  }
}

Plan::~Plan() { destroy(); }

void Plan::destroy() noexcept {
  const BlasDriver& blas = blas_driver();
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_}) {
    if (layout) blas.cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation_) blas.cublasLtMatmulDescDestroy(operation_);
}

void Plan::set_up(const GemmKey& key, const void* vector) {
  const bool f64 = key.operands == kDouble;
  const cublasComputeType_t compute = f64        ? CUBLAS_COMPUTE_64F
                                      : key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F;
  TANDEM_BLAS(to_string(key), cublasLtMatmulDescCreate, &operation_, compute, f64 ? CUDA_R_64F : CUDA_R_32F);
  set<int32_t>(key, operation_, CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<int32_t>(key, operation_, CUBLASLT_MATMUL_DESC_TRANSB, key.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<uint32_t>(key, operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(key));
  // The heuristic reads the vector's alignment from the pointer.
  if (vector) set(key, operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  make_layout(a_, key, key.operands, key.transpose_a ? key.k : key.m, key.transpose_a ? key.m : key.k, key.lda,
              key.stride_a);
  make_layout(b_, key, key.operands, key.transpose_b ? key.n : key.k, key.transpose_b ? key.k : key.n, key.ldb,
              key.stride_b);
  make_layout(d_, key, key.result, key.m, key.n, key.ldd, key.stride_d);
  find_algorithm(key);
}

void Plan::make_layout(cublasLtMatrixLayout_t& layout, const GemmKey& key, DType dtype, int64_t rows, int64_t columns,
                       int64_t ld, int64_t stride) {
  TANDEM_BLAS(to_string(key), cublasLtMatrixLayoutCreate, &layout, data_type(dtype), static_cast<uint64_t>(rows),
              static_cast<uint64_t>(columns), ld);
  if (key.batch == 1) return;
  const int32_t batch = key.batch;
  TANDEM_BLAS(to_string(key), cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
              sizeof(batch));
  TANDEM_BLAS(to_string(key), cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
              &stride, sizeof(stride));
}

void Plan::find_algorithm(const GemmKey& key) {
  cublasLtMatmulPreference_t made = nullptr;
  TANDEM_BLAS(to_string(key), cublasLtMatmulPreferenceCreate, &made);
  const auto destroy_preference = [](cublasLtMatmulPreference_t p) {
    blas_driver().cublasLtMatmulPreferenceDestroy(p);
  };
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(destroy_preference)> preference(
      made, destroy_preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    TANDEM_BLAS(to_string(key), cublasLtMatmulPreferenceSetAttribute, made, attribute, &value, sizeof(value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace(key.device));
  // Partial sums of a split k stay in the compute type: no f16 in between, and the order of the sums is fixed.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{key.align_a});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t{key.align_b});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t{key.align_d});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t{key.align_d});

  cublasLtMatmulHeuristicResult_t result{};
  int count = 0;
  const cublasStatus_t status =
      blas_driver().cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, d_, d_, made, 1, &result, &count);
  const bool fused = key.extra != GemmExtra::none;  // then there is another way
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (fused && status == CUBLAS_STATUS_INVALID_VALUE)) return;
  if (status != CUBLAS_STATUS_SUCCESS) throw_blas_error("cublasLtMatmulAlgoGetHeuristic", status, to_string(key));
  if (count == 0 || result.state != CUBLAS_STATUS_SUCCESS) return;
  algorithm_ = result.algo;
  workspace_bytes_ = result.workspaceSize;
  found_ = true;
}

void Plan::run(const GemmKey& key, void* d, const void* a, const void* b, const void* vector) const {
  if (vector) set(key, operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  // From the stream-ordered allocator, so freeing it right after the call is safe.
  Tensor workspace;
  if (workspace_bytes_ > 0) {
    workspace = empty({static_cast<int64_t>(workspace_bytes_)}, TensorOptions(kByte).device(Device(kCUDA, key.device)));
  }
  const float one = 1, accumulate = key.accumulate ? 1 : 0;
  const double one_f64 = 1, accumulate_f64 = accumulate;
  const bool f64 = key.operands == kDouble;
  const cudaStream_t stream = current_handle();
  TANDEM_BLAS(to_string(key), cublasLtMatmul, handle_, operation_, f64 ? static_cast<const void*>(&one_f64) : &one, a,
              a_, b, b_, f64 ? static_cast<const void*>(&accumulate_f64) : &accumulate, d, d_, d, d_, &algorithm_,
              workspace.defined() ? workspace.raw_bytes() : nullptr, workspace_bytes_, stream);
  if (is_synchronous()) TANDEM_CUDA(cudaStreamSynchronize, stream);
}

}  // namespace

bool multiply(const Product& product) {
  const std::optional<Matrices> d = as_matrices(product.d.sizes(), product.d.strides()),
                                a = as_matrices(product.a.sizes(), product.a.strides()),
                                b = as_matrices(product.b.sizes(), product.b.strides());
  if (!d || !a || !b) return false;
  bool swapped = false;
  std::optional<GemmKey> key = gemm_key(*d, *a, *b, product.extra, swapped);
  if (!key) return false;
  const void* left = product.a.raw_bytes();
  const void* right = product.b.raw_bytes();
  if (swapped) std::swap(left, right);
  void* const result = product.d.raw_bytes();
  const void* const vector = product.vector.defined() ? product.vector.raw_bytes() : nullptr;
  key->device = index_of(product.d.device());
  key->align_a = alignment_of(left);
  key->align_b = alignment_of(right);
  key->align_d = alignment_of(result);
  key->align_vector = vector ? alignment_of(vector) : uint16_t{0};
  key->operands = product.a.dtype();
  key->result = product.d.dtype();
  key->accumulate = product.accumulate;
  key->tf32 = key->operands == kFloat && allow_tf32_matmul();

  static thread_local PlanCache<GemmKey, std::unique_ptr<Plan>> plans(kPlans);
  const Plan& plan = *plans.find_or_make(*key, [&] { return std::make_unique<Plan>(*key, vector); });
  if (plan.found()) plan.run(*key, result, left, right, vector);
  return plan.found();
}

}  // namespace tandem::cuda
