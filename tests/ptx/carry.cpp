// Additions, subtractions and products that pass a carry on in the flag CC.CF, for numbers of several registers. nvcc
// writes them for 64 and 128 bits in its mathematical functions.
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

enum Form : uint8_t { reads = 1, writes = 2, subtracts = 4, multiplies = 8, high = 16 };

/// One lane: the sum in twice the width; bits above the type's width are the carry (or borrow) out.
template <class T, class Wide>
void with_carry(Warp& w, const Instruction& i, Lanes lanes) {
  const bool product = i.variant & multiplies;
  const Row &a = w.row(i.from[0]), &b = w.row(i.from[1]), &c = w.row(i.from[product ? 2 : 1]);
  Row& out = w.result(i.to[0]);
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    T x = as<T>(a[l]);
    if (product) {
      const Wide all = static_cast<Wide>(x) * as<T>(b[l]);
      x = static_cast<T>(i.variant & high ? all >> 8 * sizeof(T) : all);
    }
    const Wide y = as<T>(c[l]), carry = i.variant & reads ? w.carry >> lane & 1 : 0;
    const Wide sum = i.variant & subtracts ? Wide{x} - y - carry : Wide{x} + y + carry;
    out[l] = static_cast<T>(sum);
    if (i.variant & writes) {
      const Lanes bit = Lanes{1} << lane;
      w.carry = sum >> 8 * sizeof(T) & 1 ? w.carry | bit : w.carry & ~bit;
    }
  });
  w.define(i.to[0], lanes, all_defined(w, i));
}

}  // namespace

bool decode_carry(Opcode& op, Instruction& i) {
  const std::string& m = op.mnemonic();
  const bool known = m == "add" || m == "sub" || m == "mad" || m == "addc" || m == "subc" || m == "madc";
  const bool in = m.size() == 4;
  if (!known) return false;
  const bool out = op.take("cc");
  if (!in && !out) return false;
  i.variant = static_cast<uint8_t>((in ? reads : 0) | (out ? writes : 0) | (m[0] == 's' ? subtracts : 0) |
                                   (m[0] == 'm' ? multiplies : 0) | (op.take("hi") ? high : 0));
  op.take("lo");
  i.type = i.source_type = op.take_type();
  i.run = bytes_of(i.type) == 8 ? with_carry<uint64_t, uint128> : with_carry<uint32_t, uint64_t>;
  return true;
}

}  // namespace tandem::ptx
