#include "cuda_emulated/emulator.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cuda_emulated/ptx/launch_counts.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

// The addresses of the `nop`s before functions with launch bounds.
[[gnu::weak]] extern const uintptr_t nops_begin[] asm("__start___patchable_function_entries");
[[gnu::weak]] extern const uintptr_t nops_end[] asm("__stop___patchable_function_entries");

namespace tandem::cuda::emulated {
namespace {

constexpr size_t kMostThreads = 1024;  // of a block

/// Returns the most threads of the kernel's blocks.
size_t launch_bound(const void* kernel) {
  static const std::vector<uintptr_t> nops = [] {
    std::vector<uintptr_t> sorted(nops_begin, nops_end);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }();
  const auto* const entry = static_cast<const unsigned char*>(kernel);
  const auto after = std::upper_bound(nops.begin(), nops.end(), reinterpret_cast<uintptr_t>(entry));
  if (after == nops.begin()) return kMostThreads;
  const size_t warps = reinterpret_cast<uintptr_t>(entry) - *std::prev(after);
  // The code before a kernel without launch bounds is another function's.
  const bool is_bounded = warps <= kMostThreads / warpSize && std::all_of(entry - warps, entry, [](unsigned char byte) {
                            constexpr unsigned char kNop = 0x90;
                            return byte == kNop;
                          });
  return is_bounded ? warps * warpSize : kMostThreads;
}

constexpr size_t kStackBytes = size_t{512} << 10, kGuardBytes = 4096;  // pages are allocated on first access
// Stacks begin at different offsets, an odd number of cache lines apart; at the same one, they would compete for the
// same few sets of the caches.
constexpr size_t kStackStep = 3 * 64;

/// A stack of execution. Control switches only between the scheduler, on the program's own stack, and one fiber.
class Fiber {
 public:
  /// `place` is the fiber's number in the block.
  Fiber(void (*body)(), size_t place) {
    memory_ = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory_, kGuardBytes, PROT_NONE);
    getcontext(&context_);
    context_.uc_stack.ss_sp = memory_;
    context_.uc_stack.ss_size = kStackBytes - place * kStackStep;
    context_.uc_link = nullptr;  // body never returns
    makecontext(&context_, body, 0);
  }
  ~Fiber() { munmap(memory_, kStackBytes); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Switches from the scheduler to the fiber, until it calls leave().
  [[gnu::noipa]] void enter() {
    leave_stack(&scheduler_fake_stack_, memory_, kStackBytes);
    if (__builtin_setjmp(scheduler_) == 0) {
      if (!std::exchange(started_, true)) setcontext(&context_);
      jump(here_);
    }
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
  }
  /// Switches from the fiber back to the scheduler, until the fiber is entered again.
  [[gnu::noipa]] void leave() {
    leave_stack(&fake_stack_, scheduler_stack_, scheduler_bytes_);
    if (__builtin_setjmp(here_) == 0) jump(scheduler_);
    arrive();
  }
  /// Must be called first in body.
  void arrive() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, &scheduler_stack_, &scheduler_bytes_);
#endif
  }

 private:
  /// Tells AddressSanitizer about the coming switch of stacks.
  static void leave_stack([[maybe_unused]] void** save, [[maybe_unused]] const void* next,
                          [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(save, next, bytes);
#endif
  }

  // The compiler's jumps save few registers, and longjmp of the C library checks the stack; swapcontext costs two
  // system calls, and more under AddressSanitizer.
  using Jump = void* [5];
  // noipa: callers may not rely on registers that a function leaves alone, since others run before it returns.
  [[noreturn, gnu::noipa]] static void jump(Jump& to) { __builtin_longjmp(to, 1); }
  static inline Jump scheduler_;
  static inline void* scheduler_fake_stack_ = nullptr;
  static inline const void* scheduler_stack_ = nullptr;
  static inline size_t scheduler_bytes_ = 0;
  ucontext_t context_;
  Jump here_;
  bool started_ = false;
  void* memory_;
  void* fake_stack_ = nullptr;
};

enum class State : uint8_t { ready, at_block, at_warp, returned };  // when the thread has left its fiber

struct Thread {
  dim3 index;
  State state;
  Fiber* fiber;
  Site site;
  // at a barrier of the block
  bool vote;
  Votes votes;
  // at a barrier of the warp
  unsigned mask;
  uint64_t value;
  WarpFunction* function;
  const Exchange* exchange;
};

bool same(const Site& a, const Site& b) {
  return a.line() == b.line() && (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string text(const Site& site) { return std::string(site.file_name()) + ":" + std::to_string(site.line()); }

struct AsyncCopy {
  const Thread* thread;
  void* to;
  const void* from;  ///< null: zeros
  size_t bytes;
  int groups;  ///< that the thread has ended since it began the copy, the copy's own included
};

/// The block that is running.
struct Block {
  std::vector<Thread> threads;
  bool backwards = false;               ///< whether threads run from the last to the first
  size_t started = 0, start_until = 0;  ///< places in the order in which they run
  Thread* current = nullptr;
  const std::function<void()>* body = nullptr;
  std::exception_ptr error;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> idle;
  std::vector<AsyncCopy> copies;             ///< not waited for
  std::array<Exchange, warpSize> exchanges;  ///< of the lanes that go on, by the first of them

  size_t thread_at(size_t place) const { return backwards ? threads.size() - 1 - place : place; }
  size_t warp_begin(size_t thread) const { return thread / warpSize * warpSize; }
  size_t warp_end(size_t thread) const { return std::min(threads.size(), warp_begin(thread) + warpSize); }

  void shape(dim3 extent);
  void start(bool from_last, const std::function<void()>& thread);
  void run();
  bool run_warp(size_t begin, size_t end);
  void resume(Thread& thread);
  void release_block();
  bool release_group(size_t thread);
  [[noreturn]] void report_stuck() const;
  void abandon();
};

Block block;

/// A fiber runs threads one after the other until one of them waits: a kernel without barriers needs a single fiber.
void fiber_body() {
  Fiber* const self = block.current->fiber;
  self->arrive();
  for (;;) {
    while (block.current) {
      try {
        (*block.body)();
      } catch (...) {
        block.error = std::current_exception();
      }
      block.current->state = State::returned;
      block.current = nullptr;
      if (block.error || block.started >= block.start_until) break;
      block.current = &block.threads[block.thread_at(block.started++)];
      block.current->fiber = self;
      threadIdx = block.current->index;
    }
    block.idle.push_back(self);
    self->leave();
  }
}

/// Sets the indices of the threads of a launch.
void Block::shape(dim3 extent) {
  threads.resize(size_t{extent.x} * extent.y * extent.z);
  size_t i = 0;
  for (unsigned z = 0; z < extent.z; ++z) {
    for (unsigned y = 0; y < extent.y; ++y) {
      for (unsigned x = 0; x < extent.x; ++x) {
        dim3& index = threads[i++].index;
        index.x = x, index.y = y, index.z = z;
      }
    }
  }
}

void Block::start(bool from_last, const std::function<void()>& thread) {
  backwards = from_last;
  started = 0;
  copies.clear();
  body = &thread;
  error = nullptr;
}

/// Runs each warp as far as possible before the next one: running warps in step would hide races between them.
void Block::run() {
  for (;;) {
    bool some_ran = false;
    for (size_t begin = 0, end; begin < threads.size(); begin = end) {
      end = backwards ? threads.size() - warp_begin(thread_at(begin)) : warp_end(begin);
      some_ran |= run_warp(begin, end);
    }
    if (idle.size() == fibers.size()) return;  // no thread waits
    if (!some_ran) report_stuck();
    release_block();
  }
}

/// Runs the threads at places [begin, end). Returns true if any of them could run.
bool Block::run_warp(size_t begin, size_t end) {
  bool some_ran = false;
  for (start_until = end; started < end; some_ran = true) {
    Thread& t = threads[thread_at(started++)];
    if (idle.empty()) {
      fibers.push_back(std::make_unique<Fiber>(fiber_body, fibers.size()));
      idle.push_back(fibers.back().get());
    }
    t.fiber = idle.back();
    idle.pop_back();
    resume(t);
  }
  for (;;) {
    bool is_ready = false;
    for (size_t i = begin; i < end; ++i) {
      const Thread& t = threads[thread_at(i)];
      is_ready |= t.state == State::ready || (t.state == State::at_warp && release_group(thread_at(i)));
    }
    if (!is_ready) return some_ran;
    some_ran = true;
    for (size_t i = begin; i < end; ++i) {
      if (Thread& t = threads[thread_at(i)]; t.state == State::ready) resume(t);
    }
  }
}

void Block::resume(Thread& thread) {
  current = &thread;
  threadIdx = thread.index;
  thread.fiber->enter();
  current = nullptr;
  if (!error) return;
  abandon();
  std::rethrow_exception(std::exchange(error, nullptr));
}

/// Releases all threads if all wait at the same barrier of the block.
void Block::release_block() {
  Votes votes{0, 0};
  const Thread* first = nullptr;
  for (const Thread& t : threads) {
    if (t.state == State::returned) continue;
    if (t.state != State::at_block || (first && !same(first->site, t.site))) return;
    first = &t;
    ++votes.live;
    votes.yes += t.vote;
  }
  if (!first) return;
  for (Thread& t : threads) {
    if (t.state != State::at_block) continue;
    t.votes = votes;
    t.state = State::ready;
  }
}

/// Releases `thread` and the lanes that it waits for, if all have arrived.
bool Block::release_group(size_t thread) {
  const Thread& first = threads[thread];
  const size_t begin = warp_begin(thread), end = warp_end(thread);
  Exchange& exchange = exchanges[thread - begin];
  exchange = {};
  for (size_t i = begin; i < end; ++i) {
    const Thread& t = threads[i];
    if ((first.mask >> (i - begin) & 1) == 0 || t.state == State::returned) continue;
    if (t.state != State::at_warp || t.mask != first.mask || !same(t.site, first.site)) return false;
    exchange.lanes |= 1u << (i - begin);
    exchange.values[i - begin] = t.value;
  }
  if (first.function) first.function(exchange);
  for (size_t i = begin; i < end; ++i) {
    if ((exchange.lanes >> (i - begin) & 1) == 0) continue;
    threads[i].exchange = &exchange;
    threads[i].state = State::ready;
  }
  return true;
}

/// Throws an error that names the waiting threads and their places.
void Block::report_stuck() const {
  std::string message = "not all threads reach a barrier: in block (" + std::to_string(blockIdx.x) + ", " +
                        std::to_string(blockIdx.y) + ", " + std::to_string(blockIdx.z) + ")";
  const Site* last = nullptr;
  for (size_t i = 0; i < threads.size(); ++i) {
    const Thread& t = threads[i];
    if (t.state == State::returned || (last && same(*last, t.site))) continue;
    last = &t.site;
    message += ", thread " + std::to_string(i) + " waits at " + text(t.site);
  }
  block.abandon();
  throw Misuse(message);
}

/// Abandons the waiting threads and their stacks, which hold nothing that must be destroyed.
void Block::abandon() {
  idle.clear();
  fibers.clear();
}

void wait() {
  Thread* const self = block.current;
  self->fiber->leave();
}

}  // namespace

Votes wait_for_block(bool vote, const Site& site) {
  Thread& self = *block.current;
  self.state = State::at_block;
  self.site = site;
  self.vote = vote;
  wait();
  return self.votes;
}

const Exchange& wait_for_warp(unsigned mask, uint64_t value, const Site& site, WarpFunction* function) {
  if ((mask >> lane() & 1) == 0) throw Misuse("the mask lacks the calling lane at " + text(site));
  Thread& self = *block.current;
  self.state = State::at_warp;
  self.site = site;
  self.mask = mask;
  self.value = value;
  self.function = function;
  wait();
  return *self.exchange;
}

int lane() { return static_cast<int>(block.current - block.threads.data()) % warpSize; }

uint64_t value_of(const Exchange& exchange, int source, const Site& site) {
  if ((exchange.lanes >> source & 1) == 0) {
    throw Misuse("a shuffle from lane " + std::to_string(source) + ", which does not take part, at " + text(site));
  }
  return exchange.values[source];
}

void copy_async(void* to, const void* from, size_t bytes, bool valid) {
  if (reinterpret_cast<uintptr_t>(to) % bytes != 0 || (valid && reinterpret_cast<uintptr_t>(from) % bytes != 0)) {
    throw Misuse("an asynchronous copy of " + std::to_string(bytes) + " bytes is not aligned to them");
  }
  std::memset(to, 0xff, bytes);
  block.copies.push_back({block.current, to, valid ? from : nullptr, bytes, 0});
}

void commit_copies() {
  for (AsyncCopy& copy : block.copies) copy.groups += copy.thread == block.current;
}

void wait_for_copies(int pending) {
  std::erase_if(block.copies, [&](const AsyncCopy& copy) {
    if (copy.thread != block.current || copy.groups <= pending) return false;
    copy.from ? std::memcpy(copy.to, copy.from, copy.bytes) : std::memset(copy.to, 0, copy.bytes);
    return true;
  });
}

void check_launch(const void* kernel, dim3 grid, dim3 shape, size_t shared_bytes) {
  const size_t blocks = size_t{grid.x} * grid.y * grid.z, threads = size_t{shape.x} * shape.y * shape.z;
  if (blocks == 0 || threads == 0 || threads > kMostThreads || grid.x > 0x7fffffffu || grid.y > 0xffff ||
      grid.z > 0xffff || shape.z > 64) {
    throw Misuse("a launch of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) +
                 " threads has a shape that no device accepts");
  }
  if (const size_t most = launch_bound(kernel); threads > most) {
    throw Misuse("a launch of " + std::to_string(threads) + " threads per block exceeds the kernel's launch bounds, " +
                 std::to_string(most));
  }
  // More needs cudaFuncSetAttribute.
  if (shared_bytes > 48 * 1024) throw Misuse("a launch has more than 48 KiB of dynamic shared memory");
  if (shared_bytes != 0) throw Misuse("dynamic shared memory is not emulated");
  count_launch(kernel);
}

void run(dim3 grid, dim3 shape, const std::function<void()>& thread) {
  static unsigned launches = 0;
  const size_t blocks = size_t{grid.x} * grid.y * grid.z;
  gridDim = grid;
  blockDim = shape;
  const bool backwards = ++launches % 2 == 0;
  block.shape(shape);
  for (size_t i = 0; i < blocks; ++i) {
    const size_t b = backwards ? blocks - 1 - i : i;
    blockIdx.x = static_cast<unsigned>(b % grid.x);
    blockIdx.y = static_cast<unsigned>(b / grid.x % grid.y);
    blockIdx.z = static_cast<unsigned>(b / grid.x / grid.y);
    block.start(backwards != (i % 2 == 1), thread);
    block.run();
    if (!block.copies.empty()) throw Misuse("a thread ended before its asynchronous copies");
  }
}

}  // namespace tandem::cuda::emulated
