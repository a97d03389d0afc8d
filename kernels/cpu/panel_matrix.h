#pragma once
// PanelMatrix: an f32 or f64 matrix that is packed once and is the right factor of many small products.
//
// A library's product of few rows spends much of its time on packing and on checks; docs/benchmarks.md has the times of
// an LSTM with both.
#include <algorithm>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/product.h"
#include "tandem/backend.h"

namespace tandem::cpu {

template <class T>
class PanelMatrix {
 public:
  /// Packs a matrix [k, n] whose rows or columns are contiguous.
  explicit PanelMatrix(const Tensor& b)
      : k_(b.sizes()[0]), n_(b.sizes()[1]), columns_(padded_to_panels(n_)), panels_(k_ * columns_) {
    const ProductTable<T>& table = product_tables().of<T>();
    if (b.is_contiguous()) {
      table.pack(panels_.data(), b.raw<T>(), n_, k_, n_);
    } else {
      table.pack_transposed(panels_.data(), b.raw<T>(), k_, n_, k_);
    }
  }

  /// d = a b + bias (optional, [n]), or d += a b + bias. d: m x n and a: m x k, both contiguous. Sums are in T, in the
  /// order of k.
  void multiply(T* d, const T* a, const T* bias, int64_t m, bool accumulate) const {
    if (m == 0) return;
    const bool in_place = columns_ == n_;
    const Scratch<T> padded(in_place ? 0 : m * columns_);
    T* const c = in_place ? d : padded.data();
    const bool prepared = accumulate || bias != nullptr;
    // The m k kPanel multiplications of a panel take about as long as m k simple elements.
    parallel_for(columns_ / kPanel, grain_of(m * k_), [&](int64_t begin, int64_t end) {
      begin *= kPanel;
      end *= kPanel;
      for (int64_t i = 0; prepared && i < m; ++i) prepare(c + i * columns_, d + i * n_, bias, begin, end, accumulate);
      product_tables().of<T>().multiply(c + begin, columns_, a, k_, 1, panels_.data() + begin * k_, m, end - begin, k_,
                                        prepared);
      for (int64_t i = 0; !in_place && i < m; ++i) {
        std::copy(c + i * columns_ + begin, c + i * columns_ + std::min(end, n_), d + i * n_ + begin);
      }
    });
  }

 private:
  /// Writes what the products of a row are added to.
  void prepare(T* c, const T* d, const T* bias, int64_t begin, int64_t end, bool accumulate) const {
    for (int64_t j = begin; j < std::min(end, n_); ++j) c[j] = (accumulate ? d[j] : T(0)) + (bias ? bias[j] : T(0));
  }

  int64_t k_, n_, columns_;
  Scratch<T> panels_;
};

}  // namespace tandem::cpu
