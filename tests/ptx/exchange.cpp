// Instructions by which the lanes of a warp see each other's values: shfl and vote.
#include "ptx/block.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

/// shfl.sync.bfly.b32 result|inside, value, distance, bounds, mask: from the lane whose number differs in the bits of
/// `distance`; beyond the bounds, the lane's own value.
void shuffle(Warp& w, const Instruction& i, Lanes lanes) {
  const Row values = w.row(i.from[0]);
  const Lanes defined = w.defined_lanes(i.from[0]) & lanes;  // a lane that does not take part has no value
  Lanes good = 0, inside = 0;
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const auto distance = static_cast<int>(w.row(i.from[1])[l]), bounds = static_cast<int>(w.row(i.from[2])[l]);
    const int clamp = bounds & 31, segment = bounds >> 8 & 31;
    const int last = (lane & segment) | (clamp & ~segment);
    int source = (lane ^ distance) & 31;
    inside |= Lanes{source <= last} << lane;
    if (source > last) source = lane;
    w.result(i.to[0])[l] = values[static_cast<size_t>(source)];
    good |= (defined >> source & 1) << lane;
  });
  good &= w.defined_lanes(i.from[1]) & w.defined_lanes(i.from[2]);
  w.define(i.to[0], lanes, good);
  if (i.to.size() > 1) w.set_truth(i.to[1], lanes, inside, ~Lanes{0});
}

/// vote.sync.any.pred result, predicate, mask
void vote(Warp& w, const Instruction& i, Lanes lanes) {
  const Lanes undefined = lanes & ~w.defined_lanes(i.from[0]);
  w.set_truth(i.to[0], lanes, w.truth(i.from[0]) & lanes ? ~Lanes{0} : 0, undefined ? 0 : ~Lanes{0});
}

}  // namespace

bool decode_exchange(Opcode& op, Instruction& i) {
  if (op.mnemonic() == "shfl" && op.take("sync") && op.take("bfly") && op.take("b32")) {
    i.run = shuffle;
  } else if (op.mnemonic() == "vote" && op.take("sync") && op.take("any") && op.take("pred")) {
    i.run = vote;
  } else {
    return false;
  }
  i.control = Control::meets;
  i.mask = i.from.back();
  i.from.pop_back();
  return true;
}

}  // namespace tandem::ptx
