#pragma once
// Warp: the registers of 32 threads, and the loops by which handlers compute with them. A lane whose value was computed
// from an uninitialised register or memory is undefined, as in valgrind's memcheck: nvcc reads such registers where it
// does not use the result, so reading is no fault, but storing to global memory, addressing and branching are.
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "ptx/module.h"

namespace tandem::ptx {

class Block;

struct Warp {
  const std::vector<Row>& constants;  ///< of the kernel
  std::vector<Row>& values;
  std::vector<Lanes> defined;  ///< of each row
  std::vector<Lanes> predicates, predicates_defined;
  Lanes carry = 0;  ///< the flag CC.CF
  Block* block = nullptr;
  unsigned first_thread = 0;  ///< of the block, in lane 0

  const Row& row(const Operand& o) const { return o.kind == Operand::constant ? constants[o.index] : values[o.index]; }
  Row& result(const Operand& o) { return values[o.index]; }
  Lanes defined_lanes(const Operand& o) const {
    if (o.kind == Operand::predicate) return predicates_defined[o.index];
    return o.kind == Operand::value ? defined[o.index] : ~Lanes{0};
  }
  unsigned thread(int lane) const { return first_thread + static_cast<unsigned>(lane); }
  void define(const Operand& o, Lanes lanes, Lanes are_defined) {
    defined[o.index] = (defined[o.index] & ~lanes) | (lanes & are_defined);
  }
  /// The lanes in which a predicate is true.
  Lanes truth(const Operand& o) const {
    if (o.kind == Operand::constant) return constants[o.index][0] ? ~Lanes{0} : 0;
    return o.negated ? ~predicates[o.index] : predicates[o.index];
  }
  void set_truth(const Operand& o, Lanes lanes, Lanes truth, Lanes are_defined) {
    if (o.kind == Operand::none) return;  // the sink _
    predicates[o.index] = (predicates[o.index] & ~lanes) | (lanes & truth);
    predicates_defined[o.index] = (predicates_defined[o.index] & ~lanes) | (lanes & are_defined);
  }
};

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

template <class F>
void for_lanes(Lanes lanes, const F& f) {
  if (lanes == ~Lanes{0}) {
    for (int l = 0; l < kLanes; ++l) f(l);
  } else {
    for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
  }
}

template <class T>
T as(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));  // little-endian
  return value;
}

/// A value as a register of `bytes` holds it: signed integers are extended by their sign, others by zeros.
template <class T>
uint64_t in_register(T value, unsigned bytes) {
  uint64_t bits = 0;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    std::memcpy(&bits, &value, sizeof(T));
  }
  return bytes < 8 ? bits & ((uint64_t{1} << 8 * bytes) - 1) : bits;
}

/// Lanes in which all sources are defined.
inline Lanes all_defined(const Warp& w, const Instruction& i) {
  Lanes lanes = ~Lanes{0};
  for (const Operand& o : i.from) lanes &= w.defined_lanes(o);
  return lanes;
}

/// to[0] = f(from[0]) or f(from[0], from[1]) and so on, as values of type T; a result may have another type.
template <class T, size_t arity, class F>
void compute(Warp& w, const Instruction& i, Lanes lanes, const F& f) {
  const Operand& to = i.to[0];
  const Row* from[arity];
  for (size_t n = 0; n < arity; ++n) from[n] = &w.row(i.from[n]);
  const Lanes good = all_defined(w, i);
  Row& out = w.result(to);
  for_lanes(lanes, [&](int l) {
    const auto at = static_cast<size_t>(l);
    if constexpr (arity == 1) {
      out[at] = in_register(f(as<T>((*from[0])[at])), to.bytes);
    } else if constexpr (arity == 2) {
      out[at] = in_register(f(as<T>((*from[0])[at]), as<T>((*from[1])[at])), to.bytes);
    } else {
      out[at] = in_register(f(as<T>((*from[0])[at]), as<T>((*from[1])[at]), as<T>((*from[2])[at])), to.bytes);
    }
  });
  w.define(to, lanes, good);
}

/// The handler of F, a stateless function object, for values of type T.
template <class T, size_t arity, class F>
void run(Warp& w, const Instruction& i, Lanes lanes) {
  compute<T, arity>(w, i, lanes, F());
}

template <size_t arity, class F>
Handler for_integers(Type type) {
  switch (type) {
    case Type::u16:
    case Type::b16:
      return run<uint16_t, arity, F>;
    case Type::s16:
      return run<int16_t, arity, F>;
    case Type::u32:
    case Type::b32:
      return run<uint32_t, arity, F>;
    case Type::s32:
      return run<int32_t, arity, F>;
    case Type::u64:
    case Type::b64:
      return run<uint64_t, arity, F>;
    case Type::s64:
      return run<int64_t, arity, F>;
    default:
      return nullptr;
  }
}

}  // namespace tandem::ptx
