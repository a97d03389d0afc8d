// Pooling, row by row. Contract: f16 and bf16 rows are widened to f32, sums are f32 (f64 for f64), and results are
// rounded once. A backward pass gathers: each row of gx is computed by one thread, with its terms in a fixed order, so
// results do not depend on the number of threads.
#include <algorithm>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/convert.h"
#include "kernels/cpu/simd/pool.h"

namespace tandem::cpu {
namespace {

/// The common format of all tensors of a call: `planes` images, whose rows have `lanes` values per position.
struct Format {
  int64_t planes, lanes;

  Format(const Tensor& x, const Tensor& y) : planes(x.size(0) * x.size(1)), lanes(1) {
    if (is_channels_last(x) && is_channels_last(y) && x.size(1) > 1) {
      planes = x.size(0);
      lanes = x.size(1);
    }
  }
};

/// The rows of an image tensor as rows of T; `row` counts over all planes.
template <class T>
class ImageRows {
 public:
  ImageRows(const Tensor& x, const Format& format)
      : data_(static_cast<char*>(x.raw_bytes())),
        length_(x.size(3) * format.lanes),
        bytes_(length_ * static_cast<int64_t>(x.element_size())) {
    if (x.dtype() == dtype_of<T>) return;
    load_ = convert_tables().of<T>().load[static_cast<size_t>(x.dtype())];
    store_ = convert_tables().of<T>().store[static_cast<size_t>(x.dtype())];
  }
  int64_t length() const { return length_; }
  const T* read(int64_t row, T* buffer) const {
    if (!load_) return reinterpret_cast<const T*>(data_ + row * bytes_);
    load_(buffer, data_ + row * bytes_, length_);
    return buffer;
  }
  /// Where to write the row's values: in place, or into the buffer for commit.
  T* target(int64_t row, T* buffer) const { return store_ ? buffer : reinterpret_cast<T*>(data_ + row * bytes_); }
  void commit(int64_t row, const T* values) const {
    if (store_) store_(data_ + row * bytes_, values, length_);
  }

 private:
  char* data_;
  int64_t length_, bytes_;
  void (*load_)(T*, const void*, int64_t) = nullptr;
  void (*store_)(void*, const T*, int64_t) = nullptr;
};

/// Compute types of max_pool2d, whose kernels also store cell numbers in T: f32 is exact only up to 2^24.
template <class F>
void visit_max_pool_compute(DType dtype, const Pool2dParams& p, F&& f) {
  kernels::visit_floating_compute(p.kernel[0] * p.kernel[1] > int64_t{1} << 24 ? kDouble : dtype, f);
}

PoolTaps taps_of(const Tensor& y, const Tensor& x, const Format& format, const Pool2dParams& p) {
  return {x.size(3), y.size(3), format.lanes, p.kernel[1], p.stride[1], p.padding[1], p.dilation[1]};
}

/// The first kernel row of output row `oh` that is inside the image; the number of kernel rows if none is.
int64_t first_row(int64_t oh, int64_t h, const Pool2dParams& p) {
  const int64_t k = first_tap(oh * p.stride[0] - p.padding[0], p.dilation[0]);
  return k < end_tap(oh * p.stride[0] - p.padding[0], h, p.kernel[0], p.dilation[0]) ? k : p.kernel[0];
}

/// Calls f(row of x, first cell) for the kernel rows of output row `oh` that are inside the image.
template <class F>
void for_each_input_row(int64_t oh, int64_t h, const Pool2dParams& p, F&& f) {
  const int64_t from = oh * p.stride[0] - p.padding[0], end = end_tap(from, h, p.kernel[0], p.dilation[0]);
  for (int64_t k = first_tap(from, p.dilation[0]); k < end; ++k) f(from + k * p.dilation[0], k * p.kernel[1]);
}

/// Calls f(row of y, first cell) for the output rows that read input row `ih`.
template <class F>
void for_each_output_row(int64_t ih, int64_t oh, const Pool2dParams& p, F&& f) {
  const int64_t last = ih + p.padding[0], reach = (p.kernel[0] - 1) * p.dilation[0];
  for (int64_t o = last > reach ? (last - reach - 1) / p.stride[0] + 1 : 0; o < oh && o * p.stride[0] <= last; ++o) {
    const int64_t distance = last - o * p.stride[0];
    if (distance % p.dilation[0] == 0) f(o, distance / p.dilation[0] * p.kernel[1]);
  }
}

template <class T>
void run_max(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p) {
  const Format format(x, y);
  const PoolTaps taps = taps_of(y, x, format, p);
  const ImageRows<T> ys(y, format), cells(indices, format), xs(x, format);
  const PoolRows<T>& table = pool_table().of<T>();
  const int64_t h = x.size(2), oh = y.size(2), n = ys.length();
  parallel_for(format.planes * oh, grain_of(n * p.kernel[0] * p.kernel[1]), [&](int64_t begin, int64_t end) {
    const Scratch<T> in(xs.length()), out(n), cell(n);
    for (int64_t row = begin; row < end; ++row) {
      T* best = ys.target(row, out.data());
      table.start(best, cell.data(), taps, static_cast<T>(first_row(row % oh, h, p) * p.kernel[1]));
      for_each_input_row(row % oh, h, p, [&](int64_t ih, int64_t first) {
        const T* from = xs.read(row / oh * h + ih, in.data());
        table.max(best, cell.data(), from, taps, static_cast<T>(first));
      });
      ys.commit(row, best);
      cells.commit(row, cell.data());
    }
  });
}

template <class T>
void run_max_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p) {
  const Format format(gx, gy);
  const PoolTaps taps = taps_of(gy, gx, format, p);
  const ImageRows<T> gxs(gx, format), gys(gy, format), cells(indices, format);
  const int64_t h = gx.size(2), oh = gy.size(2), n = gys.length();
  parallel_for(format.planes * h, grain_of(gxs.length() * p.kernel[1]), [&](int64_t begin, int64_t end) {
    const Scratch<T> in(gxs.length()), out(n), cell(n);
    for (int64_t row = begin; row < end; ++row) {
      T* to = gxs.target(row, in.data());
      std::fill_n(to, gxs.length(), T(0));
      for_each_output_row(row % h, oh, p, [&](int64_t o, int64_t first) {
        const int64_t from = row / h * oh + o;
        pool_table().of<T>().scatter(to, gys.read(from, out.data()), cells.read(from, cell.data()), taps,
                                     static_cast<T>(first));
      });
      gxs.commit(row, to);
    }
  });
}

template <class T>
void run_max_gather(const Tensor& y, const Tensor& x, const Tensor& indices, const Pool2dParams& p) {
  const Format format(x, y);
  const PoolTaps taps = taps_of(y, x, format, p);
  const ImageRows<T> ys(y, format), xs(x, format), cells(indices, format);
  const int64_t h = x.size(2), oh = y.size(2), n = ys.length();
  parallel_for(format.planes * oh, grain_of(n * p.kernel[0] * p.kernel[1]), [&](int64_t begin, int64_t end) {
    const Scratch<T> in(xs.length()), out(n), cell(n);
    for (int64_t row = begin; row < end; ++row) {
      T* to = ys.target(row, out.data());
      std::fill_n(to, n, T(0));
      const T* from_cells = cells.read(row, cell.data());
      for_each_input_row(row % oh, h, p, [&](int64_t ih, int64_t first) {
        const T* from = xs.read(row / oh * h + ih, in.data());
        pool_table().of<T>().pick(to, from, from_cells, taps, static_cast<T>(first));
      });
      ys.commit(row, to);
    }
  });
}

/// The averaging windows along one dimension. The divisor of a window is the product of its two `size` entries.
struct Windows {
  std::vector<int64_t> begin, end, size;

  void add(int64_t from, int64_t to, int64_t divisor) {
    begin.push_back(from);
    end.push_back(to);
    size.push_back(divisor);
  }
};

Windows average_windows(int64_t out, int64_t in, const Pool2dParams& p, size_t d) {
  Windows windows;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t from = o * p.stride[d] - p.padding[d], to = std::min(from + p.kernel[d], in + p.padding[d]);
    const int64_t begin = std::max<int64_t>(from, 0), end = std::max(begin, std::min(to, in));
    const int64_t override_here = d == 0 ? p.divisor_override : 1;
    windows.add(begin, end, p.divisor_override ? override_here : p.count_include_pad ? to - from : end - begin);
  }
  return windows;
}

Windows adaptive_windows(int64_t out, int64_t in) {
  Windows windows;
  for (int64_t o = 0; o < out; ++o) {
    const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    windows.add(begin, end, end - begin);
  }
  return windows;
}

template <class T>
void divisors_of(T* divisors, int64_t row_size, const Windows& columns) {
  for (size_t o = 0; o < columns.size.size(); ++o) divisors[o] = static_cast<T>(row_size * columns.size[o]);
}

template <class T>
void run_average(const Tensor& y, const Tensor& x, const Windows& rows, const Windows& columns) {
  const Format format(x, y);
  const PoolWindows windows{y.size(3), format.lanes, columns.begin.data(), columns.end.data()};
  const ImageRows<T> ys(y, format), xs(x, format);
  const PoolRows<T>& table = pool_table().of<T>();
  const int64_t h = x.size(2), oh = y.size(2), n = ys.length(), work = xs.length() * h / std::max<int64_t>(oh, 1);
  parallel_for(format.planes * oh, grain_of(work), [&](int64_t begin, int64_t end) {
    const Scratch<T> in(xs.length()), out(n), divisors(windows.out);
    for (int64_t row = begin; row < end; ++row) {
      const size_t o = static_cast<size_t>(row % oh);
      T* to = ys.target(row, out.data());
      std::fill_n(to, n, T(0));
      for (int64_t i = rows.begin[o]; i < rows.end[o]; ++i) {
        table.sum(to, xs.read(row / oh * h + i, in.data()), windows);
      }
      divisors_of(divisors.data(), rows.size[o], columns);
      table.divide(to, to, divisors.data(), windows.out, windows.lanes);
      ys.commit(row, to);
    }
  });
}

template <class T>
void run_average_backward(const Tensor& gx, const Tensor& gy, const Windows& rows, const Windows& columns) {
  const Format format(gx, gy);
  const PoolWindows windows{gy.size(3), format.lanes, columns.begin.data(), columns.end.data()};
  const ImageRows<T> gxs(gx, format), gys(gy, format);
  const PoolRows<T>& table = pool_table().of<T>();
  const int64_t h = gx.size(2), oh = gy.size(2), n = gys.length();
  parallel_for(format.planes * h, grain_of(gxs.length()), [&](int64_t begin, int64_t end) {
    const Scratch<T> in(gxs.length()), out(n), divisors(windows.out);
    for (int64_t row = begin; row < end; ++row) {
      T* to = gxs.target(row, in.data());
      std::fill_n(to, gxs.length(), T(0));
      for (size_t o = 0; o < rows.begin.size(); ++o) {
        if (row % h < rows.begin[o] || row % h >= rows.end[o]) continue;
        divisors_of(divisors.data(), rows.size[o], columns);
        const T* from = gys.read(row / h * oh + static_cast<int64_t>(o), out.data());
        table.divide(out.data(), from, divisors.data(), windows.out, windows.lanes);
        table.spread(to, out.data(), windows);
      }
      gxs.commit(row, to);
    }
  });
}

/// With fewer channels than this, pooling in N, C, H, W is no slower than converting.
constexpr int64_t kMinChannels = 8;

/// Whether an image in N, C, H, W order is pooled faster in channels-last order.
bool wants_channels_last(const Tensor& x) { return x.size(1) >= kMinChannels && !is_channels_last(x); }

Tensor channels_last(const Tensor& x) { return cpu::channels_last(x, x.dtype()); }
Tensor new_channels_last(const Tensor& x) { return cpu::new_channels_last(x, x.dtype()); }

/// y = the result of run(y'), where y' has y's sizes in channels-last order.
template <class Run>
void through_channels_last(const Tensor& y, Run&& run) {
  const Tensor result = new_channels_last(y);
  run(result);
  convert(y, result);
}

void average(const Tensor& y, const Tensor& x, const Windows& rows, const Windows& columns) {
  if (wants_channels_last(x)) {
    through_channels_last(y, [&](const Tensor& result) { average(result, channels_last(x), rows, columns); });
    return;
  }
  kernels::visit_floating_compute(x.dtype(), [&](auto zero) { run_average<decltype(zero)>(y, x, rows, columns); });
}

void average_backward(const Tensor& gx, const Tensor& gy, const Windows& rows, const Windows& columns) {
  if (wants_channels_last(gx)) {
    through_channels_last(gx,
                          [&](const Tensor& result) { average_backward(result, channels_last(gy), rows, columns); });
    return;
  }
  kernels::visit_floating_compute(gx.dtype(),
                                  [&](auto zero) { run_average_backward<decltype(zero)>(gx, gy, rows, columns); });
}

}  // namespace

void max_pool2d(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p) {
  if (wants_channels_last(x)) {
    const Tensor cells = new_channels_last(indices);
    through_channels_last(y, [&](const Tensor& result) { max_pool2d(result, cells, channels_last(x), p); });
    convert(indices, cells);
    return;
  }
  visit_max_pool_compute(x.dtype(), p, [&](auto zero) { run_max<decltype(zero)>(y, indices, x, p); });
}

void max_pool2d_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p) {
  if (wants_channels_last(gx)) {
    through_channels_last(
        gx, [&](const Tensor& result) { max_pool2d_backward(result, channels_last(gy), channels_last(indices), p); });
    return;
  }
  visit_max_pool_compute(gx.dtype(), p, [&](auto zero) { run_max_backward<decltype(zero)>(gx, gy, indices, p); });
}

void max_pool2d_gather(const Tensor& y, const Tensor& x, const Tensor& indices, const Pool2dParams& p) {
  if (wants_channels_last(x)) {
    through_channels_last(
        y, [&](const Tensor& result) { max_pool2d_gather(result, channels_last(x), channels_last(indices), p); });
    return;
  }
  visit_max_pool_compute(x.dtype(), p, [&](auto zero) { run_max_gather<decltype(zero)>(y, x, indices, p); });
}

void avg_pool2d(const Tensor& y, const Tensor& x, const Pool2dParams& p) {
  average(y, x, average_windows(y.size(2), x.size(2), p, 0), average_windows(y.size(3), x.size(3), p, 1));
}

void avg_pool2d_backward(const Tensor& gx, const Tensor& gy, const Pool2dParams& p) {
  average_backward(gx, gy, average_windows(gy.size(2), gx.size(2), p, 0),
                   average_windows(gy.size(3), gx.size(3), p, 1));
}

void adaptive_avg_pool2d(const Tensor& y, const Tensor& x) {
  average(y, x, adaptive_windows(y.size(2), x.size(2)), adaptive_windows(y.size(3), x.size(3)));
}

void adaptive_avg_pool2d_backward(const Tensor& gx, const Tensor& gy) {
  average_backward(gx, gy, adaptive_windows(gy.size(2), gx.size(2)), adaptive_windows(gy.size(3), gx.size(3)));
}

}  // namespace tandem::cpu
