// Batch normalisation. Contract: f16 and bf16 are widened to f32, processed in cache-sized blocks and rounded once; f64
// stays f64. Mean and variance are computed per block in two passes (the sum, then deviations from the mean, whose own
// sum corrects it), and blocks are combined in f64 (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm
// for computing sample variances, 1979). So a large mean does not reduce the accuracy of the variance, and x is read
// from memory once. If the statistics of a channel are beyond the range of f32, all is done in f64. Blocks depend on
// the sizes alone, so results do not depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/batch_norm.h"
#include "kernels/cpu/simd/convert.h"
#include "tandem/math/norm.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlock = 4096;   // elements of all channels: in f32, half of a first-level cache
constexpr int64_t kRun = 2048;     // elements of one channel: few enough to sum in f32
constexpr int64_t kMaxItems = 64;  // work items, if the sizes do not dictate the number

/// Partitions x into work items and blocks. Either the channels are innermost (`columns`: a block is several whole rows
/// of all channels) or x is [outer, channels, inner] (a block is a part of one channel of one sample).
class Cut {
 public:
  explicit Cut(const Tensor& x) : channels_(x.size(1)) {
    const int64_t values = x.numel() / channels_;
    inner_ = x.is_contiguous() ? values / x.size(0) : 1;
    columns_ = inner_ == 1;
    outer_ = values / inner_;
    const int64_t items = columns_ ? x.numel() / (4 * kBlock) : kMaxItems / channels_;
    groups_ = std::clamp<int64_t>(items, 1, std::min(kMaxItems, outer_));
  }
  bool columns() const { return columns_; }
  int64_t channels() const { return channels_; }
  int64_t groups() const { return groups_; }
  /// The number of channels in a block.
  int64_t block_channels() const { return columns_ ? channels_ : 1; }
  int64_t max_block() const { return columns_ ? rows_per_block() * channels_ : std::min(inner_, kRun); }

  /// Calls f(group, first channel, begin, end) for all items, on several threads. Each item covers block_channels()
  /// channels of the samples (rows) [begin, end).
  template <class F>
  void for_each_item(F&& f) const {
    const int64_t per_group = channels_ / block_channels(), items = groups_ * per_group;
    const int64_t work = outer_ * inner_ * channels_ / items;
    parallel_for(items, grain_of(work), [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        const int64_t group = item / per_group;
        f(group, item % per_group, group * outer_ / groups_, (group + 1) * outer_ / groups_);
      }
    });
  }

  /// Calls f(offset, rows, n) for the blocks of an item.
  template <class F>
  void for_each_block(int64_t channel, int64_t begin, int64_t end, F&& f) const {
    if (columns_) {
      const int64_t step = rows_per_block();
      for (int64_t r = begin; r < end; r += step) f(r * channels_, std::min(step, end - r), channels_);
      return;
    }
    for (int64_t sample = begin; sample < end; ++sample) {
      const int64_t offset = (sample * channels_ + channel) * inner_;
      for (int64_t i = 0; i < inner_; i += kRun) f(offset + i, int64_t{1}, std::min(kRun, inner_ - i));
    }
  }

 private:
  int64_t rows_per_block() const { return std::clamp<int64_t>(kBlock / channels_, 1, outer_); }

  int64_t channels_, inner_, outer_, groups_;
  bool columns_;
};

/// Blocks of a tensor as T: in place or through a buffer.
template <class T>
class Blocks {
 public:
  Blocks(const Tensor& x, const Cut& cut)
      : data_(static_cast<char*>(x.raw_bytes())),
        width_(static_cast<int64_t>(x.element_size())),
        dtype_(static_cast<size_t>(x.dtype())),
        in_place_(x.dtype() == dtype_of<T>),
        buffer_(in_place_ ? 1 : cut.max_block()) {}

  const T* read(int64_t offset, int64_t n) const {
    char* p = data_ + offset * width_;
    if (in_place_) return reinterpret_cast<T*>(p);
    convert_tables().of<T>().load[dtype_](buffer_.data(), p, n);
    return buffer_.data();
  }
  T* target(int64_t offset) const { return in_place_ ? reinterpret_cast<T*>(data_ + offset * width_) : buffer_.data(); }
  void commit(int64_t offset, int64_t n) const {
    if (!in_place_) convert_tables().of<T>().store[dtype_](data_ + offset * width_, buffer_.data(), n);
  }

 private:
  char* data_;
  int64_t width_;
  size_t dtype_;
  bool in_place_;
  Scratch<T> buffer_;
};

/// `parameter` [channels] as T, or `value` everywhere if it is undefined.
template <class T>
std::vector<T> load(const Tensor& parameter, int64_t channels, T value) {
  std::vector<T> values(static_cast<size_t>(channels), value);
  if (!parameter.defined()) return values;
  const auto convert = convert_tables().of<T>().load[static_cast<size_t>(parameter.dtype())];
  const int64_t step = parameter.stride(0) * static_cast<int64_t>(parameter.element_size());
  const char* from = static_cast<const char*>(parameter.raw_bytes());
  for (int64_t c = 0; c < channels; ++c) convert(&values[static_cast<size_t>(c)], from + c * step, 1);
  return values;
}

void store(const Tensor& parameter, const std::vector<double>& values) {
  const auto convert = convert_tables().of<double>().store[static_cast<size_t>(parameter.dtype())];
  const int64_t step = parameter.stride(0) * static_cast<int64_t>(parameter.element_size());
  char* to = static_cast<char*>(parameter.raw_bytes());
  for (const double& value : values) {
    convert(to, &value, 1);
    to += step;
  }
}

/// The number of values so far, and per channel their mean and the sum of squared deviations from it.
struct Moments {
  double count = 0;
  double* mean;
  double* squares;

  /// Adds `n` further values; of(channel) returns their mean and the sum of squared deviations from it.
  template <class Of>
  void merge(double n, int64_t channels, Of&& of) {
    const double total = count + n, share = n / total, weight = count * share;
    for (int64_t c = 0; c < channels; ++c) {
      const auto [other_mean, other_squares] = of(c);
      const double distance = other_mean - mean[c];
      mean[c] += std::isfinite(distance) ? distance * share : other_mean;
      squares[c] += other_squares + distance * distance * weight;
    }
    count = total;
  }
};

struct Statistics {
  double count;
  std::vector<double> mean, variance;  ///< biased
};

template <class T>
Statistics statistics_of(const Tensor& x, const Cut& cut) {
  const int64_t channels = cut.channels();
  const size_t partial = static_cast<size_t>(cut.groups() * channels);
  std::vector<double> means(partial), squares(partial), counts(static_cast<size_t>(cut.groups()));
  const BatchNormBlocks<T>& table = batch_norm_table().of<T>(cut.columns());
  const int64_t width = cut.block_channels();
  cut.for_each_item([&](int64_t group, int64_t channel, int64_t begin, int64_t end) {
    const Blocks<T> xs(x, cut);
    std::vector<T> centre(static_cast<size_t>(width)), sum(centre.size()), square(centre.size());
    const int64_t at = group * channels + channel;
    Moments moments{0, means.data() + at, squares.data() + at};
    cut.for_each_block(channel, begin, end, [&](int64_t offset, int64_t rows, int64_t n) {
      const T* values = xs.read(offset, rows * n);
      const double count = static_cast<double>(cut.columns() ? rows : n);
      for (auto* v : {&centre, &sum, &square}) std::fill(v->begin(), v->end(), T(0));
      table.sum(centre.data(), values, rows, n);
      for (T& c : centre) c /= static_cast<T>(count);
      table.deviations(sum.data(), square.data(), values, centre.data(), rows, n);
      moments.merge(count, width, [&](int64_t c) {
        if (!std::isfinite(centre[c])) return std::pair(static_cast<double>(centre[c]), static_cast<double>(NAN));
        const double rest = static_cast<double>(sum[c]) / count;  // the rounding error of the centre
        return std::pair(static_cast<double>(centre[c]) + rest, static_cast<double>(square[c]) - rest * rest * count);
      });
    });
    if (channel == 0) counts[static_cast<size_t>(group)] = moments.count;
  });

  Moments all{0, means.data(), squares.data()};
  all.count = counts[0];
  for (int64_t g = 1; g < cut.groups(); ++g) {
    all.merge(counts[static_cast<size_t>(g)], channels,
              [&](int64_t c) { return std::pair(means[g * channels + c], squares[g * channels + c]); });
  }
  Statistics s{all.count, {means.begin(), means.begin() + channels}, {squares.begin(), squares.begin() + channels}};
  for (double& v : s.variance) v = std::max(v / s.count, 0.0);
  return s;
}

template <class T>
void normalise(const Tensor& y, const Tensor& x, const Cut& cut, const std::vector<T>& mean, const std::vector<T>& rstd,
               const std::vector<T>& weight, const std::vector<T>& bias) {
  const BatchNormBlocks<T>& table = batch_norm_table().of<T>(cut.columns());
  cut.for_each_item([&](int64_t, int64_t c, int64_t begin, int64_t end) {
    const Blocks<T> xs(x, cut), ys(y, cut);
    cut.for_each_block(c, begin, end, [&](int64_t offset, int64_t rows, int64_t n) {
      table.normalise(ys.target(offset), xs.read(offset, rows * n), mean.data() + c, rstd.data() + c, weight.data() + c,
                      bias.data() + c, rows, n);
      ys.commit(offset, rows * n);
    });
  });
}

std::vector<double> rstd_of(const std::vector<double>& variance, double eps) {
  std::vector<double> rstd;
  for (double v : variance) rstd.push_back(math::rstd_of(v, eps));
  return rstd;
}

/// Calls f(T{}) with the type in which x is normalised: f64 also for f32 statistics beyond the range of f32.
template <class F>
void visit_compute_of(const Tensor& x, const std::vector<double>& rstd, F f) {
  const bool fits = std::all_of(rstd.begin(), rstd.end(), math::is_in_range_of_f32);
  kernels::visit_floating_compute(fits ? x.dtype() : DType::F64, f);
}

void update_running(const Tensor& running, const std::vector<double>& values, double momentum, double factor) {
  if (!running.defined()) return;
  std::vector<double> r = load<double>(running, running.size(0), 0);
  for (size_t c = 0; c < r.size(); ++c) r[c] = (1 - momentum) * r[c] + momentum * values[c] * factor;
  store(running, r);
}

/// The sums of gy and of gy xhat, per channel.
struct GradientSums {
  std::vector<double> g, gx;
};

template <class T>
GradientSums gradient_sums_of(const Tensor& gy, const Tensor& x, const Cut& cut, const std::vector<T>& mean,
                              const std::vector<T>& rstd) {
  const int64_t channels = cut.channels(), width = cut.block_channels();
  const size_t partial = static_cast<size_t>(cut.groups() * channels);
  GradientSums sums{std::vector<double>(partial), std::vector<double>(partial)};
  const BatchNormBlocks<T>& table = batch_norm_table().of<T>(cut.columns());
  cut.for_each_item([&](int64_t group, int64_t channel, int64_t begin, int64_t end) {
    const Blocks<T> xs(x, cut), gys(gy, cut);
    std::vector<T> g(static_cast<size_t>(width)), gx(g.size());
    const size_t at = static_cast<size_t>(group * channels + channel);
    cut.for_each_block(channel, begin, end, [&](int64_t offset, int64_t rows, int64_t n) {
      std::fill(g.begin(), g.end(), T(0));
      std::fill(gx.begin(), gx.end(), T(0));
      table.gradient_sums(g.data(), gx.data(), gys.read(offset, rows * n), xs.read(offset, rows * n),
                          mean.data() + channel, rstd.data() + channel, rows, n);
      for (size_t c = 0; c < g.size(); ++c) {
        sums.g[at + c] += static_cast<double>(g[c]);
        sums.gx[at + c] += static_cast<double>(gx[c]);
      }
    });
  });
  const size_t count = static_cast<size_t>(channels);
  for (size_t i = count; i < partial; ++i) {
    sums.g[i % count] += sums.g[i];
    sums.gx[i % count] += sums.gx[i];
  }
  sums.g.resize(count);
  sums.gx.resize(count);
  return sums;
}

template <class T>
void backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
              const Tensor& mean_tensor, const Tensor& rstd_tensor, const Tensor& weight_tensor, bool train) {
  const Cut cut(x);
  const std::vector<T> mean = load<T>(mean_tensor, cut.channels(), 0), rstd = load<T>(rstd_tensor, cut.channels(), 0);
  const std::vector<T> weight = load<T>(weight_tensor, cut.channels(), 1);
  std::vector<T> mean_g(mean.size()), mean_gx(mean.size());
  if (gweight.defined() || gbias.defined() || (gx.defined() && train)) {
    const GradientSums sums = gradient_sums_of<T>(gy, x, cut, mean, rstd);
    if (gbias.defined()) store(gbias, sums.g);
    if (gweight.defined()) store(gweight, sums.gx);
    const double count = static_cast<double>(x.numel() / cut.channels());
    for (size_t c = 0; c < mean.size(); ++c) {
      mean_g[c] = static_cast<T>(sums.g[c] / count);
      mean_gx[c] = static_cast<T>(sums.gx[c] / count);
    }
  }
  if (!gx.defined()) return;
  if (!train) {  // y is linear in x
    const std::vector<T> zero(mean.size());
    return normalise<T>(gx, gy, cut, zero, rstd, weight, zero);
  }
  const BatchNormBlocks<T>& table = batch_norm_table().of<T>(cut.columns());
  cut.for_each_item([&](int64_t, int64_t c, int64_t begin, int64_t end) {
    const Blocks<T> xs(x, cut), gys(gy, cut), gxs(gx, cut);
    cut.for_each_block(c, begin, end, [&](int64_t offset, int64_t rows, int64_t n) {
      table.backward(gxs.target(offset), gys.read(offset, rows * n), xs.read(offset, rows * n), mean.data() + c,
                     rstd.data() + c, weight.data() + c, mean_g.data() + c, mean_gx.data() + c, rows, n);
      gxs.commit(offset, rows * n);
    });
  });
}

}  // namespace

void batch_norm_train(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& running_mean,
                      const Tensor& running_var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double momentum, double eps) {
  const Cut cut(x);
  Statistics s =
      kernels::visit_floating_compute(x.dtype(), [&](auto zero) { return statistics_of<decltype(zero)>(x, cut); });
  visit_compute_of(x, rstd_of(s.variance, eps), [&](auto zero) {
    using T = decltype(zero);
    if (std::is_same_v<T, double> && x.dtype() != DType::F64) s = statistics_of<T>(x, cut);
    store(mean, s.mean);
    store(rstd, rstd_of(s.variance, eps));
    update_running(running_mean, s.mean, momentum, 1);
    update_running(running_var, s.variance, momentum, s.count / std::max(s.count - 1, 1.0));
    normalise<T>(y, x, cut, load<T>(mean, cut.channels(), 0), load<T>(rstd, cut.channels(), 0),
                 load<T>(weight, cut.channels(), 1), load<T>(bias, cut.channels(), 0));
  });
}

void batch_norm_inference(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& spread,
                          const Tensor& weight, const Tensor& bias, std::optional<double> eps) {
  const Cut cut(x);
  std::vector<double> rstd = load<double>(spread, cut.channels(), 0);
  if (eps) rstd = rstd_of(rstd, *eps);
  visit_compute_of(x, rstd, [&](auto zero) {
    using T = decltype(zero);
    normalise<T>(y, x, cut, load<T>(mean, cut.channels(), 0), {rstd.begin(), rstd.end()},
                 load<T>(weight, cut.channels(), 1), load<T>(bias, cut.channels(), 0));
  });
}

void batch_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, bool train) {
  visit_compute_of(x, load<double>(rstd, x.size(1), 0),
                   [&](auto zero) { backward<decltype(zero)>(gx, gweight, gbias, gy, x, mean, rstd, weight, train); });
}

}  // namespace tandem::cpu
