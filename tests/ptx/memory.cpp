#include "ptx/memory.h"

namespace tandem::ptx {

uint64_t window_of(Space space) {
  switch (space) {
    case Space::shared:
      return kWindow;
    case Space::local:
      return 2 * kWindow;
    case Space::param:
      return 3 * kWindow;
    default:
      return 0;
  }
}

void Accessors::add(uint32_t thread, uint32_t now) {
  who = who == kNone || barriers != now || who == thread ? thread : kSeveral;
  barriers = now;
}

namespace {

/// Whether the access is unordered with one of another thread, at least one of them a write, not both atomic.
bool note(std::array<Accessors, 3>& accesses, Access access, uint32_t thread, uint32_t now) {
  bool found = false;
  for (const Access other : {Access::read, Access::write, Access::atomic}) {
    const bool harmless = other == access && access != Access::write;
    found |= !harmless && accesses[static_cast<size_t>(other)].has_other(thread, now);
  }
  accesses[static_cast<size_t>(access)].add(thread, now);
  return found;
}

}  // namespace

bool SharedByte::races(Access access, uint32_t thread, uint32_t barriers) {
  return note(accesses, access, thread, barriers);
}

bool GlobalTrace::races(Access access, uint64_t address, unsigned bytes, uint32_t block) {
  bool found = false;
  for (uint64_t at = address; at < address + bytes; ++at) {
    if (at / kPage != last_) {
      last_ = at / kPage;
      auto& page = pages_[last_];
      if (!page) page = std::make_unique<Page>();
      last_page_ = page.get();
    }
    found |= note((*last_page_)[at % kPage], access, block, 0);
  }
  return found;
}

}  // namespace tandem::ptx
