#pragma once
// Random calls of kernels that the ops of random_call_ops.h do not reach: loss scaling, optimizer steps, random
// numbers, float8, and copies between all dtypes. A family of calls is a function that draws from a KernelCall; run on
// two devices with one seed, it makes the same call on both.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/tolerance.h"
#include "tandem/tensor/tensor.h"

namespace tandem::testing {

/// One call while it is drawn. Makes its tensors on the default device.
class KernelCall {
 public:
  using Sizes = std::vector<int64_t>;
  /// special: also inf, NaN and numbers beyond f16's range. positive: no number below 0.
  enum class Numbers : uint8_t { tame, special, positive };
  /// Memory that the call may use, and how far from exact each device's results may be there.
  struct Kept {
    Tensor memory;
    Tolerance tolerance;
    int64_t slips = 0;  ///< the number of elements in which the devices may differ by 1
  };

  explicit KernelCall(uint64_t seed) : random_(seed), fill_(seed << 20) {}

  // ---- draws
  /// low <= integer <= high
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }
  template <class T>
  T pick(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(integer(0, static_cast<int64_t>(choices.size()) - 1))];
  }
  DType floating();
  /// Up to four sizes, of about `most` elements at most. In most draws they are few; in some they need several blocks
  /// of threads.
  Sizes sizes(int64_t most = 6000);

  // ---- tensors of random numbers
  /// Dense, permuted, or with gaps, with any offset; `expanded` may also have the stride 0.
  Tensor tensor(const Sizes& sizes, DType dtype, Numbers numbers = Numbers::tame, bool expanded = false);
  /// Contiguous, with any offset.
  Tensor dense(const Sizes& sizes, DType dtype, Numbers numbers = Numbers::tame);
  /// Contiguous, with these numbers.
  Tensor of(const std::vector<double>& numbers, DType dtype);
  /// Tolerates differences in the memory of `x`, which tensor(), dense() or of() returned.
  void tolerate(const Tensor& x, Tolerance tolerance, int64_t slips = 0);

  /// Compares a result that is not in such memory.
  void compare(const Tensor& result, Tolerance tolerance) { kept_.push_back({result.detach(), tolerance}); }

  const std::vector<Kept>& kept() const { return kept_; }
  /// The call in words.
  std::string text;

 private:
  Tensor view(const std::vector<double>& numbers, DType dtype, const Sizes& sizes, const Sizes& strides,
              int64_t offset);
  std::vector<double> numbers(int64_t count, DType dtype, Numbers which);

  std::mt19937_64 random_;
  uint64_t fill_;  ///< seed of the next tensor's numbers
  std::vector<Kept> kept_;
};

/// Families by name.
using KernelCalls = std::map<std::string, void (*)(KernelCall&)>;
KernelCalls random_kernel_calls();
/// Those with large sizes.
KernelCalls random_large_calls();

}  // namespace tandem::testing
