#include "soak/failing_new.h"

#include <cstdlib>
#include <new>

namespace tandem::testing {
namespace {

struct State {
  bool counts = false, and_all_after = false;
  uint64_t count = 0, fails = 0;
};
constinit thread_local State state;

bool fails_now() {
  if (!state.counts) return false;
  const uint64_t number = state.count++;
  return number == state.fails || (state.and_all_after && number > state.fails);
}

void* allocate(size_t bytes, size_t alignment) {
  if (fails_now()) return nullptr;
  // aligned_alloc requires a multiple of the alignment.
  return alignment == 0 ? std::malloc(bytes ? bytes : 1)
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* p = allocate(bytes, alignment);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

FailingNew::FailingNew(uint64_t fails, bool and_all_after) { state = {true, and_all_after, 0, fails}; }
FailingNew::~FailingNew() { state.counts = false; }
uint64_t FailingNew::count() const { return state.count; }
bool FailingNew::has_failed() const { return state.count > state.fails; }

}  // namespace tandem::testing

using tandem::testing::allocate;
using tandem::testing::allocate_or_throw;
// All forms, because a sanitizer's versions do not call each other.
void* operator new(size_t n) { return allocate_or_throw(n, 0); }
void* operator new[](size_t n) { return allocate_or_throw(n, 0); }
void* operator new(size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a) { return allocate_or_throw(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
