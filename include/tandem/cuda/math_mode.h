#pragma once
// How exact and how repeatable matrix products and convolutions on CUDA devices are. The switches hold for the process,
// from the next call on; defaults are PyTorch's.
#include <atomic>

namespace tandem::cuda {

namespace detail {
struct MathMode {
  std::atomic<bool> allow_tf32_matmul{false}, allow_tf32_conv{true}, deterministic{false}, benchmark{false},
      autotune{false};
};
inline MathMode math_mode;
}  // namespace detail

/// True when products of f32 matrices may round their factors to TF32 (10 bits of mantissa; sums stay f32), which is
/// several times faster. Off by default. Source: torch.backends.cuda.matmul.allow_tf32.
inline bool allow_tf32_matmul() { return detail::math_mode.allow_tf32_matmul; }
inline void set_allow_tf32_matmul(bool allow) { detail::math_mode.allow_tf32_matmul = allow; }

/// The same for convolutions. On by default. Source: torch.backends.cudnn.allow_tf32.
inline bool allow_tf32_conv() { return detail::math_mode.allow_tf32_conv; }
inline void set_allow_tf32_conv(bool allow) { detail::math_mode.allow_tf32_conv = allow; }

/// True when products, convolutions, index_add and scatter_add give the same bits in every run, at a cost in time.
/// Nothing is then chosen by time, since the choice could differ: benchmark() and autotune() have no effect. Off by
/// default. Source: torch.backends.cudnn.deterministic, torch.use_deterministic_algorithms.
inline bool deterministic() { return detail::math_mode.deterministic; }
inline void set_deterministic(bool on) { detail::math_mode.deterministic = on; }

/// True when the first convolution of a shape times the candidates of cuDNN and keeps the fastest: it waits for the
/// device, later calls do not. While its stream is captured into a graph nothing is timed: the heuristic's choice
/// serves, and a later call outside times. Pays where shapes repeat. Off by default. Source:
/// torch.backends.cudnn.benchmark.
inline bool benchmark() { return detail::math_mode.benchmark; }
inline void set_benchmark(bool on) { detail::math_mode.benchmark = on; }

/// The same for matrix products: the first one of a kind (sizes, dtypes, layout, alignment, what is fused with it)
/// times the best eight candidates of cuBLASLt, and bias, ReLU or bias gradient fused with the product against kernels
/// of their own. Each thread times for itself. Off by default: the heuristic's first choice, which comes back when it
/// is set off again. Source: torch.cuda.tunable.
inline bool autotune() { return detail::math_mode.autotune; }
inline void set_autotune(bool on) { detail::math_mode.autotune = on; }

}  // namespace tandem::cuda
