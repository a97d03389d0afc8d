#pragma once
// Rows: presents tensors of any strides and dtypes as contiguous rows of a compute type along one dimension.
#include <algorithm>
#include <memory>

#include "kernels/cpu/tile.h"

namespace tandem::cpu {

/// The space of all dimensions but `dim`, merged. Its operands are the tensors in the given order, followed by
/// `per_row`, if any, which lacks `dim`.
inline Space other_dimensions(std::initializer_list<const Tensor*> tensors, int64_t dim,
                              const Tensor* per_row = nullptr) {
  const auto contiguous = [](const Tensor* t) { return t->impl().contiguous; };
  const TensorImpl& first = (*tensors.begin())->impl();
  if (first.numel > 0 && dim + 1 == static_cast<int64_t>(first.sizes.size()) && (!per_row || contiguous(per_row)) &&
      std::all_of(tensors.begin(), tensors.end(), contiguous)) {
    Space s;
    s.rank = 1;
    s.numel = s.sizes[0] = first.numel / first.sizes.back();
    int k = 0;
    for (const Tensor* t : tensors) s.strides[k++][0] = t->impl().sizes.back();
    if (per_row) s.strides[k][0] = 1;
    return s;
  }
  Dims sizes = first.sizes, strides[kMaxOperands];
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

/// A tensor's rows along the dimension as contiguous runs of C, in place or in a buffer. C is a compute type, or
/// another type of the dtype's size for its bits.
template <class C>
class Rows {
 public:
  Rows(const Tensor& t, const Space& others, int operand, int64_t dim)
      : t_(t), others_(others), operand_(operand), n_(t.dim() == 0 ? 1 : t.sizes()[static_cast<size_t>(dim)]) {
    const int64_t stride = t.dim() == 0 ? 1 : t.strides()[static_cast<size_t>(dim)];
    space_.rank = 1;
    space_.numel = space_.sizes[0] = n_;
    space_.strides[0][0] = stride;
    contiguous_ = stride == 1 || n_ <= 1;
    if constexpr (detail::kIsCompute<C>) converts_ = t.dtype() != dtype_of<C>;
    in_place_ = contiguous_ && !converts_;
    if (!in_place_) buffer_ = std::make_unique_for_overwrite<C[]>(static_cast<size_t>(n_));
  }

  int64_t size() const { return n_; }
  /// Where to write row k's elements.
  C* target(int64_t k) { return in_place_ ? reinterpret_cast<C*>(base(k)) : buffer_.get(); }
  const C* read(int64_t k) {
    if (in_place_ || n_ == 0) return target(k);
    if constexpr (detail::kIsCompute<C>) {
      if (contiguous_) {
        convert_tables().of<C>().load[static_cast<size_t>(t_.dtype())](buffer_.get(), base(k), n_);
        return buffer_.get();
      }
    }
    TileReader<C> reader(space_, 0, t_.dtype(), base(k));
    for_each([&](const Tile& tile) { reader.read_to(buffer_.get() + tile.begin, tile); });
    return buffer_.get();
  }
  void commit(int64_t k) {
    if (in_place_ || n_ == 0) return;
    if constexpr (detail::kIsCompute<C>) {
      if (contiguous_)
        return convert_tables().of<C>().store[static_cast<size_t>(t_.dtype())](base(k), buffer_.get(), n_);
    }
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
  bool contiguous_, converts_ = false, in_place_;
  std::unique_ptr<C[]> buffer_;
};

/// Calls f(begin, end) for ranges of rows of n elements.
template <class F>
void for_rows(const Space& others, int64_t n, F f) {
  parallel_for(others.numel, grain_of(4 * n), f);
}

}  // namespace tandem::cpu
