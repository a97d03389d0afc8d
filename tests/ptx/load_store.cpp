// ld and st, also of vectors: the parts follow each other in memory.
#include "ptx/block.h"
#include "ptx/opcode.h"
#include "ptx/warp.h"

namespace tandem::ptx {
namespace {

constexpr size_t kLongest = 16;

/// Bytes of memory, as a register of `to` bytes holds them.
uint64_t loaded(const std::byte* data, unsigned bytes, bool is_signed, unsigned to) {
  uint64_t value = 0;
  std::memcpy(&value, data, bytes);
  if (is_signed && bytes < 8 && value >> (8 * bytes - 1) & 1) value |= ~uint64_t{0} << 8 * bytes;
  return in_register(value, to);
}

void load(Warp& w, const Instruction& i, Lanes lanes) {
  const auto size = static_cast<unsigned>(bytes_of(i.type));
  const auto all = static_cast<unsigned>(size * i.to.size());
  for_lanes(lanes, [&](int lane) {
    std::byte data[kLongest];
    const uint64_t address = w.block->address(w, i, lane, i.from[0]);
    const Bytes defined = w.block->load(w, i, lane, address, data, all);
    for (size_t n = 0; n < i.to.size(); ++n) {
      const Operand& o = i.to[n];
      if (o.kind == Operand::none) continue;
      const bool is_defined = (~defined >> n * size & all_bytes(size)) == 0;
      w.define(o, Lanes{1} << lane, is_defined ? ~Lanes{0} : 0);
      w.result(o)[static_cast<size_t>(lane)] = loaded(data + n * size, size, is_signed(i.type), o.bytes);
    }
  });
}

void store(Warp& w, const Instruction& i, Lanes lanes) {
  const auto size = static_cast<unsigned>(bytes_of(i.type));
  const size_t parts = i.from.size() - 1;
  for_lanes(lanes, [&](int lane) {
    std::byte data[kLongest];
    Bytes defined = 0;
    for (size_t n = 0; n < parts; ++n) {
      if (w.defined_lanes(i.from[n + 1]) >> lane & 1) defined |= all_bytes(size) << n * size;
      std::memcpy(data + n * size, &w.row(i.from[n + 1])[static_cast<size_t>(lane)], size);
    }
    const uint64_t address = w.block->address(w, i, lane, i.from[0]);
    w.block->store(w, i, lane, address, data, static_cast<unsigned>(size * parts), defined);
  });
}

}  // namespace

bool decode_memory(Opcode& op, Instruction& i) {
  const bool is_load = op.mnemonic() == "ld";
  if (!is_load && op.mnemonic() != "st") return false;
  i.space = op.take_space();
  if (is_load) op.take("nc");  // through a cache that need not see the kernel's writes
  const bool is_vector = op.take("v2") || op.take("v4");
  i.type = i.source_type = op.take_type();
  const size_t parts = is_load ? i.to.size() : i.from.size() - 1;
  if (is_vector != (parts > 1) || parts * static_cast<size_t>(bytes_of(i.type)) > kLongest) return false;
  i.run = is_load ? load : store;
  return true;
}

}  // namespace tandem::ptx
