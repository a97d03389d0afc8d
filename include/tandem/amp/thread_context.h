#pragma once
// ThreadContext: applies the modes of one thread to another, for model replicas, thread pools and recomputation.
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem {

/// A copy of a thread's modes: recording, inference mode, default device, autocast state of each device type, cache
/// flag, policies, regions of float8 and observers.
class ThreadContext {
 public:
  /// Copies the calling thread's current modes.
  static ThreadContext capture() {
    ThreadContext c;
    c.state_ = thread_state();
    return c;
  }
  /// The same without the observers: a thread that uses the context keeps its own. For code that runs later, as part of
  /// another pass.
  static ThreadContext capture_unobserved() {
    ThreadContext c = capture();
    c.state_.observers = nullptr;
    c.observed_ = false;
    return c;
  }

 private:
  friend class ThreadContextGuard;
  ThreadState state_;
  bool observed_ = true;
};

/// Applies `context` to the calling thread until the end of the scope. The scope counts as an autocast region: if it is
/// the thread's outermost one, its end clears the thread's cast cache.
class ThreadContextGuard {
 public:
  [[nodiscard]] explicit ThreadContextGuard(const ThreadContext& context);
  ~ThreadContextGuard();
  ThreadContextGuard(const ThreadContextGuard&) = delete;
  ThreadContextGuard& operator=(const ThreadContextGuard&) = delete;

 private:
  ThreadState previous_;
};

}  // namespace tandem
#pragma GCC visibility pop
