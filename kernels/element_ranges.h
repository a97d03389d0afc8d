#pragma once
// ElementRanges: the tensors of a list as one sequence of elements, to be divided evenly between threads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::kernels {

/// The running totals 0, n0, n0 + n1, ... of the element counts of a list: the position of each tensor in the sequence.
class ElementRanges {
 public:
  void reserve(size_t count) { starts_.reserve(count + 1); }
  void push_back(int64_t numel) { starts_.push_back(starts_.back() + numel); }
  int64_t total() const { return starts_.back(); }
  int64_t count(size_t tensor) const { return starts_[tensor + 1] - starts_[tensor]; }

  /// Calls f(tensor, begin, end) for the parts of tensors that make up elements [begin, end) of the sequence.
  template <class F>
  void visit(int64_t begin, int64_t end, F&& f) const {
    size_t k = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
    for (; begin < end; ++k) {
      const int64_t stop = std::min(end, starts_[k + 1]);
      if (stop > begin) f(k, begin - starts_[k], stop - starts_[k]);
      begin = stop;
    }
  }

 private:
  std::vector<int64_t> starts_{0};
};

}  // namespace tandem::kernels
