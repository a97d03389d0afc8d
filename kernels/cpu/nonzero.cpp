// nonzero: counts the true elements of each part of x, then writes their coordinates, so that every part knows where
// its first one goes.
#include <algorithm>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace tandem::cpu {
namespace {

/// Row-major coordinates that count up one by one.
class Coordinates {
 public:
  Coordinates(IntArrayRef sizes, int64_t position) : sizes_(sizes), at_(sizes.size(), 0) {
    for (size_t d = sizes_.size(); d-- > 0;) {
      at_[d] = position % sizes_[d];
      position /= sizes_[d];
    }
  }
  void advance() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (++at_[d] < sizes_[d]) return;
      at_[d] = 0;
    }
  }
  void write(int64_t* y, int64_t step) const {
    for (size_t d = 0; d < at_.size(); ++d) y[static_cast<int64_t>(d) * step] = at_[d];
  }

 private:
  Dims sizes_, at_;
};

}  // namespace

void nonzero(const Tensor& y, const Tensor& x) {
  const int64_t numel = x.numel(), parts = (numel + kParallelGrain - 1) / kParallelGrain;
  const bool* const values = x.raw<bool>();
  const auto end_of = [&](int64_t part) { return std::min(numel, (part + 1) * kParallelGrain); };
  std::vector<int64_t> first(static_cast<size_t>(parts) + 1, 0);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      first[static_cast<size_t>(part) + 1] = std::count(values + part * kParallelGrain, values + end_of(part), true);
    }
  });
  for (size_t part = 1; part < first.size(); ++part) first[part] += first[part - 1];
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t* row = y.raw<int64_t>() + first[static_cast<size_t>(part)] * y.strides()[0];
      Coordinates at(x.sizes(), part * kParallelGrain);
      for (int64_t i = part * kParallelGrain; i < end_of(part); ++i, at.advance()) {
        if (!values[i]) continue;
        at.write(row, y.strides()[1]);
        row += y.strides()[0];
      }
    }
  });
}

}  // namespace tandem::cpu
