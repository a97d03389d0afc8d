#include "src/io/summary_histogram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "tandem/amp/autocast_off.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/convert.h"

namespace tandem::io {
namespace {

/// TensorFlow's edges.
class DefaultEdges {
 public:
  DefaultEdges() {
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive_.push_back(edge);
    positive_.push_back(DBL_MAX);
    for (size_t key = 0; key < below_.size(); ++key) {
      const double low = std::bit_cast<double>(static_cast<uint64_t>(key) << kKeyShift);
      below_[key] = static_cast<uint16_t>(std::isnan(low) ? positive_.size()
                                                          : std::lower_bound(positive_.begin(), positive_.end(), low) -
                                                                positive_.begin());
    }
    for (size_t i = positive_.size(); i > 0; --i) all_.push_back(-positive_[i - 1]);
    all_.push_back(0);
    all_.insert(all_.end(), positive_.begin(), positive_.end());
  }

  const std::vector<double>& all() const { return all_; }

  /// The bucket of a finite number. Has no branches: those on random data would be mispredicted.
  size_t bucket(double x) const {
    const double size = std::fabs(x);
    const size_t n = positive_.size();
    size_t i = below_[std::bit_cast<uint64_t>(size) >> kKeyShift];
    // The numbers of one key differ by a factor of less than 1.1, so at most one edge is between them.
    const double edge = positive_[i];
    const bool is_negative = x < 0;
    i += is_negative ? edge < size : edge <= size;
    return is_negative ? n - 1 - i : std::min(n + i, 2 * n - 1);
  }

 private:
  static constexpr int kKeyShift = 48;  // a key is the exponent and 4 bits of the mantissa
  std::vector<double> positive_, all_;
  std::array<uint16_t, 1 << 15> below_{};  // by key, the number of positive edges below its least number
};

const DefaultEdges& default_edges() {
  static const DefaultEdges edges;
  return edges;
}

template <class T, class Bucket>
void count(const T* values, int64_t size, Histogram& h, const Bucket& bucket) {
  bool first = true;
  for (int64_t i = 0; i < size; ++i) {
    const double x = static_cast<double>(values[i]);
    if (!std::isfinite(x)) continue;
    h.min = first ? x : std::min(h.min, x);
    h.max = first ? x : std::max(h.max, x);
    first = false;
    h.num += 1;
    h.sum += x;
    h.sum_squares += x * x;
    const size_t at = bucket(x);
    if (at < h.counts.size()) h.counts[at] += 1;
  }
}

template <class T>
void count(const T* values, int64_t size, Histogram& h, const std::vector<double>& edges) {
  if (edges.empty()) {
    const DefaultEdges& defaults = default_edges();
    return count(values, size, h, [&](double x) { return defaults.bucket(x); });
  }
  count(values, size, h, [&](double x) {
    if (x == edges.back()) return edges.size() - 2;
    // Below the first edge, the difference wraps around to a bucket that does not exist.
    return static_cast<size_t>(std::upper_bound(edges.begin(), edges.end(), x) - edges.begin()) - 1;
  });
}

void check_edges(const std::vector<double>& edges) {
  if (edges.empty()) return;
  TANDEM_CHECK(edges.size() >= 2, StateError, "bins has one edge; give at least two, or none for the default bins");
  for (size_t i = 0; i < edges.size(); ++i) {
    TANDEM_CHECK(std::isfinite(edges[i]) && (i == 0 || edges[i - 1] < edges[i]), StateError,
                 "bins[{}] = {}; the edges must be finite and ascend", i, edges[i]);
  }
}

}  // namespace

Histogram histogram_of(const Tensor& values, const std::vector<double>& edges) {
  TANDEM_CHECK(values.defined(), StateError, "the tensor is undefined; give one with elements");
  TANDEM_CHECK(values.numel() > 0, ShapeError, "the tensor is {}; a histogram needs at least one element",
               checks::show(values));
  check_edges(edges);
  const NoGradGuard no_grad;
  const amp::AutocastOff no_autocast;
  Tensor x = values.detach().cpu();
  if (x.dtype() != kFloat && x.dtype() != kDouble) x = x.to(is_integral(x.dtype(), true) ? kDouble : kFloat);
  x = x.contiguous();
  const std::vector<double>& limits = edges.empty() ? default_edges().all() : edges;
  Histogram h;
  h.counts.resize(limits.size() - 1);
  if (x.dtype() == kFloat) {
    count(x.const_data_ptr<float>(), x.numel(), h, edges);
  } else {
    count(x.const_data_ptr<double>(), x.numel(), h, edges);
  }
  const auto filled = [](double n) { return n > 0; };
  const auto begin = std::find_if(h.counts.begin(), h.counts.end(), filled);
  const auto end = std::find_if(h.counts.rbegin(), std::make_reverse_iterator(begin), filled).base();
  if (begin != h.counts.end()) {
    h.limits.assign(limits.begin() + (begin - h.counts.begin()), limits.begin() + (end - h.counts.begin()) + 1);
  }
  std::vector<double> counts(begin, end);
  if (!counts.empty()) counts.insert(counts.begin(), 0);
  h.counts = std::move(counts);
  return h;
}

}  // namespace tandem::io
