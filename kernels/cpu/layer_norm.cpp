// Layer normalisation over the rows of [rows, n], or of the sums of two tensors' rows; without `mean`, RMS
// normalisation. f16 and bf16 elements are widened, computed in f32 and rounded once to nearest even; f64 stays f64.
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
      double row_mean = 0, variance;
      if (means) {
        table.moments(row, n, &row_mean, &variance);
        means[r] = static_cast<C>(row_mean);
      } else {
        variance = table.mean_square(row, n);
      }
      rstds[r] = static_cast<C>(math::rstd_of(variance, eps));
      table.normalise(out.target(r), row, w.data(), b.data(), n, static_cast<C>(row_mean), rstds[r]);
      out.commit(r);
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
