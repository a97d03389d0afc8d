#include "kernels/cpu/library_call.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace tandem::cpu {
namespace {

// Destructors of static objects and threads that are still running may call ops after the library is destroyed. From
// then on every call is refused.
constinit std::atomic<bool> process_ends{false};
/// The number of LibraryCall objects, in the process and on this thread.
alignas(64) constinit std::atomic<int> calls{0};
constinit thread_local int calls_here = 0;

/// Refuses further calls and waits for those of other threads, whose memory or code the library is about to free. Not
/// for this thread's own: a signal handler may have called exit(). At most for a second: a forked child that calls
/// exit() does not have the other threads.
void end_calls() {
  process_ends = true;
  for (int i = 0; i < 1000 && calls > calls_here; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// When the main thread calls exit() or returns from main(), its thread_local objects are destroyed before all static
/// objects. That is early enough even for static objects of oneDNN that another thread is constructing at the time.
bool end_calls_with_main_thread() {
  struct End {
    ~End() { end_calls(); }
  };
  end_calls_before_static_objects();
  if (::gettid() != ::getpid()) return false;
  static thread_local const End end;
  return true;
}
/// Computed on the thread that loads tandem: the main thread, unless a plug-in is loaded on another one.
[[maybe_unused]] const bool kEndsWithMainThread = end_calls_with_main_thread();

}  // namespace

void end_calls_before_static_objects() {
  static std::atomic<int> registered{0};
  constexpr int kMost = 256;
  if (registered.fetch_add(1, std::memory_order_relaxed) < kMost) std::atexit(end_calls);
}

LibraryCall::LibraryCall() {
  calls.fetch_add(1);
  ++calls_here;
  allowed_ = !process_ends;
}

LibraryCall::~LibraryCall() {
  --calls_here;
  calls.fetch_sub(1);
}

}  // namespace tandem::cpu
