#include "cuda_emulated/device/arena.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <new>

namespace tandem::cuda::emulated {
namespace {

// Huge pages make opening and closing cheap.
constexpr size_t kPage = size_t{2} << 20, kAddresses = 4 * kDeviceBytes;  // room for fragments

struct Arena {
  char* begin;
  std::map<size_t, size_t> segments;  ///< bytes by offset
  size_t used = 0;
  int open = 0;

  void protect(int access) {
    for (const auto& [offset, bytes] : segments) mprotect(begin + offset, bytes, access);
  }
};

Arena& arena();

/// Prints a message and a stack trace, so that the cause of the crash is visible.
void on_fault(int number, siginfo_t* info, void*) {
  signal(number, SIG_DFL);  // the access is repeated and ends the process
  if (!is_device_memory(info->si_addr)) return;
  static constexpr char text[] = "the host reads or writes the emulated device's memory:\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, sizeof text - 1);
  void* frames[32];
  backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
}

Arena* make_arena() {
  void* mapped = mmap(nullptr, kAddresses + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(mapped) + (kPage - reinterpret_cast<uintptr_t>(mapped) % kPage) % kPage;
  madvise(begin, kAddresses, MADV_HUGEPAGE);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  return new Arena{begin, {}};
}

Arena& arena() {
  static Arena& all = *make_arena();  // never destroyed: static tensors may be freed later
  return all;
}

}  // namespace

void* take_segment(size_t bytes) {
  Arena& a = arena();
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  if (a.used + rounded > kDeviceBytes) return nullptr;
  size_t at = kPage;  // the first gap that is large enough, with a closed page on either side
  for (const auto& [offset, size] : a.segments) {
    if (at + rounded + kPage <= offset) break;
    at = offset + size + kPage;
  }
  if (at + rounded + kPage > kAddresses) return nullptr;
  char* segment = a.begin + at;
  mprotect(segment, rounded, PROT_READ | PROT_WRITE);
  std::memset(segment, 0xff, rounded);
  if (a.open == 0) mprotect(segment, rounded, PROT_NONE);
  a.segments.emplace(at, rounded);
  a.used += rounded;
  return segment;
}

void give_back_segment(void* segment) {
  Arena& a = arena();
  const auto found = a.segments.find(static_cast<size_t>(static_cast<char*>(segment) - a.begin));
  if (found == a.segments.end()) return;
  mprotect(segment, found->second, PROT_NONE);
  madvise(segment, found->second, MADV_DONTNEED);
  a.used -= found->second;
  a.segments.erase(found);
}

size_t free_bytes() { return kDeviceBytes - arena().used; }

bool is_device_memory(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address), begin = reinterpret_cast<uintptr_t>(arena().begin);
  return at >= begin && at < begin + kAddresses;
}

OpenMemory::OpenMemory() {
  if (arena().open++ == 0) arena().protect(PROT_READ | PROT_WRITE);
}
OpenMemory::~OpenMemory() {
  if (--arena().open == 0) arena().protect(PROT_NONE);
}

}  // namespace tandem::cuda::emulated
