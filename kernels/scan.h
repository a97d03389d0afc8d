#pragma once
// The formulas of scans: the state of a scan, the state of one element, and how two states combine.
#include "kernels/fold.h"
#include "tandem/math/arithmetic.h"

namespace tandem::kernels {

/// A state for C values that is a number, held in `Held`: C is f32, f64 or i64.
template <class C, class Held>
struct NumberScan {
  using State = Held;
  TANDEM_MATH static State of(C x, int64_t) { return static_cast<State>(x); }
  TANDEM_MATH static C value(State s) { return static_cast<C>(s); }
  TANDEM_MATH static int64_t index(State) { return 0; }
};

/// Sums: in f64, integers modulo 2^64.
template <class C>
struct SumScan : NumberScan<C, std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>> {
  using State = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>;
  TANDEM_MATH static State identity() { return 0; }
  TANDEM_MATH static State combine(State a, State b) { return a + b; }
};

/// Products: in f64, integers modulo 2^64.
template <class C>
struct ProductScan : NumberScan<C, std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>> {
  using State = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>;
  TANDEM_MATH static State identity() { return 1; }
  TANDEM_MATH static State combine(State a, State b) { return a * b; }
};

/// log(e^a + e^b), in f64.
template <class C>
struct LogSumExpScan : NumberScan<C, double> {
  TANDEM_MATH static double identity() { return -math::kInf<double>; }
  TANDEM_MATH static double combine(double a, double b) {
    const double high = math::maximum(a, b), low = math::minimum(a, b);
    // Equal infinities would give inf - inf.
    return high == low && high - low != 0 ? high : high + math::log1p(math::exp(low - high));
  }
};

/// The largest or smallest element and its index; of equals the later, and NaN before all numbers. An index below 0
/// means no element.
template <class C, bool kLargest>
struct ExtremeScan {
  struct State {
    C value;
    int64_t index;
  };
  TANDEM_MATH static State identity() { return {C(0), -1}; }
  TANDEM_MATH static State of(C x, int64_t i) { return {x, i}; }
  TANDEM_MATH static C value(const State& s) { return s.value; }
  TANDEM_MATH static int64_t index(const State& s) { return s.index; }
  /// b comes after a.
  TANDEM_MATH static State combine(const State& a, const State& b) {
    if (a.index < 0) return b;
    if (b.index < 0) return a;
    return wins(a, b.value) ? b : a;
  }
  /// Whether x takes the place of a, which has an element.
  TANDEM_MATH static bool wins(const State& a, C x) {
    return (x != x) | ((kLargest ? x >= a.value : x <= a.value) & (a.value == a.value));
  }
};

/// Calls f(S{}) with the formulas of a scan. logaddexp is defined for floating C.
template <class C, class F>
void visit_scan(Scan op, F&& f) {
  switch (op) {
    case Scan::prod:
      return f(ProductScan<C>{});
    case Scan::max:
      return f(ExtremeScan<C, true>{});
    case Scan::min:
      return f(ExtremeScan<C, false>{});
    case Scan::logaddexp:
      if constexpr (!std::is_same_v<C, int64_t>) f(LogSumExpScan<C>{});
      return;
  }
}

}  // namespace tandem::kernels
