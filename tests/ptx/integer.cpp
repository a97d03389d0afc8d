// Integer arithmetic and logic. Results wrap around; the width of a shift is clamped, not reduced.
#include <bit>
#include <limits>

#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr unsigned kBits = 8 * sizeof(T);
template <class T>
using Twice = std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 8, int128, int64_t>,
                                 std::conditional_t<sizeof(T) == 8, uint128, uint64_t>>;

template <class T, class F>
T wrapped(T a, T b, const F& f) {
  return static_cast<T>(f(static_cast<Unsigned<T>>(a), static_cast<Unsigned<T>>(b)));
}

// The PTX ISA's operations, as functions of values of one integer type.
struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return wrapped(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Low {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Twice<T>>(a) * b);
  }
};
struct High {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<Twice<T>>(a) * b) >> kBits<T>);
  }
};
struct Wide {
  template <class T>
  auto operator()(T a, T b) const {
    if constexpr (sizeof(T) < 8) {
      return static_cast<int64_t>(static_cast<Twice<T>>(a) * b);  // cut to the register's width
    } else {
      return T{0};  // there is no mul.wide of 64 bits
    }
  }
};
template <class Product>
struct Mad {
  template <class T>
  auto operator()(T a, T b, T c) const {
    return Add()(Product()(a, b), c);
  }
};
// Division by zero gives all ones, as on hardware; the PTX ISA leaves it open.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    return Subtract()(T{0}, a);
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? Negate()(a) : a;
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct CountLeadingZeros {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(a)));
  }
};
struct CountOnes {
  template <class T>
  uint32_t operator()(T a) const {
    return static_cast<uint32_t>(std::popcount(static_cast<Unsigned<T>>(a)));
  }
};

/// Selects four bytes of the eight of a and b. The highest bit of a selector repeats the byte's sign.
struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selectors) const {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (unsigned n = 0; n < 4; ++n) {
      const uint32_t selector = selectors >> 4 * n & 15;
      auto byte = static_cast<uint8_t>(bytes >> 8 * (selector & 7));
      if (selector & 8) byte = byte & 0x80 ? 0xff : 0;
      result |= uint32_t{byte} << 8 * n;
    }
    return result;
  }
};

/// Shifts by from[1], which has 32 bits whatever the type of from[0].
template <class T, bool left>
void shift(Warp& w, const Instruction& i, Lanes lanes) {
  compute<uint64_t, 2>(w, i, lanes, [](uint64_t value, uint64_t by) -> T {
    const auto a = static_cast<T>(value);
    const auto count = static_cast<uint32_t>(by);
    if (count >= kBits<T>) return !left && a < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(left ? static_cast<T>(static_cast<Unsigned<T>>(a) << count) : a >> count);
  });
}
template <bool left>
Handler shift_of(Type type) {
  switch (bytes_of(type) * (type == Type::s16 || type == Type::s32 || type == Type::s64 ? -1 : 1)) {
    case 2:
      return shift<uint16_t, left>;
    case -2:
      return shift<int16_t, left>;
    case 4:
      return shift<uint32_t, left>;
    case -4:
      return shift<int32_t, left>;
    case 8:
      return shift<uint64_t, left>;
    default:
      return shift<int64_t, left>;
  }
}

/// and, or: a bit that one source decides alone does not depend on the other. nvcc's conversion of branches relies on
/// it.
template <class T, bool is_and>
void combine(Warp& w, const Instruction& i, Lanes lanes) {
  const Operand &a = i.from[0], &b = i.from[1];
  const Row &x = w.row(a), &y = w.row(b);
  const Lanes a_defined = w.defined_lanes(a), b_defined = w.defined_lanes(b);
  Lanes good = a_defined & b_defined;
  if ((lanes & ~good) != 0) {
    constexpr T deciding = is_and ? T{0} : static_cast<T>(~T{0});
    for_lanes(lanes & (a_defined ^ b_defined), [&](int l) {
      const auto at = static_cast<size_t>(l);
      const T known = static_cast<T>((a_defined >> l & 1) ? x[at] : y[at]);
      if (known == deciding) good |= Lanes{1} << l;
    });
  }
  Row& out = w.result(i.to[0]);
  for_lanes(lanes, [&](int l) {
    const auto at = static_cast<size_t>(l);
    out[at] = static_cast<T>(is_and ? x[at] & y[at] : x[at] | y[at]);
  });
  w.define(i.to[0], lanes, good);
}
template <bool is_and>
Handler combine_of(Type type) {
  switch (bytes_of(type)) {
    case 2:
      return combine<uint16_t, is_and>;
    case 4:
      return combine<uint32_t, is_and>;
    default:
      return combine<uint64_t, is_and>;
  }
}

enum class Logic : uint8_t { both, either, one, inverse };

/// and, or, xor and not of predicates.
void combine_predicates(Warp& w, const Instruction& i, Lanes lanes) {
  const Operand& a = i.from[0];
  const Lanes x = w.truth(a), x_defined = w.defined_lanes(a);
  const auto logic = static_cast<Logic>(i.variant);
  if (logic == Logic::inverse) return w.set_truth(i.to[0], lanes, ~x, x_defined);
  const Operand& b = i.from[1];
  const Lanes y = w.truth(b), y_defined = w.defined_lanes(b), both = x_defined & y_defined;
  if (logic == Logic::both) {
    w.set_truth(i.to[0], lanes, x & y, both | (x_defined & ~x) | (y_defined & ~y));
  } else if (logic == Logic::either) {
    w.set_truth(i.to[0], lanes, x | y, both | (x_defined & x) | (y_defined & y));
  } else {
    w.set_truth(i.to[0], lanes, x ^ y, both);
  }
}

/// to = from[1] with the low bits of from[0] inserted at bit from[2], from[3] bits wide.
void insert_bits(Warp& w, const Instruction& i, Lanes lanes) {
  const Row &a = w.row(i.from[0]), &b = w.row(i.from[1]), &at = w.row(i.from[2]), &count = w.row(i.from[3]);
  Row& out = w.result(i.to[0]);
  const auto bits = static_cast<uint64_t>(8 * bytes_of(i.type));
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const uint64_t position = at[l] & 0xff, width = count[l] & 0xff;
    uint64_t result = b[l];
    for (uint64_t n = 0; n < width && position + n < bits; ++n) {
      const uint64_t bit = uint64_t{1} << (position + n);
      result = (result & ~bit) | (a[l] >> n & 1 ? bit : 0);
    }
    out[l] = result;
  });
  w.define(i.to[0], lanes, all_defined(w, i));
}

template <template <class> class Form, size_t arity, class Lo, class Hi, class Wi>
Handler product(Opcode& op, Type type) {
  if (op.take("wide")) return for_integers<arity, Form<Wi>>(type);
  if (op.take("hi")) return for_integers<arity, Form<Hi>>(type);
  op.take("lo");
  return for_integers<arity, Form<Lo>>(type);
}
template <class Product>
struct Plain : Product {};

/// mad.wide adds a number of twice the width, so its sources have two types.
template <class T>
void mad_wide(Warp& w, const Instruction& i, Lanes lanes) {
  compute<uint64_t, 3>(w, i, lanes, [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
    return static_cast<uint64_t>(static_cast<Twice<T>>(as<T>(a)) * as<T>(b)) + c;
  });
}

}  // namespace

bool decode_integer(Opcode& op, Instruction& i) {
  const std::string& m = op.mnemonic();
  const Opcode before = op;
  i.type = i.source_type = op.take_type();
  const Type t = i.type;
  if (t == Type::pred) {
    const std::pair<const char*, Logic> logics[] = {
        {"and", Logic::both}, {"or", Logic::either}, {"xor", Logic::one}, {"not", Logic::inverse}};
    for (const auto& [name, logic] : logics) {
      if (m == name) i.run = combine_predicates, i.variant = static_cast<uint8_t>(logic);
    }
  } else if (m == "add") {
    i.run = for_integers<2, Add>(t);
  } else if (m == "sub") {
    i.run = for_integers<2, Subtract>(t);
  } else if (m == "mul") {
    i.run = product<Plain, 2, Low, High, Wide>(op, t);
  } else if (m == "mad") {
    if (op.take("wide")) {
      i.run = t == Type::u16   ? mad_wide<uint16_t>
              : t == Type::s16 ? mad_wide<int16_t>
              : t == Type::u32 ? mad_wide<uint32_t>
                               : mad_wide<int32_t>;
    } else {
      i.run = product<Mad, 3, Low, High, Low>(op, t);
    }
  } else if (m == "div") {
    i.run = for_integers<2, Divide>(t);
  } else if (m == "rem") {
    i.run = for_integers<2, Remainder>(t);
  } else if (m == "min") {
    i.run = for_integers<2, Min>(t);
  } else if (m == "max") {
    i.run = for_integers<2, Max>(t);
  } else if (m == "neg") {
    i.run = for_integers<1, Negate>(t);
  } else if (m == "abs") {
    i.run = for_integers<1, Absolute>(t);
  } else if (m == "not") {
    i.run = for_integers<1, Not>(t);
  } else if (m == "xor") {
    i.run = for_integers<2, Xor>(t);
  } else if (m == "and") {
    i.run = combine_of<true>(t);
  } else if (m == "or") {
    i.run = combine_of<false>(t);
  } else if (m == "shl") {
    i.run = shift_of<true>(t);
  } else if (m == "shr") {
    i.run = shift_of<false>(t);
  } else if (m == "clz") {
    i.run = for_integers<1, CountLeadingZeros>(t);
  } else if (m == "popc") {
    i.run = for_integers<1, CountOnes>(t);
  } else if (m == "prmt") {
    i.run = run<uint32_t, 3, Permute>;
  } else if (m == "bfi") {
    i.run = insert_bits;
  }
  if (!i.run) op = before;
  return i.run != nullptr;
}

}  // namespace tandem::ptx
