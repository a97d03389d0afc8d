// mov, also of predicates, and to and from registers that are parts of a larger one; cvta.
#include "ptx/memory.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

void move(Warp& w, const Instruction& i, Lanes lanes) {
  compute<uint64_t, 1>(w, i, lanes, [](uint64_t a) { return a; });
}
void move_predicate(Warp& w, const Instruction& i, Lanes lanes) {
  w.set_truth(i.to[0], lanes, w.truth(i.from[0]), w.defined_lanes(i.from[0]));
}

/// mov.b32 %r1, {%rs1, %rs2}: the first is the lowest part.
void pack(Warp& w, const Instruction& i, Lanes lanes) {
  const auto bits = static_cast<unsigned>(8 * bytes_of(i.type)) / static_cast<unsigned>(i.from.size());
  const Lanes good = all_defined(w, i);
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    uint64_t all = 0;
    for (size_t n = 0; n < i.from.size(); ++n) {
      all |= (w.row(i.from[n])[l] & ((uint64_t{1} << bits) - 1)) << bits * n;
    }
    w.result(i.to[0])[l] = all;
  });
  w.define(i.to[0], lanes, good);
}
/// mov.b32 {%rs1, %rs2}, %r1
void unpack(Warp& w, const Instruction& i, Lanes lanes) {
  const auto bits = static_cast<unsigned>(8 * bytes_of(i.type)) / static_cast<unsigned>(i.to.size());
  const Lanes good = all_defined(w, i);
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const uint64_t all = w.row(i.from[0])[l];
    for (size_t n = 0; n < i.to.size(); ++n) {
      if (i.to[n].kind == Operand::value) w.result(i.to[n])[l] = all >> bits * n & ((uint64_t{1} << bits) - 1);
    }
  });
  for (const Operand& o : i.to) {
    if (o.kind == Operand::value) w.define(o, lanes, good);
  }
}

void to_generic(Warp& w, const Instruction& i, Lanes lanes) {
  compute<uint64_t, 1>(w, i, lanes, [&](uint64_t a) { return a + window_of(i.space); });
}
void from_generic(Warp& w, const Instruction& i, Lanes lanes) {
  compute<uint64_t, 1>(w, i, lanes, [&](uint64_t a) { return a - window_of(i.space); });
}

}  // namespace

bool decode_move(Opcode& op, Instruction& i) {
  if (op.mnemonic() == "mov") {
    i.type = i.source_type = op.take_type();
    i.run = i.type == Type::pred ? move_predicate : i.from.size() > 1 ? pack : i.to.size() > 1 ? unpack : move;
    return true;
  }
  if (op.mnemonic() != "cvta") return false;
  i.run = op.take("to") ? from_generic : to_generic;
  i.space = op.take_space();
  i.type = i.source_type = op.take_type();
  return true;
}

}  // namespace tandem::ptx
