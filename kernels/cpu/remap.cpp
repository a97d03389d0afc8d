// remap, remap_backward: copies with shifted, mirrored, clamped or repeated indices, and their sums. Contract: remap
// copies bit by bit; y and x do not overlap. Sums of remap_backward are held in f32 (f64 for f64), in a fixed order.
#include "kernels/remap.h"

#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu {

using kernels::Run;
using kernels::Runs;

namespace {

/// A box of y, built dimension by dimension from one run of each, and the box of x that it is copied from.
struct Box {
  Dims sizes, y_strides, x_strides;
  int64_t y_offset, x_offset;
  bool is_fill = false;
};

void copy_boxes(const Tensor& y, const Tensor& x, const std::vector<Runs>& runs, const Tensor& fill, const Box& box) {
  const size_t d = box.sizes.size();
  if (d == runs.size()) {
    const Tensor to = make_view(y, box.sizes, box.y_strides, box.y_offset);
    if (box.is_fill) {
      copy(to, make_view(fill, box.sizes, Dims(d, 0), 0));
    } else {
      copy(to, make_view(x, box.sizes, box.x_strides, box.x_offset));
    }
    return;
  }
  for (size_t k = 0; k < runs[d].count; ++k) {
    const Run& run = runs[d].run[k];
    Box next = box;
    next.sizes.push_back(run.length);
    next.y_strides.push_back(y.strides()[d]);
    next.x_strides.push_back(run.step * x.strides()[d]);
    next.y_offset += run.begin * y.strides()[d];
    next.x_offset += run.source * x.strides()[d];
    next.is_fill |= run.is_fill;
    copy_boxes(y, x, runs, fill, next);
  }
}

/// sums[source of i] += g[i] for a row of y.
template <class T, class C>
void add_row(C* sums, const T* g, int64_t stride, const Runs& runs) {
  for (size_t k = 0; k < runs.count; ++k) {
    const Run& run = runs.run[k];
    const T* from = g + run.begin * stride;
    C* to = sums + run.source;
    if (run.is_fill) continue;
    if (run.step == 0) {
      C total = 0;
      for (int64_t i = 0; i < run.length; ++i) total += static_cast<C>(from[i * stride]);
      *to += total;
    } else {
      for (int64_t i = 0; i < run.length; ++i) to[i * run.step] += static_cast<C>(from[i * stride]);
    }
  }
}

template <class T>
class FoldRows {
 public:
  using C = kernels::FloatingCompute<T>;
  FoldRows(const Tensor& gx, const Tensor& gy, const IndexMap& map)
      : gx_(gx),
        gy_(gy),
        map_(map),
        last_(gx.sizes().size() - 1),
        n_(gx.sizes()[last_]),
        runs_(map.border, map.shift[last_], n_, gy.sizes()[last_]) {}

  /// Sums of rows [begin, end) of gx, counted in row-major order.
  void operator()(int64_t begin, int64_t end) const {
    std::vector<C> sums(static_cast<size_t>(n_));
    std::array<int64_t, kMaxRank> index{};
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, offset = 0;
      for (size_t d = last_; d-- > 0;) {
        index[d] = rest % gx_.sizes()[d];
        rest /= gx_.sizes()[d];
        offset += index[d] * gx_.strides()[d];
      }
      std::fill(sums.begin(), sums.end(), C(0));
      add_rows(sums.data(), index, 0, 0);
      T* const to = gx_.raw<T>() + offset;
      const int64_t stride = gx_.strides()[last_];
      for (int64_t i = 0; i < n_; ++i) to[i * stride] = T(sums[static_cast<size_t>(i)]);
    }
  }

 private:
  void add_rows(C* sums, const std::array<int64_t, kMaxRank>& index, size_t d, int64_t offset) const {
    if (d == last_) return add_row(sums, gy_.raw<T>() + offset, gy_.strides()[last_], runs_);
    const kernels::Copies copies(map_.border, map_.shift[d], gx_.sizes()[d], gy_.sizes()[d], index[d]);
    for (int64_t k = 0; k < copies.count; ++k) {
      add_rows(sums, index, d + 1, offset + copies.at(k) * gy_.strides()[d]);
    }
  }

  const Tensor& gx_;
  const Tensor& gy_;
  const IndexMap& map_;
  size_t last_;
  int64_t n_;
  Runs runs_;
};

}  // namespace

void remap(const Tensor& y, const Tensor& x, const IndexMap& map, Scalar fill_value) {
  if (y.numel() == 0) return;
  std::vector<Runs> runs;
  bool fills = false;
  for (size_t d = 0; d < y.sizes().size(); ++d) {
    runs.emplace_back(map.border, map.shift[d], x.sizes()[d], y.sizes()[d]);
    for (size_t k = 0; k < runs[d].count; ++k) fills |= runs[d].run[k].is_fill;
  }
  Tensor number;
  if (fills) {
    number = empty({1}, TensorOptions(y.dtype()).device(kCPU));
    fill(number, fill_value);
  }
  copy_boxes(y, x, runs, number, {{}, {}, {}, y.storage_offset(), x.storage_offset()});
}

void remap_backward(const Tensor& gx, const Tensor& gy, const IndexMap& map) {
  if (gx.numel() == 0) return;
  const int64_t n = gx.sizes().back(), rows = gx.numel() / n;
  kernels::visit_floating(gx.dtype(), [&]<class T>(T) {
    const FoldRows<T> fold(gx, gy, map);
    parallel_for(rows, grain_of(gy.numel() / rows), [&](int64_t begin, int64_t end) { fold(begin, end); });
  });
}

}  // namespace tandem::cpu
