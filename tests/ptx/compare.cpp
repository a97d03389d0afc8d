// setp and selp. A comparison of floating-point numbers is false beside a NaN, unless its name ends with u.
#include <cmath>

#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

// The low four bits of `variant`; then how the result is combined with a predicate.
enum Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr const char* kComparisons[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
enum Combination : uint8_t { with_and = 16, with_or = 32, with_xor = 64 };

template <class T>
bool holds(int comparison, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (comparison == num || comparison == nan) return unordered == (comparison == nan);
    if (unordered) return comparison >= equ;
    if (comparison >= equ) comparison -= equ;
  }
  switch (comparison) {
    case eq:
      return a == b;
    case ne:
      return a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    default:
      return a >= b;
  }
}

template <class T>
void compare(Warp& w, const Instruction& i, Lanes lanes) {
  const Row &a = w.row(i.from[0]), &b = w.row(i.from[1]);
  const int comparison = i.variant & 15;
  Lanes truth = 0;
  for_lanes(lanes, [&](int l) {
    const auto at = static_cast<size_t>(l);
    truth |= Lanes{holds(comparison, as<T>(a[at]), as<T>(b[at]))} << l;
  });
  const Lanes good = all_defined(w, i);
  Lanes first = truth, second = ~truth;
  if (i.from.size() == 3) {
    const Lanes p = w.truth(i.from[2]);
    const auto combined = [&](Lanes x) { return i.variant & with_and ? x & p : i.variant & with_or ? x | p : x ^ p; };
    first = combined(truth);
    second = combined(~truth);
  }
  w.set_truth(i.to[0], lanes, first, good);
  if (i.to.size() == 2) w.set_truth(i.to[1], lanes, second, good);
}

Handler compare_of(Type type) {
  switch (type) {
    case Type::u16:
    case Type::b16:
      return compare<uint16_t>;
    case Type::s16:
      return compare<int16_t>;
    case Type::u32:
    case Type::b32:
      return compare<uint32_t>;
    case Type::s32:
      return compare<int32_t>;
    case Type::u64:
    case Type::b64:
      return compare<uint64_t>;
    case Type::s64:
      return compare<int64_t>;
    case Type::f32:
      return compare<float>;
    case Type::f64:
      return compare<double>;
    default:
      return nullptr;
  }
}

/// The value that is not chosen may be undefined.
void select(Warp& w, const Instruction& i, Lanes lanes) {
  const Lanes truth = w.truth(i.from[2]);
  const Row &a = w.row(i.from[0]), &b = w.row(i.from[1]);
  const Lanes good =
      ((truth & w.defined_lanes(i.from[0])) | (~truth & w.defined_lanes(i.from[1]))) & w.defined_lanes(i.from[2]);
  Row& out = w.result(i.to[0]);
  const int bytes = bytes_of(i.type);
  const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
  for_lanes(lanes, [&](int l) {
    const auto at = static_cast<size_t>(l);
    out[at] = (truth >> l & 1 ? a[at] : b[at]) & mask;
  });
  w.define(i.to[0], lanes, good);
}

}  // namespace

bool decode_compare(Opcode& op, Instruction& i) {
  if (op.mnemonic() == "selp") {
    i.type = i.source_type = op.take_type();
    i.run = select;
    return true;
  }
  if (op.mnemonic() != "setp") return false;
  for (uint8_t c = 0; c < std::size(kComparisons); ++c) {
    if (op.take(kComparisons[c])) i.variant = c;
  }
  const int combination = op.take("and") ? with_and : op.take("or") ? with_or : op.take("xor") ? with_xor : 0;
  i.variant = static_cast<uint8_t>(i.variant | combination);
  i.type = i.source_type = op.take_type();
  i.run = compare_of(i.type);
  return i.run != nullptr;
}

}  // namespace tandem::ptx
