// softmax, softmax_backward. Contract: f16 and bf16 elements are widened, computed in f32 with sums in f64 over groups
// of at most 32 terms, and rounded once; f64 in f64. The row's maximum is subtracted first, so nothing overflows.
#include "kernels/cpu/simd/softmax.h"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/scratch.h"

namespace tandem::cpu {
namespace {

/// Calls f(table, T{}, C{}) with the table for rows of T that are computed in C. bf16 is widened as it is read, other
/// dtypes in a buffer.
template <class F>
void visit_rows(std::initializer_list<const Tensor*> tensors, F f) {
  const auto any = [&](DType dtype) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor* t) { return t->dtype() == dtype; });
  };
  const auto all = [&](DType dtype) {
    return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor* t) { return t->dtype() == dtype; });
  };
  const SoftmaxTables& tables = softmax_tables();
  if (all(DType::BF16)) return f(tables.bf16, uint16_t{}, float{});
  if (any(DType::F64)) return f(tables.f64, double{}, double{});
  f(tables.f32, float{}, float{});
}

}  // namespace

void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log) {
  if (x.numel() == 0) return;
  const Space others = other_dimensions({&y, &x}, dim);
  const int64_t n = x.numel() / others.numel;
  visit_rows({&y, &x}, [&]<class T, class C>(const SoftmaxTable<T, C>& table, T, C) {
    for_rows(others, n, [&](int64_t begin, int64_t end) {
      constexpr bool kSame = std::is_same_v<T, C>;
      Rows<T> out(y, others, 0, dim), in(x, others, 1, dim);
      const Scratch<C> work(kSame ? 0 : n);
      for (int64_t k = begin; k < end; ++k) {
        T* row = out.target(k);
        if constexpr (kSame) {
          table.forward(row, in.read(k), row, n, log);
        } else {
          table.forward(row, in.read(k), work.data(), n, log);
        }
        out.commit(k);
      }
    });
  });
}

void softmax_backward(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log) {
  if (y.numel() == 0) return;
  const Space others = other_dimensions({&gx, &gy, &y}, dim);
  const int64_t n = y.numel() / others.numel;
  visit_rows({&gx, &gy, &y}, [&]<class T, class C>(const SoftmaxTable<T, C>& table, T, C) {
    for_rows(others, n, [&](int64_t begin, int64_t end) {
      Rows<T> out(gx, others, 0, dim), in_gy(gy, others, 1, dim), in_y(y, others, 2, dim);
      for (int64_t k = begin; k < end; ++k) {
        table.backward(out.target(k), in_gy.read(k), in_y.read(k), n, log);
        out.commit(k);
      }
    });
  });
}

}  // namespace tandem::cpu
