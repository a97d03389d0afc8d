// Floating-point arithmetic in f32 and f64. This file is compiled with -frounding-math and without contraction: other
// roundings than to nearest are those of the host's processor, switched for one instruction.
//
// Approximations (.approx) are computed in f64 and rounded, so they are more exact than hardware, whose errors the PTX
// ISA bounds: ex2 and rcp 1 to 2 ULP, rsqrt 2^-22.9, lg2 2^-22 absolutely near 1, sin and cos 2^-20.5 in [-pi, pi].
#include <cfenv>
#include <cmath>
#include <limits>

#include "ptx/formats.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

/// The host's rounding mode, until the end of a scope.
class RoundingScope {
 public:
  explicit RoundingScope(Rounding mode) : before_(std::fegetround()) {
    if (mode > Rounding::nearest) std::fesetround(host_mode(mode));
  }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int host_mode(Rounding mode) {
    return mode == Rounding::zero ? FE_TOWARDZERO : mode == Rounding::down ? FE_DOWNWARD : FE_UPWARD;
  }
  int before_;
};

/// NaNs that hardware makes have this one form.
template <class T>
T finished(const Instruction& i, T x) {
  if (std::isnan(x)) return as<T>(sizeof(T) == 4 ? 0x7fffffffu : 0x7fffffffffffffffu);
  if (i.saturate) x = x > 0 ? std::min(x, T{1}) : T{0};
  return i.flush ? flushed(x) : x;
}

template <class T, size_t arity, class F>
void run_float(Warp& w, const Instruction& i, Lanes lanes) {
  const RoundingScope scope(i.rounding);
  const F f;
  const auto in = [&i](T x) { return i.flush ? flushed(x) : x; };
  if constexpr (arity == 1) {
    compute<T, 1>(w, i, lanes, [&](T a) { return finished(i, f(in(a))); });
  } else if constexpr (arity == 2) {
    compute<T, 2>(w, i, lanes, [&](T a, T b) { return finished(i, f(in(a), in(b))); });
  } else {
    compute<T, 3>(w, i, lanes, [&](T a, T b, T c) { return finished(i, f(in(a), in(b), in(c))); });
  }
}

template <size_t arity, class F>
Handler for_floats(Type type) {
  return type == Type::f32 ? run_float<float, arity, F> : type == Type::f64 ? run_float<double, arity, F> : nullptr;
}

/// A function computed in f64 and rounded to T.
template <double (*function)(double)>
struct Through64 {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(function(static_cast<double>(a)));
  }
};

struct AddF {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct SubtractF {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct MultiplyF {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct DivideF {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct FusedMultiplyAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Reciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};

/// min and max: a NaN loses against a number, and -0 is below +0.
template <bool is_min>
struct Extreme {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) == is_min ? a : b;
    return (a < b) == is_min ? a : b;
  }
};

/// Operations on the sign keep NaNs as they are.
template <class T, size_t arity, class F>
void run_sign(Warp& w, const Instruction& i, Lanes lanes) {
  compute<T, arity>(w, i, lanes, F());
}
struct NegateF {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct AbsoluteF {
  template <class T>
  T operator()(T a) const {
    return std::fabs(a);
  }
};
/// The sign of a on the magnitude of b.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
template <size_t arity, class F>
Handler for_signs(Type type) {
  return type == Type::f32 ? run_sign<float, arity, F> : type == Type::f64 ? run_sign<double, arity, F> : nullptr;
}

double reciprocal_root(double x) { return 1 / std::sqrt(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double tangent(double x) { return std::tanh(x); }
double power_of_2(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }

struct Named {
  const char* mnemonic;
  Handler (*handler)(Type);
};
constexpr Named kOperations[] = {
    {"add", for_floats<2, AddF>},
    {"sub", for_floats<2, SubtractF>},
    {"mul", for_floats<2, MultiplyF>},
    {"div", for_floats<2, DivideF>},
    {"fma", for_floats<3, FusedMultiplyAdd>},
    {"mad", for_floats<3, FusedMultiplyAdd>},
    {"rcp", for_floats<1, Reciprocal>},
    {"sqrt", for_floats<1, SquareRoot>},
    {"min", for_floats<2, Extreme<true>>},
    {"max", for_floats<2, Extreme<false>>},
    {"neg", for_signs<1, NegateF>},
    {"abs", for_signs<1, AbsoluteF>},
    {"copysign", for_signs<2, CopySign>},
    {"rsqrt", for_floats<1, Through64<reciprocal_root>>},
    {"ex2", for_floats<1, Through64<power_of_2>>},
    {"lg2", for_floats<1, Through64<logarithm>>},
    {"sin", for_floats<1, Through64<sine>>},
    {"cos", for_floats<1, Through64<cosine>>},
    {"tanh", for_floats<1, Through64<tangent>>},
};

}  // namespace

bool decode_float(Opcode& op, Instruction& i) {
  const Opcode before = op;
  i.type = i.source_type = op.take_type();
  if (i.type != Type::f32 && i.type != Type::f64) {
    op = before;
    return false;
  }
  for (const Named& known : kOperations) {
    if (op.mnemonic() != known.mnemonic) continue;
    i.run = known.handler(i.type);
    op.take_rounding(i);
    op.take("approx");
    op.take("full");
    i.flush = op.take("ftz");
    i.saturate = op.take("sat");
    return true;
  }
  op = before;
  return false;
}

}  // namespace tandem::ptx
