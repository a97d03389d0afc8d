#pragma once
// A plain reference for autograd: strided tensors of dual numbers, which hold their derivative with respect to every
// input element. Views share memory, as in tandem; nothing is recorded.
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tandem::testing {

/// Number of elements of all inputs together.
inline constexpr size_t kDirections = 9;

struct Dual {
  double v = 0;
  std::array<double, kDirections> d{};
};

/// f(a) with derivative `by_a`.
inline Dual chain(double value, const Dual& a, double by_a) {
  Dual y{value, {}};
  for (size_t i = 0; i < kDirections; ++i) y.d[i] = by_a * a.d[i];
  return y;
}
inline Dual chain(double value, const Dual& a, double by_a, const Dual& b, double by_b) {
  Dual y{value, {}};
  for (size_t i = 0; i < kDirections; ++i) y.d[i] = by_a * a.d[i] + by_b * b.d[i];
  return y;
}
inline Dual operator+(const Dual& a, const Dual& b) { return chain(a.v + b.v, a, 1, b, 1); }
inline Dual operator-(const Dual& a, const Dual& b) { return chain(a.v - b.v, a, 1, b, -1); }
inline Dual operator*(const Dual& a, const Dual& b) { return chain(a.v * b.v, a, b.v, b, a.v); }
inline Dual operator/(const Dual& a, const Dual& b) { return chain(a.v / b.v, a, 1 / b.v, b, -a.v / (b.v * b.v)); }
inline Dual constant(double v) { return {v, {}}; }

/// Refers to elements of shared memory in row-major order.
class DualTensor {
 public:
  using Sizes = std::vector<int64_t>;

  DualTensor(Sizes sizes, std::vector<Dual> values)
      : sizes_(std::move(sizes)), memory_(std::make_shared<std::vector<Dual>>(std::move(values))) {
    for (size_t i = 0; i < memory_->size(); ++i) at_.push_back(i);
  }
  const Sizes& sizes() const { return sizes_; }
  size_t numel() const { return at_.size(); }
  Dual operator[](size_t i) const {
    const Dual& x = (*memory_)[at_[i]];
    return tracked_ ? x : constant(x.v);
  }
  /// Without recording, or through a detached view, only the value changes, not the derivative.
  void write(size_t i, const Dual& x, bool recording) const {
    Dual& to = (*memory_)[at_[i]];
    if (recording && tracked_) {
      to = x;
    } else {
      to.v = x.v;
    }
  }
  /// The same memory with other sizes: element i is element order[i] of this tensor.
  DualTensor view(Sizes sizes, const std::vector<size_t>& order) const {
    DualTensor y = *this;
    y.sizes_ = std::move(sizes);
    y.at_.clear();
    for (size_t i : order) y.at_.push_back(at_[i]);
    return y;
  }
  DualTensor detached() const {
    DualTensor y = *this;
    y.tracked_ = false;
    return y;
  }
  /// Multiplies all derivatives, as a hook on the gradient does.
  void scale_derivatives(double factor) const {
    for (size_t i : at_) {
      for (double& d : (*memory_)[i].d) d *= factor;
    }
  }

 private:
  Sizes sizes_;
  std::vector<size_t> at_;
  std::shared_ptr<std::vector<Dual>> memory_;
  bool tracked_ = true;
};

}  // namespace tandem::testing
