#include "kernels/cuda/gemm_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/cuda/blas_driver.h"
#include "kernels/cuda/choice.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/plan_cache.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/of_thread.h"
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
    case kFloat8_e4m3fn:
      return CUDA_R_8F_E4M3;
    case kFloat8_e5m2:
      return CUDA_R_8F_E5M2;
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

/// One handle per device, thread-safe, kept for the lifetime of the process.
cublasLtHandle_t handle_of(int device) {
  static std::mutex mutex;
  static auto* const handles = new std::map<int, cublasLtHandle_t>;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = (*handles)[device];
  if (!handle) TANDEM_BLAS("none", cublasLtCreate, &handle);
  return handle;
}

/// Maximum workspace of an algorithm in bytes: NVIDIA's recommendation for cuBLAS.
uint64_t most_workspace(int device) { return uint64_t{get_device_properties(device).major >= 9 ? 32u : 4u} << 20; }

struct Algorithm {
  cublasLtMatmulAlgo_t algorithm;
  int64_t workspace_bytes;
};

/// The operands of a product in the BLAS's order.
struct Operands {
  Tensor d;
  const void *a, *b, *vector;
  const void *scale_a, *scale_b;  ///< null except in float8
};

const void* address_of(const Tensor& x) { return x.defined() ? x.raw_bytes() : nullptr; }

/// The descriptors of one product and the algorithm chosen for it. Destroyed through the table; errors of the
/// destruction are ignored.
class Plan {
 public:
  /// The heuristic sees the addresses of the first call.
  Plan(const GemmKey& key, const Operands& first);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Returns false if there is no algorithm or `apart` is to be used instead.
  bool run(const Operands& x, const std::function<void()>& apart);

 private:
  struct Ways;

  void set_up(const Operands& first);
  void set_addresses(const Operands& x) const;
  void set_scale_forms();
  void make_layout(cublasLtMatrixLayout_t& layout, DType dtype, int64_t rows, int64_t columns, int64_t ld,
                   int64_t stride);
  void destroy() noexcept;
  std::vector<Algorithm> proposals(size_t most) const;
  Tensor scratch_like(const Tensor& d) const;
  bool keeps_nan(const Algorithm& algorithm, const Operands& x) const;
  void execute(const Algorithm& algorithm, const Operands& x, double alpha = 1) const;

  GemmKey key_;
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  bool knows_scales_ = true;
  Choice<Algorithm> choice_;
};

template <class T>
void set(const GemmKey& key, cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  TANDEM_BLAS(to_string(key), cublasLtMatmulDescSetAttribute, operation, attribute, &value, sizeof(value));
}

Plan::Plan(const GemmKey& key, const Operands& first) : key_(key), handle_(handle_of(key.device)) {
  try {
    set_up(first);
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

void Plan::set_addresses(const Operands& x) const {
  if (x.vector) set(key_, operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, x.vector);
  if (x.scale_a) set(key_, operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.scale_a);
  if (x.scale_b) set(key_, operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x.scale_b);
}

void Plan::set_scale_forms() {
  if (key_.scales_a == ScaleForm::tensor) return;
#if !defined(CUBLAS_VERSION) || CUBLAS_VERSION >= 120900  // multiplies_scaled() excludes older ones
  const auto mode = [](ScaleForm form) -> int32_t {
    if (form == ScaleForm::vec32) return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    return form == ScaleForm::vec128 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                                     : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  };
  // A library that is older than the headers does not know these attributes.
  const auto is_set = [&](cublasLtMatmulDescAttributes_t attribute, int32_t value) {
    return blas_driver().cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)) ==
           CUBLAS_STATUS_SUCCESS;
  };
  knows_scales_ = is_set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode(key_.scales_a)) &&
                  is_set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode(key_.scales_b));
#endif
}

void Plan::set_up(const Operands& first) {
  const bool f64 = key_.operands == kDouble;
  const cublasComputeType_t compute = f64         ? CUBLAS_COMPUTE_64F
                                      : key_.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                  : CUBLAS_COMPUTE_32F;
  TANDEM_BLAS(to_string(key_), cublasLtMatmulDescCreate, &operation_, compute, f64 ? CUDA_R_64F : CUDA_R_32F);
  set<int32_t>(key_, operation_, CUBLASLT_MATMUL_DESC_TRANSA, key_.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<int32_t>(key_, operation_, CUBLASLT_MATMUL_DESC_TRANSB, key_.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<uint32_t>(key_, operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(key_));
  // The default is the result's dtype except for float8 operands with an f32 result.
  if (has_bias(key_.extra)) set<int32_t>(key_, operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(key_.result));
  set_scale_forms();
  set_addresses(first);
  make_layout(a_, key_.operands, key_.transpose_a ? key_.k : key_.m, key_.transpose_a ? key_.m : key_.k, key_.lda,
              key_.stride_a);
  make_layout(b_, key_.operands_b, key_.transpose_b ? key_.n : key_.k, key_.transpose_b ? key_.k : key_.n, key_.ldb,
              key_.stride_b);
  make_layout(d_, key_.result, key_.m, key_.n, key_.ldd, key_.stride_d);
}

void Plan::make_layout(cublasLtMatrixLayout_t& layout, DType dtype, int64_t rows, int64_t columns, int64_t ld,
                       int64_t stride) {
  TANDEM_BLAS(to_string(key_), cublasLtMatrixLayoutCreate, &layout, data_type(dtype), static_cast<uint64_t>(rows),
              static_cast<uint64_t>(columns), ld);
  if (key_.batch == 1) return;
  const int32_t batch = key_.batch;
  TANDEM_BLAS(to_string(key_), cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
              sizeof(batch));
  TANDEM_BLAS(to_string(key_), cublasLtMatrixLayoutSetAttribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
              &stride, sizeof(stride));
}

/// The heuristic's proposals, best first.
std::vector<Algorithm> Plan::proposals(size_t most) const {
  if (!knows_scales_) return {};
  cublasLtMatmulPreference_t made = nullptr;
  TANDEM_BLAS(to_string(key_), cublasLtMatmulPreferenceCreate, &made);
  const auto destroy_preference = [](cublasLtMatmulPreference_t p) {
    blas_driver().cublasLtMatmulPreferenceDestroy(p);
  };
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, decltype(destroy_preference)> preference(
      made, destroy_preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    TANDEM_BLAS(to_string(key_), cublasLtMatmulPreferenceSetAttribute, made, attribute, &value, sizeof(value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace(key_.device));
  // Partial sums of a split k stay in the compute type: no f16 intermediates, and a fixed order of sums. With a bias
  // even their total may be rounded to 16 bits before the bias is added, so k is not split.
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE;
  if (!has_bias(key_.extra) || !is_reduced_floating_point(key_.result)) {
    reductions |= CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  }
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t{key_.align_a});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t{key_.align_b});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t{key_.align_d});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t{key_.align_d});

  constexpr size_t kMost = 16;
  cublasLtMatmulHeuristicResult_t results[kMost] = {};
  const auto wanted = static_cast<int>(std::min(most, kMost));
  int count = 0;
  const cublasStatus_t status =
      blas_driver().cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, d_, d_, made, wanted, results, &count);
  // Fused and scaled products have alternatives.
  const bool optional = key_.extra != GemmExtra::none || key_.scales_a != ScaleForm::tensor;
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (optional && status == CUBLAS_STATUS_INVALID_VALUE)) return {};
  if (status != CUBLAS_STATUS_SUCCESS) throw_blas_error("cublasLtMatmulAlgoGetHeuristic", status, to_string(key_));
  std::vector<Algorithm> algorithms;
  for (const cublasLtMatmulHeuristicResult_t& r : std::span(results).first(static_cast<size_t>(count))) {
    if (r.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back({r.algo, static_cast<int64_t>(r.workspaceSize)});
  }
  return algorithms;
}

/// Whether a fused ReLU keeps NaN is undocumented. Checks the first values of relu(NaN a b), which must be NaN whatever
/// a and b are. Writes d and waits for the device.
bool Plan::keeps_nan(const Algorithm& algorithm, const Operands& x) const {
  execute(algorithm, x, std::nan(""));
  const int64_t count = std::min<int64_t>(key_.m, 32);
  const Tensor host = empty({count}, TensorOptions(key_.result).device(kCPU)), values = empty_like(host, kDouble);
  copy(host, make_view(x.d, {count}, {1}, x.d.storage_offset()));
  backend(kCPU).copy(values, host);
  return std::all_of(values.raw<double>(), values.raw<double>() + count, [](double v) { return std::isnan(v); });
}

/// A zero-filled tensor with the layout and alignment of d.
Tensor Plan::scratch_like(const Tensor& d) const {
  const auto size = static_cast<int64_t>(element_size(key_.result)), offset = key_.align_d % 256 / size;
  const Tensor scratch = empty({offset + span_of_d(key_)}, d.options());
  fill(scratch, 0);
  return make_view(scratch, d.sizes(), d.strides(), offset);
}

struct Plan::Ways {
  const Plan& plan;
  const Operands& x;
  const std::function<void()>& apart;

  bool has_relu() const { return cuda::has_relu(plan.key_.extra); }
  bool has_alternative() const { return static_cast<bool>(apart); }
  /// Nothing can be tried out during a capture.
  bool can_decide() const { return !has_relu() || !is_capturing(); }
  std::vector<Algorithm> find(size_t most) const {
    std::vector<Algorithm> algorithms = plan.proposals(most);
    if (has_relu()) std::erase_if(algorithms, [&](const Algorithm& a) { return !plan.keeps_nan(a, x); });
    return algorithms;
  }
  void run(const Algorithm& algorithm) const { plan.execute(algorithm, x); }
  std::optional<size_t> fastest(const std::vector<Algorithm>& algorithms) const {
    Operands trial = x;
    if (plan.key_.accumulate) {  // d is read: trials write to scratch memory with d's layout, so d is written once
      try {
        trial.d = plan.scratch_like(x.d);
      } catch (const OutOfMemoryError&) {
        return std::nullopt;  // the product itself needs no scratch memory
      }
    }
    return fastest_of(algorithms.size() + (apart ? 1 : 0),
                      [&](size_t i) { i < algorithms.size() ? plan.execute(algorithms[i], trial) : apart(); });
  }
};

bool Plan::run(const Operands& x, const std::function<void()>& apart) {
  return choice_.run(Ways{*this, x, apart}, autotune());
}

void Plan::execute(const Algorithm& algorithm, const Operands& x, double alpha) const {
  set_addresses(x);
  // From the stream-ordered allocator, so freeing it right after the call is safe.
  Tensor workspace;
  const int64_t bytes = algorithm.workspace_bytes;
  if (bytes > 0) workspace = empty({bytes}, TensorOptions(kByte).device(Device(kCUDA, key_.device)));
  const double beta = key_.accumulate ? 1 : 0;
  const float alpha_f32 = static_cast<float>(alpha), beta_f32 = static_cast<float>(beta);
  const bool f64 = key_.operands == kDouble;  // alpha and beta have the dtype of the sums
  const cudaStream_t stream = current_handle();
  void* const d = x.d.raw_bytes();
  TANDEM_BLAS(to_string(key_), cublasLtMatmul, handle_, operation_, f64 ? static_cast<const void*>(&alpha) : &alpha_f32,
              x.a, a_, x.b, b_, f64 ? static_cast<const void*>(&beta) : &beta_f32, d, d_, d, d_, &algorithm.algorithm,
              bytes > 0 ? workspace.raw_bytes() : nullptr, static_cast<size_t>(bytes), stream);
  if (is_synchronous()) TANDEM_CUDA(cudaStreamSynchronize, stream);
}

}  // namespace

bool multiply(const Product& product, const std::function<void()>& apart) {
  check_multiplies(product.a.dtype(), product.d.device());
  const std::optional<Matrices> d = as_matrices(product.d.sizes(), product.d.strides()),
                                a = as_matrices(product.a.sizes(), product.a.strides()),
                                b = as_matrices(product.b.sizes(), product.b.strides());
  if (!d || !a || !b) return false;
  bool swapped = false;
  std::optional<GemmKey> key = gemm_key(*d, *a, *b, product.extra, swapped);
  if (!key) return false;
  Operands x{product.d,
             product.a.raw_bytes(),
             product.b.raw_bytes(),
             address_of(product.vector),
             address_of(product.scales_a),
             address_of(product.scales_b)};
  key->operands = product.a.dtype();
  key->operands_b = product.b.dtype();
  std::tie(key->scales_a, key->scales_b) = product.forms;
  if (swapped) {
    std::swap(x.a, x.b);
    std::swap(x.scale_a, x.scale_b);
    std::swap(key->operands, key->operands_b);
    std::swap(key->scales_a, key->scales_b);
  }
  key->result = product.d.dtype();
  const auto size = static_cast<int64_t>(element_size(key->operands));
  key->device = index_of(product.d.device());
  key->align_a = alignment_of(x.a, key->stride_a * size);
  key->align_b = alignment_of(x.b, key->stride_b * size);
  key->align_d = alignment_of(product.d.raw_bytes(), key->stride_d * static_cast<int64_t>(element_size(key->result)));
  key->align_vector = x.vector ? alignment_of(x.vector) : uint16_t{0};
  key->accumulate = product.accumulate;
  key->tf32 = key->operands == kFloat && allow_tf32_matmul();

  auto& plans = tandem::detail::of_thread([] { return PlanCache<GemmKey, std::unique_ptr<Plan>>(kPlans); });
  Plan& plan = *plans.find_or_make(*key, [&] { return std::make_unique<Plan>(*key, x); });
  return plan.run(x, apart);
}

}  // namespace tandem::cuda
