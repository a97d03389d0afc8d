// A block's memories: where an address is, and who else has accessed it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/block.h"

namespace tandem::ptx {

uint64_t Block::address(const Warp& w, const Instruction& i, int lane, const Operand& base) {
  if (!(w.defined_lanes(base) >> lane & 1)) report(Fault::uninitialized, i, w.thread(lane), 0, "the address");
  const uint64_t sum = w.row(base)[static_cast<size_t>(lane)] + static_cast<uint64_t>(i.offset);
  return base.bytes == 4 ? static_cast<uint32_t>(sum) : sum;
}

Block::Place Block::place(const Warp& w, const Instruction& i, int lane, Space space, uint64_t address,
                          unsigned bytes) {
  const unsigned thread = w.thread(lane);
  if (address % bytes) {
    stop(Fault::misaligned, i, thread, address, fmt::format("not a multiple of {} bytes", bytes));
  }
  if (space == Space::generic) {
    for (const Space s : {Space::shared, Space::local, Space::param}) {
      if (address / kWindow == window_of(s) / kWindow) return place(w, i, lane, s, address - window_of(s), bytes);
    }
    space = Space::global;
  }
  const auto check = [&](size_t size, const char* what) {
    if (address > size || bytes > size - address) {
      stop(Fault::out_of_bounds, i, thread, address, fmt::format("{} bytes of {}", size, what));
    }
  };
  switch (space) {
    case Space::shared:
      check(shared_.size(), "shared memory");
      return {shared_.data() + address, space, address};
    case Space::local: {
      check(grid_.kernel.local_bytes, "local memory");
      const uint64_t at = thread * grid_.kernel.local_bytes + address;
      return {local_.data() + at, space, at};
    }
    case Space::param:
      check(grid_.launch.parameters.size(), "parameters");
      return {const_cast<std::byte*>(grid_.launch.parameters.data()) + address, space, address};
    default:
      break;
  }
  if (!grid_.range.contains(address, bytes)) {
    std::optional<Range> found = grid_.memory.range(address);
    for (const auto& [name, data] : grid_.kernel.variables) {
      const auto begin = reinterpret_cast<uint64_t>(data.data());
      if (address >= begin && address < begin + data.size()) found = Range{begin, begin + data.size(), name};
    }
    if (!found) stop(Fault::out_of_bounds, i, thread, address, "no memory of the device");
    if (!found->contains(address, bytes)) stop(Fault::out_of_bounds, i, thread, address, found->what);
    grid_.range = *found;
  }
  return {reinterpret_cast<std::byte*>(address), Space::global, address};
}

void Block::note_shared(const Instruction& i, unsigned thread, const Place& at, unsigned bytes, Access access) {
  bool races = false, is_being_copied = false;
  for (uint64_t n = at.offset; n < at.offset + bytes; ++n) {
    races |= shared_bytes_[n].races(access, thread, barriers_);
    is_being_copied |= shared_bytes_[n].copier != Accessors::kNone;
  }
  if (is_being_copied) report(Fault::async_copy, i, thread, at.offset, "a copy to it has not been waited for");
  if (races) report(Fault::shared_race, i, thread, at.offset, "no barrier since another thread's access");
}

void Block::note_global(const Instruction& i, unsigned thread, const Place& at, unsigned bytes, Access access) {
  if (grid_.trace.races(access, at.offset, bytes, number_)) {
    report(Fault::global_race, i, thread, at.offset, "another block accesses it in this launch");
  }
}

Block::Place Block::note(const Warp& w, const Instruction& i, int lane, uint64_t address, unsigned bytes,
                         Access access) {
  const Place at = place(w, i, lane, i.space, address, bytes);
  if (grid_.counts) accesses_.push_back({at.space, lane, at.offset, bytes});
  if (at.space == Space::shared) note_shared(i, w.thread(lane), at, bytes, access);
  if (at.space == Space::global) note_global(i, w.thread(lane), at, bytes, access);
  return at;
}

Bytes Block::load(const Warp& w, const Instruction& i, int lane, uint64_t address, void* to, unsigned bytes) {
  const Place at = note(w, i, lane, address, bytes, Access::read);
  std::memcpy(to, at.data, bytes);
  if (at.space != Space::shared && at.space != Space::local) return all_bytes(bytes);
  Bytes defined = 0;
  for (unsigned n = 0; n < bytes; ++n) {
    const bool is_defined = at.space == Space::shared ? shared_bytes_[at.offset + n].initialized
                                                      : bool{local_is_initialized_[at.offset + n]};
    defined |= Bytes{is_defined} << n;
  }
  return defined;
}

void Block::store(const Warp& w, const Instruction& i, int lane, uint64_t address, const void* from, unsigned bytes,
                  Bytes defined) {
  const Place at = note(w, i, lane, address, bytes, Access::write);
  if (at.space == Space::param) stop(Fault::out_of_bounds, i, w.thread(lane), address, "parameters are only read");
  std::memcpy(at.data, from, bytes);
  for (unsigned n = 0; n < bytes && at.space != Space::global; ++n) {
    const bool is_defined = defined >> n & 1;
    if (at.space == Space::shared) shared_bytes_[at.offset + n].initialized = is_defined;
    if (at.space == Space::local) local_is_initialized_[at.offset + n] = is_defined;
  }
  if (at.space == Space::global && defined != all_bytes(bytes))
    report(Fault::uninitialized, i, w.thread(lane), address, "the value");
}

std::byte* Block::atomic(const Warp& w, const Instruction& i, int lane, uint64_t address, unsigned bytes) {
  return note(w, i, lane, address, bytes, Access::atomic).data;
}

void Block::copy_async(const Warp& w, const Instruction& i, int lane, uint64_t to, uint64_t from, unsigned bytes,
                       unsigned read) {
  const unsigned thread = w.thread(lane);
  Copy copy{place(w, i, lane, Space::shared, to, bytes), std::vector<std::byte>(bytes)};
  if (read > 0) {
    const Place source = place(w, i, lane, Space::global, from, bytes);
    note_global(i, thread, source, read, Access::read);
    std::memcpy(copy.data.data(), source.data, read);
    if (grid_.counts) accesses_.push_back({Space::global, lane, source.offset, read});
  }
  if (grid_.counts) accesses_.push_back({Space::shared, lane, copy.to.offset, bytes});
  note_shared(i, thread, copy.to, bytes, Access::write);
  for (uint64_t n = 0; n < bytes; ++n) shared_bytes_[copy.to.offset + n].copier = thread;
  copies_[thread].open.push_back(std::move(copy));
}

void Block::commit_copies(unsigned thread) {
  Copies& c = copies_[thread];
  c.groups.push_back(std::exchange(c.open, {}));
}

void Block::wait_for_copies(const Warp& w, const Instruction& i, int lane, size_t left) {
  const unsigned thread = w.thread(lane);
  Copies& c = copies_[thread];
  const size_t done = c.groups.size() - std::min(left, c.groups.size());
  for (size_t n = 0; n < done; ++n) {
    for (const Copy& copy : c.groups[n]) {
      std::memcpy(copy.to.data, copy.data.data(), copy.data.size());
      for (size_t b = 0; b < copy.data.size(); ++b) {
        shared_bytes_[copy.to.offset + b].copier = Accessors::kNone;
        shared_bytes_[copy.to.offset + b].initialized = true;
      }
      note_shared(i, thread, copy.to, static_cast<unsigned>(copy.data.size()), Access::write);
    }
  }
  c.groups.erase(c.groups.begin(), c.groups.begin() + static_cast<ptrdiff_t>(done));
}

}  // namespace tandem::ptx
