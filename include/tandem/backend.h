#pragma once
// struct Backend: the table of all kernels that a device supplies. Kernels assume valid input; the checks are in ops/.
//
// Rules for all kernels:
// - The caller allocates the outputs. Unless a comment says otherwise, tensors may have any strides (including the
//   stride 0 of expand), and the operands of one call have equal sizes.
// - f16 and bf16 are storage formats: values are widened to f32, computed, and rounded once, to nearest even. Sums of
//   f16, bf16 and f32 are held in f32 or wider, sums of f64 in f64, sums of integers in i64.
// - The compute type of an element-wise kernel follows from promote_types of its operands (bool outputs excluded): f64
//   for f64, f32 for the other floating types, i64 for integer types.
// - Tensors marked `optional` may be undefined.
#include <array>
#include <cstdint>

#include "tandem/cuda/device.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A slot of Backend. Calling an empty slot throws NotImplementedError, which names the op, the device and the dtype.
template <class Signature>
class Kernel;

[[noreturn]] void throw_no_kernel(const Tensor* first);

template <class... Args>
class Kernel<void(Args...)> {
 public:
  using Function = void (*)(Args...);
  constexpr Kernel() = default;
  constexpr Kernel(Function f) : function_(f) {}
  explicit operator bool() const { return function_ != nullptr; }
  void operator()(Args... args) const {
    if (!function_) [[unlikely]]
      throw_no_kernel(first_tensor(args...));
    function_(static_cast<Args>(args)...);
  }

 private:
  template <class A, class... Rest>
  static const Tensor* first_tensor(const A& first, const Rest&...) {
    if constexpr (std::is_same_v<A, Tensor>) {
      return &first;
    } else {
      return nullptr;
    }
  }
  Function function_ = nullptr;
};

namespace kernels {
/// Element-wise formulas, math/unary.h and math/binary.h; a slot's `a` and `b`, or `alpha`, are their parameters.
enum class Unary : uint8_t;
enum class Binary : uint8_t;
/// Reductions, math/reduce.h.
enum class Reduction : uint8_t;
}  // namespace kernels

/// Activation applied to the result of a GEMM or convolution.
enum class Activation : uint8_t { none, relu };

/// d = activation(a b + bias), or d += a b when `accumulate`. All matrices have rank 2, or all have rank 3 (batched; a
/// batch stride of 0 repeats one matrix). a: [.., m, k], b: [.., k, n], d: [.., m, n], bias (optional): [n], f32 or a's
/// dtype. Row- and column-major operands are used in place; others are copied. d is f32 or has the dtype of a and b.
struct GemmCall {
  Tensor d, a, b, bias;
  Activation activation = Activation::none;
  bool accumulate = false;
};

struct Conv2dParams {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
};

struct Pool2dParams {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< avg only
  int64_t divisor_override = 0;   ///< avg only; 0: divide by the window's size
};

/// A position in a Philox 4x32-10 stream. Element i of a kernel's output, counted in row-major order of the logical
/// sizes, uses lane i % 4 of counter offset + i / 4. The numbers depend on neither the device nor the thread count.
struct PhiloxState {
  uint64_t seed = 0;
  uint64_t offset = 0;
  /// In a CUDA graph: device address of the seed and of the position at the start of the replay; `offset` is added to
  /// that position. Null elsewhere. CPU kernels ignore it.
  const uint64_t* captured = nullptr;
};

/// How a multi-tensor optimizer step reads its gradients under a GradScaler. Both tensors have one f32 element on the
/// device; they are undefined without a scaler.
struct FusedUnscale {
  Tensor inverse_scale;  ///< factor of the gradients, applied as they are read
  Tensor found_inf;      ///< if not 0, the step writes nothing, not even step counts
};

/// Parameters of one optimizer step over a list of tensors. Each list has the length of `params`, or is empty if
/// unused. params: f32, f64, f16 or bf16; grads: floating, any strides; state tensors: the compute type.
struct OptimizerTensors {
  std::vector<Tensor> params, grads;
  /// Optional entries, written in the same pass. A floating tensor receives a low-precision copy of the parameter. An
  /// i16 tensor holds the low 16 bits of the f32 value of a bf16 parameter; the step reads and updates that value
  /// (math/split_float.h).
  std::vector<Tensor> shadows;
  FusedUnscale scaling;
};

/// g = g + weight_decay p (maximize: -g first); buf = first ? g : momentum buf + (1 - dampening) g;
/// d = nesterov ? g + momentum buf : buf; p = p - lr d. `first` is true if the tensor's `steps` entry is 0.
/// Source: torch.optim.SGD.
struct SgdCall : OptimizerTensors {
  std::vector<Tensor> momentum_buffers;  ///< empty when momentum is 0
  std::vector<Tensor> steps;             ///< one f32 element each, incremented by the step; empty when momentum is 0
  double lr = 0, momentum = 0, dampening = 0, weight_decay = 0;
  const double* captured_lr = nullptr;  ///< in a CUDA graph: device address of lr; null elsewhere
  bool nesterov = false, maximize = false;
};

/// Adam (weight decay added to g) or AdamW (decoupled: p = p (1 - lr weight_decay) first), optionally amsgrad.
/// t = ++step; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p = p - lr / (1 - b1^t) m / (sqrt(v') / sqrt(1 - b2^t) +
/// eps) with v' = max over time of v for amsgrad. Source: torch.optim.Adam, AdamW.
struct AdamCall : OptimizerTensors {
  std::vector<Tensor> exp_avgs, exp_avg_sqs, max_exp_avg_sqs;
  std::vector<Tensor> steps;  ///< one f32 element each, incremented by the step
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  const double* captured_lr = nullptr;  ///< in a CUDA graph: device address of lr; null elsewhere
  bool amsgrad = false, decoupled = false, maximize = false;
};

/// The rule that counts overflows before the scale backs off; see amp::Hysteresis.
enum class HysteresisRule : uint8_t { megatron, colossal, paddle };

/// An update of the dynamic loss scale; all state is on the device.
struct ScaleUpdateCall {
  Tensor scale;                    ///< f32, one element
  Tensor growth_tracker;           ///< i32, one element
  Tensor hysteresis_tracker;       ///< i32, one element
  Tensor skips;                    ///< i32, one element: consecutive skipped iterations
  std::vector<Tensor> found_infs;  ///< f32, one element each; an overflow if any is not 0
  double growth_factor = 2, backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  double min_scale = 0, max_scale = 0;  ///< 0: no limit (but the scale never becomes 0, inf or NaN)
  int64_t hysteresis = 1;
  HysteresisRule rule = HysteresisRule::megatron;
  bool dynamic = true;  ///< false: static scale, only `skips` is counted
  /// In a CUDA graph: device address of growth_factor, backoff_factor and growth_interval. Null elsewhere.
  const double* captured_rule = nullptr;
};

struct Backend {
  DeviceType device = kCPU;

  // ---- memory
  Kernel<void(const Tensor& dst, const Tensor& src)> copy;  ///< converts; equal sizes; src may be on another device
  Kernel<void(const std::vector<Tensor>& dst, const std::vector<Tensor>& src)> copy_list;  ///< copy of many tensors
  Kernel<void(const Tensor& y, Scalar value)> fill;
  Kernel<void(const Tensor& y, Scalar start, Scalar step)> arange;  ///< y_i = start + i step

  // ---- element-wise
  Kernel<void(const Tensor& y, kernels::Unary op, const Tensor& x, double a, double b)> unary;
  Kernel<void(const Tensor& y, kernels::Binary op, const Tensor& a, const Tensor& b, double alpha)> binary;
  Kernel<void(const Tensor& y, const Tensor& condition, const Tensor& a, const Tensor& b)> where;

  // ---- reductions
  /// y has x's rank; the dimensions in which y has size 1 are reduced. y's dtype may be wider than x's.
  Kernel<void(const Tensor& y, kernels::Reduction op, const Tensor& x)> reduce;
  /// Largest or smallest element along `dim` (size 1 in both outputs): the first of equals; a NaN, if there is any.
  /// values is optional; indices is i64.
  Kernel<void(const Tensor& values, const Tensor& indices, bool largest, const Tensor& x, int64_t dim)> arg_reduce;
  /// Mean, and variance with the divisor max(0, n - correction), by Welford's algorithm, over the dimensions in which
  /// `var` has size 1.
  Kernel<void(const Tensor& var, const Tensor& mean, const Tensor& x, double correction)> var_mean;

  // ---- softmax and normalisation
  Kernel<void(const Tensor& y, const Tensor& x, int64_t dim, bool log)> softmax;  ///< y may be wider than x
  /// softmax: gx = y (gy - sum(gy y)); log: gx = gy - exp(y) sum(gy).
  Kernel<void(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log)> softmax_backward;
  /// The classes are along dimension 1 of x, or along dimension 0 if x is [C]; all elements with the same other indices
  /// form a row. target (i64 or i32), loss, row_weight (optional), max and log_sum are contiguous with one element per
  /// row, in row-major order; weight (optional) is [C]. All but target are f32 (f64 for f64 x).
  ///   max = max x, log_sum = log(sum exp(x - max)), row_weight = weight[target],
  ///   loss = -row_weight (x[target] - max - log_sum)
  /// Where target is ignore_index, row_weight and loss are 0. Any other target out of range is treated as an index out
  /// of range, see 'indexing' below.
  Kernel<void(const Tensor& loss, const Tensor& row_weight, const Tensor& max, const Tensor& log_sum, const Tensor& x,
              const Tensor& target, const Tensor& weight, int64_t ignore_index)>
      cross_entropy;
  /// gx = s (exp(x - max - log_sum) - [class is target]) with s = gy row_weight, 0 where target is ignore_index. gy has
  /// the form of loss, or is one number for all rows. gx may have any floating dtype.
  Kernel<void(const Tensor& gx, const Tensor& gy, const Tensor& x, const Tensor& max, const Tensor& log_sum,
              const Tensor& target, const Tensor& weight, int64_t ignore_index)>
      cross_entropy_backward;
  /// x: [rows, n] contiguous. y = (x - mean) rstd weight + bias. mean, rstd: [rows] f32 (f64 for f64);
  /// weight, bias optional [n].
  Kernel<void(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
              const Tensor& bias, double eps)>
      layer_norm;
  /// gx, gweight and gbias are optional.
  Kernel<void(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight)>
      layer_norm_backward;
  /// x: [N, C, ...] contiguous or channels-last. Normalises each channel with the batch's biased variance. Outputs mean
  /// and rstd: [C] f32 (f64 for f64). running_mean and running_var are optional and updated in place:
  /// r = (1 - momentum) r + momentum * batch value (variance unbiased). weight, bias optional [C], any floating dtype.
  Kernel<void(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& running_mean,
              const Tensor& running_var, const Tensor& x, const Tensor& weight, const Tensor& bias, double momentum,
              double eps)>
      batch_norm_train;
  /// y = (x - mean) / sqrt(var + eps) weight + bias with the given statistics.
  Kernel<void(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight,
              const Tensor& bias, double eps)>
      batch_norm_inference;
  /// train: mean and rstd depend on x. gx, gweight and gbias are optional.
  Kernel<void(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, bool train)>
      batch_norm_backward;

  // ---- matrix products and convolution: f32, f16, bf16, f64
  Kernel<void(const GemmCall& call)> gemm;
  /// x: [n, in], gy: [n, out]. gweight (optional): [out, in] = gy^T x; gbias (optional): [out] = column sums of gy.
  /// gweight and gbias are f32 or have gy's dtype.
  Kernel<void(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x)> linear_backward_weight;
  /// x: [N, C, H, W], weight: [O, C / groups, KH, KW], bias (optional): [O]. Each tensor, including y, may have any
  /// memory format.
  Kernel<void(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
              Activation activation)>
      conv2d;
  Kernel<void(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p)> conv2d_backward_input;
  /// gweight and gbias (both optional) are f32 or have gy's dtype.
  Kernel<void(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x, const Conv2dParams& p)>
      conv2d_backward_weight;

  // ---- pooling: [N, C, H, W], contiguous or channels-last; y and x in the same format
  /// indices: the cell kh * KW + kw of the (first) maximum; u8 when the window has at most 256 cells, else i32.
  Kernel<void(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p)> max_pool2d;
  Kernel<void(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p)> max_pool2d_backward;
  /// y = x at the cells in `indices`: the derivative of max_pool2d_backward.
  Kernel<void(const Tensor& y, const Tensor& x, const Tensor& indices, const Pool2dParams& p)> max_pool2d_gather;
  Kernel<void(const Tensor& y, const Tensor& x, const Pool2dParams& p)> avg_pool2d;
  Kernel<void(const Tensor& gx, const Tensor& gy, const Pool2dParams& p)> avg_pool2d_backward;
  /// Window of output o: [floor(o H / OH), ceil((o + 1) H / OH)).
  Kernel<void(const Tensor& y, const Tensor& x)> adaptive_avg_pool2d;
  Kernel<void(const Tensor& gx, const Tensor& gy)> adaptive_avg_pool2d_backward;

  // ---- indexing: index tensors are i64 or i32; an index out of range throws IndexError on the CPU
  Kernel<void(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index)> gather;
  Kernel<void(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src)> scatter_add;  ///< y += , in place
  Kernel<void(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index)> index_select;   ///< index of rank 1
  Kernel<void(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src)> index_add;    ///< y += , in place

  // ---- random
  Kernel<void(const Tensor& y, double from, double to, PhiloxState state)> uniform;
  Kernel<void(const Tensor& y, double mean, double std, PhiloxState state)> normal;
  Kernel<void(const Tensor& y, int64_t low, int64_t high, PhiloxState state)> random_int;  ///< low <= y < high
  Kernel<void(const Tensor& y, double p, PhiloxState state)> bernoulli;                    ///< 1 with probability p
  /// mask (bool) is true with probability 1 - p; y = mask ? x / (1 - p) : 0.
  Kernel<void(const Tensor& y, const Tensor& mask, const Tensor& x, double p, PhiloxState state)> dropout;

  // ---- AMP and optimizers: one call for a whole list of tensors
  /// g = g inverse_scale for each gradient; found_inf (f32) becomes 1 if any g is inf or NaN before or after.
  Kernel<void(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf)> unscale;
  /// The check of `unscale` alone: writes only found_inf.
  Kernel<void(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf)> check_finite;
  Kernel<void(const ScaleUpdateCall& call)> update_scale;
  /// inverse = (float)(1 / (double)scale), one f32 element each.
  Kernel<void(const Tensor& inverse, const Tensor& scale)> invert_scale;
  Kernel<void(const SgdCall& call)> sgd;
  Kernel<void(const AdamCall& call)> adam;
};

/// Returns the kernels of a device type. Throws DeviceError if the build has none, or no such device is present.
const Backend& backend(DeviceType type);
/// Returns the kernels for the device of `x`.
inline const Backend& backend(const Tensor& x) { return backend(x.device().type()); }

namespace detail {
/// The class dimension of cross_entropy's x.
inline int64_t class_dim(const Tensor& x) { return x.dim() > 1 ? 1 : 0; }
}  // namespace detail

namespace cpu {
const Backend& backend();
}
namespace cuda {
/// The CUDA backend. In a build without CUDA, its slots are empty.
const Backend& backend();
}  // namespace cuda

}  // namespace tandem
#pragma GCC visibility pop
