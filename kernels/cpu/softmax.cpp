// softmax, softmax_backward. Contract: rows of f16 and bf16 are widened once, computed in f32 with sums in f64 over
// groups of at most 32 terms, and rounded once; f64 in f64. The row's maximum is subtracted first, so nothing
// overflows.
#include "kernels/cpu/simd/softmax.h"

#include <memory>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/tile.h"

namespace tandem::cpu {
namespace {

/// The other dimensions, merged; the tensors are the operands in the given order.
Space other_dimensions(std::initializer_list<const Tensor*> tensors, int64_t dim) {
  Dims sizes = (*tensors.begin())->impl().sizes, strides[kMaxOperands];
  const Dims* lists[kMaxOperands];
  int count = 0;
  for (const Tensor* t : tensors) {
    strides[count] = t->impl().strides;
    if (t->dim() > 0) strides[count].erase(static_cast<size_t>(dim));
    lists[count] = &strides[count];
    ++count;
  }
  if (!sizes.empty()) sizes.erase(static_cast<size_t>(dim));
  return make_space(sizes, lists, count, Order::memory);
}

/// A tensor's rows along the dimension as contiguous runs of C: in place, or in a buffer.
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
  /// Where row k's elements are to be written.
  C* target(int64_t k) { return in_place_ ? reinterpret_cast<C*>(base(k)) : buffer_.get(); }
  const C* read(int64_t k) {
    if (in_place_) return target(k);
    TileReader<C> reader(space_, 0, t_.dtype(), base(k));
    for_each([&](const Tile& tile) { reader.read_to(buffer_.get() + tile.begin, tile); });
    return buffer_.get();
  }
  void commit(int64_t k) {
    if (in_place_) return;
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

/// Calls f(table, begin, end) for parts of the rows, with the table of the compute type.
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

}  // namespace

void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log) {
  if (x.numel() == 0) return;
  const Space others = other_dimensions({&y, &x}, dim);
  for_rows(promote_types(y.dtype(), x.dtype()), others, x.numel() / others.numel,
           [&](const auto& table, auto zero, int64_t begin, int64_t end) {
             using C = decltype(zero);
             Rows<C> out(y, others, 0, dim), in(x, others, 1, dim);
             for (int64_t k = begin; k < end; ++k) {
               table.forward(out.target(k), in.read(k), in.size(), log);
               out.commit(k);
             }
           });
}

void softmax_backward(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log) {
  if (y.numel() == 0) return;
  const Space others = other_dimensions({&gx, &gy, &y}, dim);
  for_rows(promote_types(gx.dtype(), promote_types(gy.dtype(), y.dtype())), others, y.numel() / others.numel,
           [&](const auto& table, auto zero, int64_t begin, int64_t end) {
             using C = decltype(zero);
             Rows<C> out(gx, others, 0, dim), in_gy(gy, others, 1, dim), in_y(y, others, 2, dim);
             for (int64_t k = begin; k < end; ++k) {
               table.backward(out.target(k), in_gy.read(k), in_y.read(k), in_y.size(), log);
               out.commit(k);
             }
           });
}

}  // namespace tandem::cpu
