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
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::math {
struct Resampling;  // math/resample.h
}

namespace tandem {

/// A slot of Backend. Calling an empty slot throws NotImplementedError, which names the op, the device and the dtype.
template <class Signature>
class Kernel;

/// Throws the NotImplementedError of an empty slot; `first` is the first tensor of the call, or null.
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
enum class Ternary : uint8_t;
/// Reductions, math/reduce.h.
enum class Reduction : uint8_t;
/// How a scatter kernel combines an element of y with one of src. max and min propagate NaN.
enum class Scatter : uint8_t { assign, multiply, max, min };
/// How a scan combines elements; logaddexp: log(e^a + e^b).
enum class Scan : uint8_t { prod, max, min, logaddexp };
/// Which element of a sorted row; see the slot select_ranked.
enum class Rank : uint8_t { kth, median, nanmedian };
/// How the rows of a bag are combined; see the slot embedding_bag.
enum class Bag : uint8_t { sum, mean, max };
/// Random distributions, math/distributions.h.
enum class Distribution : uint8_t;
}  // namespace kernels

/// Activation applied to the result of a GEMM or convolution.
enum class Activation : uint8_t { none, relu };

/// The scales of float8 codes: value = code * inverse, with one inverse scale for the whole tensor (rows = columns = 0,
/// inverse: [1]), or one for each block of rows x columns numbers of the matrices in the last two dimensions (inverse:
/// [.., block rows, block columns]; blocks at the edges are smaller).
struct Float8Scales {
  Tensor inverse;  ///< f32, or e8m0fnu for blocks
  int64_t rows = 0, columns = 0;
  bool power_of_two = false;  ///< inverse holds powers of two only, as e8m0fnu always does
};

/// d = activation(a b + bias), or d += a b when `accumulate`. All matrices have rank 2, or all have rank 3 (batched; a
/// batch stride of 0 repeats one matrix). a: [.., m, k], b: [.., k, n], d: [.., m, n], bias (optional): [n], f32 or a's
/// dtype. Row- and column-major operands are used in place; others are copied. d is f32 or has the dtype of a and b.
///
/// a and b may be matrices of float8 codes, each with its scales; d is then f32, f16 or bf16, and bias is f32 or has
/// d's dtype. The product is that of the values, with f32 sums.
struct GemmCall {
  Tensor d, a, b, bias;
  Activation activation = Activation::none;
  bool accumulate = false;
  Float8Scales scales_a = {}, scales_b = {};  ///< of float8 operands
};

/// A convolution along one to three dimensions, the outermost first. Entries beyond the last dimension are not used.
struct ConvParams {
  std::array<int64_t, 3> stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  int64_t groups = 1;
};

/// A window that moves over images, in rows and columns.
struct Pool2dParams {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0}, dilation{1, 1};
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< avg only
  int64_t divisor_override = 0;   ///< avg only; 0: divide by the window's size
};

/// What stands for elements beyond the border of a tensor: a number, the mirror image (without the border itself), the
/// element at the border, or the tensor itself, repeated.
enum class Border : uint8_t { fill, reflect, replicate, circular };

/// Index i of a dimension of y comes from index i - shift of x, mapped back into [0, n) by the border's rule if it is
/// beyond: p from -p or 2 (n - 1) - p (reflect), from 0 or n - 1 (replicate), from p + n or p - n (circular). n is the
/// size of x.
struct IndexMap {
  Border border = Border::fill;
  Dims shift;
};

/// Where an image is sampled: a coordinate of -1 is its first edge, 1 its last one (with align_corners: the centres of
/// the first and last elements).
struct GridSampling {
  enum class Interpolation : uint8_t { linear, nearest, cubic };
  enum class Beyond : uint8_t { zeros, border, reflection };  ///< the values outside the image
  Interpolation interpolation = Interpolation::linear;
  Beyond beyond = Beyond::zeros;
  bool align_corners = false;
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

/// y = x scale, rounded to y's float8 dtype, e4m3fn or e5m2. x: f16, bf16, f32 or f64.
struct Float8CastCall {
  Tensor y, x;
  Tensor scale;  ///< optional, one f32 element
  Tensor amax;   ///< optional, one f32 element: >= 0; becomes the larger of itself and the largest |x|, or NaN
  Float8Overflow overflow = Float8Overflow::saturate;
  bool stochastic = false;
  PhiloxState state;  ///< of stochastic rounding
};

/// Rounds x to codes, e4m3fn or e5m2, with a scale for each block (math/float8_scale.h), computed in f32. x: f16, bf16
/// or f32, of rank 1 or more. All tensors are contiguous.
struct Float8QuantizeCall {
  Tensor codes;
  Float8Scales scales;  ///< inverse is written; power_of_two: f32 scales are rounded down to powers of two
  Tensor x;
  double least_amax = 0;  ///< of f32 scales: a smaller amax counts as this
  /// Only for one scale of the whole tensor; optional, f32 of one element: the scale to use if
  /// math::float8_scale_fits().
  Tensor scale;
  /// Only with `scale`; optional, f32 of one element, at least 0: becomes the larger of itself and the largest |x|. If
  /// that is inf or NaN, the inverse is NaN.
  Tensor noted;
};

/// Ends an iteration of delayed scaling: for rows [first, first + count) of each state, computes the scale from the
/// history, then moves that on by one place; a current amax of inf or NaN becomes 0. A state is [rows, 1 + history
/// length] in f32, contiguous: the scale, then the largest magnitudes, of the current iteration first.
struct DelayedScalesCall {
  std::vector<Tensor> states;
  int64_t first = 0, count = 0;
  std::vector<double> largest;  ///< for each of the rows: the largest number of its float8 dtype
  double factor = 1;            ///< 2^-margin
  bool most_recent = false;     ///< use the current amax, not the largest of the history
};

/// y = D softmax(scale q k^T + mask) v for each batch and head, where D is dropout. Rows whose keys are all masked are
/// 0. q: [B, H, L, E], k: [B, K, S, E], v: [B, K, S, V], y: [B, H, L, V], all of one floating dtype and with elements
/// of a row next to each other. H is a multiple of K: head h of q uses head h K / H of k and v.
struct AttentionCall {
  Tensor y;
  /// [B, H, L] contiguous, f32 (f64 for f64). max: the largest score, in a unit that the kernel chooses, or 0 if all
  /// keys are masked. log_sum: the logarithm of the sum of exp(score - max), inf if all keys are masked. The two are
  /// apart because a large finite mask in max would absorb log_sum.
  Tensor max, log_sum;
  Tensor q, k, v;
  /// Optional, [B, H, L, S] with rows as above: bool, false where a key is masked; or f32 (f64 for f64), added to
  /// scores.
  Tensor mask;
  double scale = 1;
  bool causal = false;  ///< query i sees the keys 0 to i
  double dropout = 0;   ///< probability with which a weight becomes 0
  /// Of dropout. The weight of query i and key j is element ((b H + h) L + i) S' + j, S' = S rounded up to 4.
  PhiloxState state;
};

/// The cell of a recurrent layer; math/recurrence.h has the formulas.
enum class Cell : uint8_t { tanh, relu, lstm, gru };
/// The number of a cell's gates.
TANDEM_HOST_DEVICE constexpr int64_t gates_of(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }

/// All steps of one direction of a recurrent layer. Step t has batch_sizes[t] samples, never more than the step before;
/// the rows of all steps follow each other in matrices of N = sum of batch_sizes rows. `reverse` runs from the last
/// step to the first. All tensors are contiguous. G is the number of gates, H the hidden size, P the size of the state
/// h: H, or the rows of w_hr. Floating tensors have one dtype, but `c` and `kept` are f32 (f64 for f64).
struct RecurrenceCall {
  Cell cell = Cell::tanh;
  bool reverse = false;
  std::vector<int64_t> batch_sizes;
  Tensor w_hh;         ///< [G H, P]
  Tensor b_hh;         ///< optional, [G H]
  Tensor w_hr;         ///< optional, [P, H]: lstm with a projection
  Tensor gates;        ///< [N, G H]: in: W_ih x + b_ih; out: the gates after their activation functions
  Tensor h;            ///< [B, P], B = batch_sizes[0]: in: the state before the first step; out: after the last
  Tensor c;            ///< [B, H], lstm: likewise
  Tensor y;            ///< [N, P], out: h after each step
  Tensor kept;         ///< optional, [N, H], out, for backward: lstm: c before each step; gru: n's recurrent product
  Tensor unprojected;  ///< [N, H], out, with w_hr: y before the projection
};

/// The gradients, from the call's batch_sizes, weights, gates, kept and unprojected after `recurrence`. Tensors as
/// above; gh and gc are f32 (f64 for f64).
struct RecurrenceBackwardCall {
  RecurrenceCall forward;
  Tensor previous;    ///< [N, P]: h before each step; used by gru
  Tensor gy;          ///< optional, [N, P]: gradient of y
  Tensor gh;          ///< [B, P], in: the gradient of h after the last step; out: before the first
  Tensor gc;          ///< [B, H], lstm: likewise
  Tensor ggates;      ///< [N, G H], out: gradient of the input products
  Tensor grecurrent;  ///< [N, G H], out: gradient of the recurrent products; may be ggates itself except for gru
  Tensor gprojected;  ///< [N, P], out, with w_hr: the whole gradient of y, with what later steps add
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
///
/// Moments of parameters that are not f64 may also be bf16, and first moments e4m3fn. These are contiguous, and rounded
/// by the rules of math/optim_state.h.
struct AdamCall : OptimizerTensors {
  std::vector<Tensor> exp_avgs, exp_avg_sqs, max_exp_avg_sqs;
  /// The inverse scales of first moments in e4m3fn: f32, one for each block of math::kStateBlock elements. Undefined
  /// entries for other moments.
  std::vector<Tensor> exp_avg_scales;
  std::vector<Tensor> steps;  ///< one f32 element each, incremented by the step
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  const double* captured_lr = nullptr;  ///< in a CUDA graph: device address of lr; null elsewhere
  bool amsgrad = false, decoupled = false, maximize = false;
};

/// A step of one of the other optimizers; tensor/optimizer_call.h.
struct OptimizerCall;

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

/// Every kernel that a device supplies, one slot each (backend.inc). Slots may be empty.
struct Backend {
  DeviceType device = kCPU;

#define TANDEM_SLOT(NAME, SIGNATURE) Kernel<SIGNATURE> NAME;
#include "tandem/backend.inc"
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

}  // namespace tandem
#pragma GCC visibility pop
