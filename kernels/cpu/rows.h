#pragma once
// Rows: presents tensors of any strides and dtypes as contiguous rows of a compute type along one dimension.
#include <algorithm>
#include <memory>

#include "kernels/cpu/simd/softmax.h"
#include "kernels/cpu/tile.h"

namespace tandem::cpu {

/// The space of all dimensions but `dim`, merged. Its operands are the tensors in the given order, followed by
/// `per_row`, if any, which lacks `dim`.
inline Space other_dimensions(std::initializer_list<const Tensor*> tensors, int64_t dim,
                              const Tensor* per_row = nullptr) {
  Dims sizes = (*tensors.begin())->impl().sizes, strides[kMaxOperands];
  const Dims* lists[kMaxOperands];
  int count = 0;
  for (const Tensor* t : tensors) {
    strides[count] = t->impl().strides;
    if (t->dim() > 0) strides[count].erase(static_cast<size_t>(dim));
    lists[count] = &strides[count];
    ++count;
  }
  if (per_row) lists[count++] = &per_row->impl().strides;
  if (!sizes.empty()) sizes.erase(static_cast<size_t>(dim));
  return make_space(sizes, lists, count, Order::memory);
}

/// A tensor's rows along the dimension as contiguous runs of C: in place or in a buffer.
template <class C>
class Rows {
 public:
  Rows(const Tensor& t, const Space& others, int operand, int64_t dim)
      : t_(t), others_(others), operand_(operand), n_(t.dim() == 0 ? 1 : t.sizes()[static_cast<size_t>(dim)]) {
    const int64_t stride = t.dim() == 0 ? 1 : t.strides()[static_cast<size_t>(dim)];
    space_.rank = 1;
    space_.numel = space_.sizes[0] = n_;
    space_.strides[0][0] = stride;
    in_place_ = t.dtype() == dtype_of<C> && (stride == 1 || n_ == 1);
    if (!in_place_) buffer_ = std::make_unique_for_overwrite<C[]>(static_cast<size_t>(n_));
  }

  int64_t size() const { return n_; }
  /// Where to write row k's elements.
  C* target(int64_t k) { return in_place_ ? reinterpret_cast<C*>(base(k)) : buffer_.get(); }
  const C* read(int64_t k) {
    if (in_place_ || n_ == 0) return target(k);
    TileReader<C> reader(space_, 0, t_.dtype(), base(k));
    for_each([&](const Tile& tile) { reader.read_to(buffer_.get() + tile.begin, tile); });
    return buffer_.get();
  }
  void commit(int64_t k) {
    if (in_place_ || n_ == 0) return;
    TileWriter<C> writer(space_, 0, t_.dtype(), base(k));
    for_each([&](const Tile& tile) { writer.commit(tile, buffer_.get() + tile.begin); });
  }

 private:
  char* base(int64_t k) const {
    return static_cast<char*>(t_.raw_bytes()) +
           offset_of(others_, operand_, k) * static_cast<int64_t>(t_.element_size());
  }
  template <class F>
  void for_each(F f) const {
    const Tiling tiling(space_);
    for (int64_t i = 0; i < tiling.count(); ++i) f(tiling[i]);
  }

  const Tensor& t_;
  const Space& others_;
  int operand_;
  int64_t n_;
  Space space_;
  bool in_place_;
  std::unique_ptr<C[]> buffer_;
};

/// Calls f(table, begin, end) for ranges of rows, with the table of the compute type.
template <class F>
void for_rows(DType operands, const Space& others, int64_t n, F f) {
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / 4 / std::max<int64_t>(1, n));
  parallel_for(others.numel, grain, [&](int64_t begin, int64_t end) {
    if (operands == DType::F64) {
      f(softmax_tables().f64, double{}, begin, end);
    } else {
      f(softmax_tables().f32, float{}, begin, end);
    }
  });
}

}  // namespace tandem::cpu
