#pragma once
// Switches for the precision and the reproducibility of matrix products and convolutions on CUDA devices. They apply to
// the whole process, from the next call on. The defaults are PyTorch's.
#include <atomic>

#pragma GCC visibility push(default)
namespace tandem::cuda {

namespace detail {
struct MathMode {
  std::atomic<bool> allow_tf32_matmul{false}, allow_tf32_conv{true}, deterministic{false}, benchmark{false},
      autotune{false};
};
inline MathMode math_mode;
}  // namespace detail

/// Whether products of f32 matrices may round their factors to TF32 (10 bits of mantissa; sums stay f32), which is
/// several times faster. Off by default. Source: torch.backends.cuda.matmul.allow_tf32.
inline bool allow_tf32_matmul() { return detail::math_mode.allow_tf32_matmul; }
inline void set_allow_tf32_matmul(bool allow) { detail::math_mode.allow_tf32_matmul = allow; }

/// Whether f32 convolutions may do so. On by default. Source: torch.backends.cudnn.allow_tf32.
inline bool allow_tf32_conv() { return detail::math_mode.allow_tf32_conv; }
inline void set_allow_tf32_conv(bool allow) { detail::math_mode.allow_tf32_conv = allow; }

/// Whether products, convolutions, index_add and scatter_add give the same bits in every run, which makes them slower.
/// No algorithm is then chosen by timing, because the choice could differ between runs: benchmark() and autotune() have
/// no effect. Off by default. Source: torch.backends.cudnn.deterministic, torch.use_deterministic_algorithms.
inline bool deterministic() { return detail::math_mode.deterministic; }
inline void set_deterministic(bool on) { detail::math_mode.deterministic = on; }

/// Whether the first convolution of a shape times cuDNN's candidates and keeps the fastest. That call waits for the
/// device; later calls do not. During a graph capture nothing is timed: the call uses the heuristic's choice, and a
/// later call outside a capture does the timing. Worthwhile if shapes repeat. Off by default.
/// Source: torch.backends.cudnn.benchmark.
inline bool benchmark() { return detail::math_mode.benchmark; }
inline void set_benchmark(bool on) { detail::math_mode.benchmark = on; }

/// Whether the first matrix product of a kind (sizes, dtypes, layout, alignment, fused operations) times the best eight
/// candidates of cuBLASLt, and keeps the fastest. It also times a fused bias, ReLU or bias gradient against separate
/// kernels. Each thread has its own timings. When off, the default, products use the heuristic's first choice.
/// Source: torch.cuda.tunable.
inline bool autotune() { return detail::math_mode.autotune; }
inline void set_autotune(bool on) { detail::math_mode.autotune = on; }

}  // namespace tandem::cuda
#pragma GCC visibility pop
