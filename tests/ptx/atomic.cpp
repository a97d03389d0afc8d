// atom on global memory: lanes take turns, in their order.
#include <algorithm>

#include "ptx/block.h"
#include "ptx/formats.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

template <class T>
T sum(T a, T b) {
  return a + b;
}
/// In global memory, sums of f32 are flushed.
float flushed_sum(float a, float b) { return flushed(flushed(a) + flushed(b)); }
uint32_t larger(uint32_t a, uint32_t b) { return std::max(a, b); }
uint32_t second(uint32_t, uint32_t b) { return b; }

template <class T, T (*F)(T, T)>
void atomic(Warp& w, const Instruction& i, Lanes lanes) {
  for_lanes(lanes, [&](int lane) {
    const auto l = static_cast<size_t>(lane);
    const uint64_t address = w.block->address(w, i, lane, i.from[0]);
    std::byte* const memory = w.block->atomic(w, i, lane, address, sizeof(T));
    T old;
    std::memcpy(&old, memory, sizeof(T));
    if (!(w.defined_lanes(i.from[1]) >> lane & 1)) {
      w.block->report(Fault::uninitialized, i, w.thread(lane), address, "the value");
    }
    const T now = F(old, as<T>(w.row(i.from[1])[l]));
    std::memcpy(memory, &now, sizeof(T));
    w.result(i.to[0])[l] = in_register(old, i.to[0].bytes);
  });
  w.define(i.to[0], lanes, ~Lanes{0});
}

}  // namespace

bool decode_atomic(Opcode& op, Instruction& i) {
  if (op.mnemonic() != "atom") return false;
  i.space = op.take_space();
  if (i.space != Space::global) return false;
  const bool adds = op.take("add");
  i.type = i.source_type = op.take_type();
  if (adds && i.type == Type::u32) i.run = atomic<uint32_t, sum<uint32_t>>;
  if (adds && i.type == Type::u64) i.run = atomic<uint64_t, sum<uint64_t>>;
  if (adds && i.type == Type::f32) i.run = atomic<float, flushed_sum>;
  if (adds && i.type == Type::f64) i.run = atomic<double, sum<double>>;
  if (i.type == Type::u32 && op.take("max")) i.run = atomic<uint32_t, larger>;
  if (i.type == Type::b32 && op.take("exch")) i.run = atomic<uint32_t, second>;
  return i.run != nullptr;
}

}  // namespace tandem::ptx
