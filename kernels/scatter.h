#pragma once
// How scatter kernels combine an element y with a term s, equal on all backends. The result has y's type, rounded once.
#include "kernels/compute.h"

namespace tandem::kernels {

struct Add {
  template <class Y, class S>
  TANDEM_HOST_DEVICE Y operator()(Y y, S s) const {
    return sum_of(y, s);
  }
};

struct Assign {
  template <class T>
  TANDEM_HOST_DEVICE T operator()(T, T s) const {
    return s;
  }
};

/// Integers modulo 2^bits, bools by and.
struct Multiply {
  template <class Y, class S>
  TANDEM_HOST_DEVICE Y operator()(Y y, S s) const {
    if constexpr (std::is_same_v<Y, bool>) {
      return y && s;
    } else if constexpr (std::is_integral_v<Y>) {
      return static_cast<Y>(static_cast<uint64_t>(y) * static_cast<uint64_t>(s));
    } else if constexpr (std::is_same_v<Y, double>) {
      return y * static_cast<double>(s);
    } else {
      return Y(static_cast<float>(y) * static_cast<float>(s));
    }
  }
};

/// NaN if either is NaN.
struct Max {
  template <class T>
  TANDEM_HOST_DEVICE T operator()(T y, T s) const {
    if constexpr (std::is_integral_v<T>) {
      return s > y ? s : y;
    } else {
      using C = FloatingCompute<T>;
      const C a = static_cast<C>(y), b = static_cast<C>(s);
      return b > a || b != b ? s : y;
    }
  }
};
struct Min {
  template <class T>
  TANDEM_HOST_DEVICE T operator()(T y, T s) const {
    if constexpr (std::is_integral_v<T>) {
      return s < y ? s : y;
    } else {
      using C = FloatingCompute<T>;
      const C a = static_cast<C>(y), b = static_cast<C>(s);
      return b < a || b != b ? s : y;
    }
  }
};

/// Calls f(Combine{}) for the three ways that depend on the values.
template <class F>
void visit_combine(Scatter op, F&& f) {
  if (op == Scatter::multiply) return f(Multiply{});
  if (op == Scatter::max) return f(Max{});
  f(Min{});
}

}  // namespace tandem::kernels
