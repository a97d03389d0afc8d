// Layer normalisation over the rows of [rows, n], or of the sums of two tensors' rows; without `mean`, RMS
// normalisation. f16 and bf16 elements are widened, computed in f32 and rounded once to nearest even; f64 stays f64.
// Rows of very large or very small numbers, whose squares are not in the range of f32, are computed in f64.
// Column sums (gweight, gbias) are computed per group of rows, then over the groups in order. The groups depend on the
// sizes alone, so results do not depend on the number of threads.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <type_traits>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_access.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/layer_norm.h"
#include "tandem/math/norm.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kMaxGroups = 32, kMaxPartialElements = 1 << 22;

template <class T>
constexpr T kOne = 1;
template <>
constexpr uint16_t kOne<uint16_t> = 0x3f80;  // the bits of bf16

/// `parameter` [n] as T, or `value` everywhere if it is undefined.
template <class T>
void load_parameter(T* y, const Tensor& parameter, T value, int64_t n) {
  if (!parameter.defined()) {
    std::fill(y, y + n, value);
    return;
  }
  const char* const data = static_cast<const char*>(parameter.raw_bytes());
  const int64_t step = parameter.strides()[0] * static_cast<int64_t>(parameter.element_size());
  if constexpr (std::is_same_v<T, uint16_t>) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(y + i, data + i * step, sizeof(T));
  } else {
    const auto load = convert_tables().of<T>().load[static_cast<size_t>(parameter.dtype())];
    if (parameter.is_contiguous()) return load(y, data, n);
    for (int64_t i = 0; i < n; ++i) load(y + i, data + i * step, 1);
  }
}

template <class T>
void store_column(const Tensor& y, int64_t i, const T* value) {
  const int64_t at = y.strides()[0] * i * static_cast<int64_t>(y.element_size());
  convert_tables().of<T>().store[static_cast<size_t>(y.dtype())](static_cast<char*>(y.raw_bytes()) + at, value, 1);
}

struct Statistics {
  double mean = 0, rstd;
};

template <class T, class C>
Statistics statistics_of(const LayerNormRows<T, C>& table, const T* row, int64_t n, double eps, bool centred) {
  Statistics s;
  double variance;
  if (centred) {
    table.moments(row, n, &s.mean, &variance);
  } else {
    variance = table.mean_square(row, n);
  }
  s.rstd = math::rstd_of(variance, eps);
  return s;
}

template <class C>
bool needs_f64(double rstd) {
  return std::is_same_v<C, float> && !math::is_in_range_of_f32(rstd);
}

/// Rows that the range of f32 does not suffice for, in f64.
class WideRows {
 public:
  WideRows(const Tensor& weight, const Tensor& bias, int64_t n) : n_(n), weight_(n), bias_(n) {
    load_parameter<double>(weight_.data(), weight, 1, n);
    load_parameter<double>(bias_.data(), bias, 0, n);
  }

  Statistics forward(const Tensor& y, const Tensor& x, int64_t r, double eps, bool centred) const {
    const RowAccess<double> in(x, n_), out(y, n_);
    const double* const row = in.read(r);
    const Statistics s = statistics_of(table_, row, n_, eps, centred);
    table_.normalise(out.target(r), row, weight_.data(), bias_.data(), n_, s.mean, s.rstd);
    out.commit(r);
    return s;
  }
  void backward(const Tensor& gx, const Tensor& gy, const Tensor& gsum, const Tensor& x, int64_t r, double mean,
                double rstd, bool centred) const {
    const RowAccess<double> in_gy(gy, n_), in_x(x, n_), in_gsum(gsum.defined() ? gsum : gy, n_), out(gx, n_);
    double* const row = out.target(r);
    table_.backward(row, in_gy.read(r), in_x.read(r), weight_.data(), n_, mean, rstd, centred);
    if (gsum.defined()) table_.add(row, row, in_gsum.read(r), n_);
    out.commit(r);
  }
  /// gw and gb are in the order of `position`.
  template <class C>
  void add_columns(C* gw, C* gb, const Tensor& gy, const Tensor& x, int64_t r, double mean, double rstd,
                   int64_t (*position)(int64_t, int64_t)) const {
    const RowAccess<double> in_gy(gy, n_), in_x(x, n_);
    const Scratch<double> sums(2 * n_);
    double *const w = sums.data(), *const b = w + n_;
    std::fill(w, w + 2 * n_, 0.0);
    table_.add_columns(w, b, in_gy.read(r), in_x.read(r), n_, mean, rstd);
    for (int64_t i = 0; i < n_; ++i) {
      gw[i] += static_cast<C>(w[position(i, n_)]);
      gb[i] += static_cast<C>(b[position(i, n_)]);
    }
  }

 private:
  const LayerNormRows<double, double>& table_ = layer_norm_table().f64;
  int64_t n_;
  Scratch<double> weight_, bias_;
};

template <class T, class C>
void forward(const LayerNormRows<T, C>& table, const Tensor& y, const Tensor& sum, const Tensor& mean,
             const Tensor& rstd, const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias,
             double eps) {
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  const Scratch<T> w(n), b(n);
  load_parameter<T>(w.data(), weight, kOne<T>, n);
  load_parameter<T>(b.data(), bias, 0, n);
  C *const means = mean.defined() ? mean.raw<C>() : nullptr, *const rstds = rstd.raw<C>();
  parallel_for(rows, grain_of(n), [&](int64_t begin, int64_t end) {
    const bool adds = residual.defined();
    const RowAccess<T> in(x, n), in_residual(adds ? residual : x, n), sums(adds ? sum : x, n), out(y, n);
    for (int64_t r = begin; r < end; ++r) {
      const T* row = in.read(r);
      if (adds) {
        table.add(sums.target(r), row, in_residual.read(r), n);
        sums.commit(r);
        row = sums.read(r);
      }
      Statistics s = statistics_of(table, row, n, eps, means != nullptr);
      if (needs_f64<C>(s.rstd)) {
        s = WideRows(weight, bias, n).forward(y, adds ? sum : x, r, eps, means != nullptr);
      } else {
        table.normalise(out.target(r), row, w.data(), b.data(), n, static_cast<C>(s.mean), static_cast<C>(s.rstd));
        out.commit(r);
      }
      if (means) means[r] = static_cast<C>(s.mean);
      rstds[r] = static_cast<C>(s.rstd);
    }
  });
}

/// The sum over groups g of partial[g][i], in order, into column position(i, n) of y.
template <class T>
void add_groups(const Tensor& y, const T* partial, int64_t groups, int64_t stride, int64_t n,
                int64_t (*position)(int64_t, int64_t)) {
  parallel_for(n, grain_of(groups), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T sum = partial[i];
      for (int64_t g = 1; g < groups; ++g) sum += partial[g * stride + i];
      store_column(y, position(i, n), &sum);
    }
  });
}

template <class T, class C>
void backward(const LayerNormRows<T, C>& table, const Tensor& gx, const Tensor& gweight, const Tensor& gbias,
              const Tensor& gy, const Tensor& gsum, const Tensor& x, const Tensor& mean, const Tensor& rstd,
              const Tensor& weight) {
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  const bool columns = gweight.defined() || gbias.defined();
  const int64_t most = std::clamp<int64_t>(kMaxPartialElements / std::max<int64_t>(n, 1), 1, kMaxGroups);
  const int64_t groups = std::clamp<int64_t>(rows / 4, 1, most);
  const int64_t per_group = (rows + groups - 1) / groups;
  const Scratch<T> w(n);
  const Scratch<C> partial(columns ? 2 * groups * n : 0);
  load_parameter<T>(w.data(), weight, kOne<T>, n);
  const C *const means = mean.defined() ? mean.raw<C>() : nullptr, *const rstds = rstd.raw<C>();
  parallel_for(groups, grain_of(per_group * n), [&](int64_t first, int64_t last) {
    const RowAccess<T> in_x(x, n), in_gy(gy, n), in_gsum(gsum.defined() ? gsum : gy, n);
    const RowAccess<T> out(gx.defined() ? gx : gy, n);
    for (int64_t g = first; g < last; ++g) {
      C *gw = partial.data() + 2 * g * n, *gb = gw + n;
      if (columns) std::fill(gw, gw + 2 * n, C(0));
      for (int64_t r = g * per_group; r < std::min(rows, (g + 1) * per_group); ++r) {
        const T *row_gy = in_gy.read(r), *row_x = in_x.read(r);
        const C row_mean = means ? means[r] : C(0);
        if (needs_f64<C>(static_cast<double>(rstds[r]))) {
          const WideRows wide(weight, Tensor(), n);
          const double m = static_cast<double>(row_mean), rstd = static_cast<double>(rstds[r]);
          if (columns) wide.add_columns(gw, gb, gy, x, r, m, rstd, table.position);
          if (gx.defined()) wide.backward(gx, gy, gsum, x, r, m, rstd, means != nullptr);
          continue;
        }
        if (columns) table.add_columns(gw, gb, row_gy, row_x, n, row_mean, rstds[r]);
        if (!gx.defined()) continue;
        T* const row = out.target(r);
        table.backward(row, row_gy, row_x, w.data(), n, row_mean, rstds[r], means != nullptr);
        if (gsum.defined()) table.add(row, row, in_gsum.read(r), n);
        out.commit(r);
      }
    }
  });
  if (gweight.defined()) add_groups(gweight, partial.data(), groups, 2 * n, n, table.position);
  if (gbias.defined()) add_groups(gbias, partial.data() + n, groups, 2 * n, n, table.position);
}

/// Whether all tensors that are defined are bf16.
bool all_bf16(std::initializer_list<const Tensor*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [](const Tensor* t) { return !t->defined() || t->dtype() == DType::BF16; });
}

/// Calls f(table) with the table of bf16 rows or of the compute type's.
template <class F>
void visit_rows(DType compute, bool bf16, F f) {
  const LayerNormTable& tables = layer_norm_table();
  if (bf16) return f(tables.bf16);
  if (compute == DType::F64) return f(tables.f64);
  f(tables.f32);
}

}  // namespace

void layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                const Tensor& residual, const Tensor& weight, const Tensor& bias, double eps) {
  visit_rows(rstd.dtype(), all_bf16({&y, &x, &residual, &weight, &bias}),
             [&](const auto& table) { forward(table, y, sum, mean, rstd, x, residual, weight, bias, eps); });
}

void layer_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& gsum, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight) {
  // Rows of bf16 would be rounded before gsum is added.
  const bool bf16 = !gsum.defined() && all_bf16({&gx, &gy, &x, &weight});
  visit_rows(rstd.dtype(), bf16,
             [&](const auto& table) { backward(table, gx, gweight, gbias, gy, gsum, x, mean, rstd, weight); });
}

}  // namespace tandem::cpu
