// cvt: between all types and in every direction. Sources are widened exactly, to f64 or to 128 bits.
#include <algorithm>
#include <limits>

#include "ptx/formats.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

bool is_float(Type t) { return t >= Type::f16; }
const Format& format_of(Type t) {
  return t == Type::f16 || t == Type::f16x2 ? kF16 : t == Type::bf16 || t == Type::bf16x2 ? kBf16 : kF32;
}

double float_in(uint64_t bits, Type t) {
  if (t == Type::f64) return as<double>(bits);
  if (t == Type::f32) return static_cast<double>(as<float>(bits));
  return value_of(static_cast<uint16_t>(bits), format_of(t));
}

/// The bits of x, which the format represents.
uint64_t float_bits(double x, Type t) {
  if (t == Type::f64) return std::isnan(x) ? 0x7fffffffffffffff : in_register(x, 8);
  if (t == Type::f32) return std::isnan(x) ? 0x7fffffff : in_register(static_cast<float>(x), 8);
  return code_of(x, format_of(t));
}

uint64_t to_float(double x, const Instruction& i) {
  if (i.integral) x = std::copysign(rounded(x, i.rounding), x);
  if (i.saturate) x = x > 0 ? std::min(x, 1.0) : 0;  // NaN gives 0
  if (i.type != Type::f64 && !i.integral) x = rounded(x, format_of(i.type), i.rounding);
  return float_bits(x, i.type);
}

using Integer = int128;
Integer integer_in(uint64_t bits, Type t) {
  const int unused = 64 - 8 * bytes_of(t);
  bits <<= unused;
  return is_signed(t) ? Integer{static_cast<int64_t>(bits) >> unused} : Integer{bits >> unused};
}

/// The largest or smallest number of an integer type.
Integer limit(Type t, bool largest) {
  const int bits = 8 * bytes_of(t) - (is_signed(t) ? 1 : 0);
  return largest ? (Integer{1} << bits) - 1 : is_signed(t) ? -(Integer{1} << bits) : 0;
}

uint64_t to_integer(double x, const Instruction& i) {
  if (std::isnan(x)) {  // PTX ISA, cvt
    const bool zero = i.source_type != Type::f64 && bytes_of(i.type) < 8;
    return zero ? 0 : uint64_t{1} << (8 * bytes_of(i.type) - 1);
  }
  const double whole = rounded(x, i.rounding);
  const Integer least = limit(i.type, false), most = limit(i.type, true);
  const Integer value = whole <= static_cast<double>(least)  ? least
                        : whole >= static_cast<double>(most) ? most
                                                             : static_cast<Integer>(whole);
  return static_cast<uint64_t>(value);
}

/// An integer of up to 64 bits, rounded once.
uint64_t float_of_integer(Integer value, const Instruction& i) {
  if (i.type == Type::f64 && i.rounding == Rounding::nearest) return float_bits(static_cast<double>(value), i.type);
  if (i.type == Type::f32 && i.rounding == Rounding::nearest) {
    return in_register(static_cast<float>(value), 8);
  }
  // f64 holds what is below 2^53. Of larger numbers it holds the upper part, and the rest decides as a last bit.
  const bool negative = value < 0;
  auto magnitude = static_cast<uint64_t>(negative ? -value : value);
  int shift = 0;
  for (; magnitude >> 53; ++shift) magnitude = magnitude >> 1 | (magnitude & 1);
  const double x = std::ldexp(static_cast<double>(magnitude), shift);
  return to_float(negative ? -x : x, i);
}

uint64_t to_register(uint64_t bits, Type t, unsigned bytes) {
  const Integer value = integer_in(bits, is_float(t) && bytes_of(t) == 8 ? Type::u64 : t);
  return in_register(static_cast<int64_t>(value), bytes);
}

void convert(Warp& w, const Instruction& i, Lanes lanes) {
  const Row& from = w.row(i.from[0]);
  Row& out = w.result(i.to[0]);
  const bool from_float = is_float(i.source_type), to_a_float = is_float(i.type);
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    if (to_a_float) {
      out[l] = from_float ? to_float(float_in(from[l], i.source_type), i)
                          : float_of_integer(integer_in(from[l], i.source_type), i);
      return;
    }
    uint64_t bits;
    if (from_float) {
      bits = to_integer(float_in(from[l], i.source_type), i);
    } else {
      Integer value = integer_in(from[l], i.source_type);
      if (i.saturate) value = std::clamp(value, limit(i.type, false), limit(i.type, true));
      bits = static_cast<uint64_t>(value);
    }
    out[l] = to_register(bits, i.type, i.to[0].bytes);
  });
  w.define(i.to[0], lanes, all_defined(w, i));
}

/// Two f32 numbers to a pair: the first source is the upper half.
void convert_pair(Warp& w, const Instruction& i, Lanes lanes) {
  const Row &high = w.row(i.from[0]), &low = w.row(i.from[1]);
  Row& out = w.result(i.to[0]);
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const auto code = [&](uint64_t bits) { return to_float(float_in(bits, Type::f32), i) & 0xffff; };
    out[l] = code(high[l]) << 16 | code(low[l]);
  });
  w.define(i.to[0], lanes, all_defined(w, i));
}

}  // namespace

bool decode_convert(Opcode& op, Instruction& i) {
  if (op.mnemonic() != "cvt") return false;
  op.take_rounding(i);
  i.saturate = op.take("sat");
  i.type = op.take_type();
  i.source_type = op.take_type();
  const bool pair = i.type == Type::f16x2 || i.type == Type::bf16x2;
  i.run = pair ? convert_pair : convert;
  return i.source_type != Type::none;
}

}  // namespace tandem::ptx
