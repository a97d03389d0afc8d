#include "cuda_emulated/device/arena.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <new>

namespace tandem::cuda::emulated {
namespace {

// Huge pages make opening and closing cheap. Smaller segments are those of programs without a cache of memory
// (TANDEM_NO_CACHE), which have many.
constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
constexpr size_t kAddresses = 4 * kDeviceBytes;  // of a device, with room for fragments

constexpr size_t round_up(size_t bytes, size_t page) { return (bytes + page - 1) / page * page; }
constexpr size_t page_of(size_t bytes) { return bytes < kHugePage ? kPage : kHugePage; }
constexpr size_t whole_pages(size_t bytes) { return round_up(bytes, page_of(bytes)); }

struct Arena {
  char* begin;
  std::map<size_t, size_t> segments;  ///< bytes by offset
  size_t used = 0;

  void protect(int access) {
    for (const auto& [offset, bytes] : segments) mprotect(begin + offset, whole_pages(bytes), access);
  }
  bool contains(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address), first = reinterpret_cast<uintptr_t>(begin);
    return at >= first && at < first + kAddresses;
  }
  size_t offset_of(const void* address) const { return static_cast<size_t>(static_cast<const char*>(address) - begin); }
};

/// Null until a device is used. Never destroyed: static tensors may be freed later.
std::array<Arena*, kDevices> arenas;
int scopes = 0;
DeviceSet opened = 0;

void print(const char* text) { [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text)); }

/// Prints a message and a stack trace, so that the cause of the crash is visible.
void on_fault(int number, siginfo_t* info, void*) {
  signal(number, SIG_DFL);  // the access is repeated and ends the process
  const int device = device_of_memory(info->si_addr);
  if (device < 0) return;
  if (opened == 0 || (opened & only(device)) != 0) {
    print("the host reads or writes the emulated device's memory:\n");
  } else {
    print("a kernel reads or writes the memory of another emulated device:\n");
  }
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
}

Arena* make_arena() {
  void* mapped = mmap(nullptr, kAddresses + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(mapped) + (kHugePage - reinterpret_cast<uintptr_t>(mapped) % kHugePage) % kHugePage;
  madvise(begin, kAddresses, MADV_HUGEPAGE);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  return new Arena{begin, {}};
}

Arena& arena(int device) {
  Arena*& known = arenas[static_cast<size_t>(device)];
  if (!known) known = make_arena();
  return *known;
}

}  // namespace

void* take_segment(int device, size_t bytes) {
  Arena& a = arena(device);
  const size_t page = page_of(bytes), rounded = whole_pages(bytes);
  if (a.used + rounded > kDeviceBytes) return nullptr;
  size_t at = page;  // the first gap that is large enough, with a closed page on either side
  for (const auto& [offset, size] : a.segments) {
    if (at + rounded + page <= offset) break;
    at = round_up(offset + whole_pages(size) + kPage, page);
  }
  if (at + rounded + page > kAddresses) return nullptr;
  char* segment = a.begin + at;
  mprotect(segment, rounded, PROT_READ | PROT_WRITE);
  std::memset(segment, 0xff, rounded);
  if ((opened & only(device)) == 0) mprotect(segment, rounded, PROT_NONE);
  a.segments.emplace(at, bytes);
  a.used += rounded;
  return segment;
}

void give_back_segment(void* segment) {
  const int device = device_of_memory(segment);
  if (device < 0) return;
  Arena& a = arena(device);
  const auto found = a.segments.find(static_cast<size_t>(static_cast<char*>(segment) - a.begin));
  if (found == a.segments.end()) return;
  const size_t rounded = whole_pages(found->second);
  mprotect(segment, rounded, PROT_NONE);
  madvise(segment, rounded, MADV_DONTNEED);
  a.used -= rounded;
  a.segments.erase(found);
}

size_t free_bytes(int device) { return kDeviceBytes - arena(device).used; }

int device_of_memory(const void* address) {
  for (int i = 0; i < kDevices; ++i) {
    const Arena* a = arenas[static_cast<size_t>(i)];
    if (a && a->contains(address)) return i;
  }
  return -1;
}

std::span<const std::byte> open_segment(const void* address) {
  const int device = device_of_memory(address);
  if ((opened & only(device)) == 0) return {};
  const Arena& a = arena(device);
  const size_t offset = a.offset_of(address);
  const auto after = a.segments.upper_bound(offset);
  if (after == a.segments.begin()) return {};
  const auto& [begin, bytes] = *std::prev(after);
  if (offset - begin >= bytes) return {};
  return {reinterpret_cast<const std::byte*>(a.begin + begin), bytes};
}

void open_only(DeviceSet devices) {
  for (int i = 0; i < kDevices; ++i) {
    const DeviceSet changed = (opened ^ devices) & only(i);
    if (changed) arena(i).protect(devices & only(i) ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
  opened = devices;
}

OpenMemory::OpenMemory() { ++scopes; }
OpenMemory::~OpenMemory() {
  if (--scopes == 0) open_only(0);
}

}  // namespace tandem::cuda::emulated
