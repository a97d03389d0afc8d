// cp.async: copies from global to shared memory that end when the thread waits for them.
#include "ptx/block.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

/// cp.async.cg.shared.global [to], [from], bytes, bytes to read
void copy(Warp& w, const Instruction& i, Lanes lanes) {
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const uint64_t to = w.block->address(w, i, lane, i.from[0]), from = w.block->address(w, i, lane, i.from[1]);
    const auto bytes = static_cast<unsigned>(w.row(i.from[2])[l]);
    const unsigned read = i.from.size() > 3 ? static_cast<uint32_t>(w.row(i.from[3])[l]) : bytes;
    w.block->copy_async(w, i, lane, to, from, bytes, read);
  });
}
void commit(Warp& w, const Instruction&, Lanes lanes) {
  for_lanes(lanes, [&](int lane) { w.block->commit_copies(w.thread(lane)); });
}
void wait(Warp& w, const Instruction& i, Lanes lanes) {
  for_lanes(lanes, [&](int lane) { w.block->wait_for_copies(w, i, lane, w.row(i.from[0])[0]); });
}

}  // namespace

bool decode_async_copy(Opcode& op, Instruction& i) {
  if (op.mnemonic() != "cp" || !op.take("async")) return false;
  if (op.take("commit_group")) {
    i.run = commit;
  } else if (op.take("wait_group")) {
    i.run = wait;
  } else if (op.take("cg") && op.take("shared") && op.take("global")) {
    i.run = copy;
  }
  return true;
}

}  // namespace tandem::ptx
