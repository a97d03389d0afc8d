#pragma once
// Carrying the modes of one thread to another: replicas of a model, pools, recomputation.
#include "tandem/tensor/context.h"

namespace tandem {

/// A copy of a thread's modes: recording, inference, default device, autocast with dtype and cache flag of every
/// device, policies; and of who looks at its ops.
class ThreadContext {
 public:
  /// The calling thread's modes now.
  static ThreadContext capture() {
    ThreadContext c;
    c.state_ = thread_state();
    return c;
  }
  /// The same without those who look at the ops: a thread under this context keeps its own. For what runs later, as
  /// part of another pass.
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

/// Puts the calling thread into `context` until the end of the scope. The thread's own cast cache is cleared at the end
/// when the scope was its outermost autocast region.
class [[nodiscard]] ThreadContextGuard {
 public:
  explicit ThreadContextGuard(const ThreadContext& context);
  ~ThreadContextGuard();
  ThreadContextGuard(const ThreadContextGuard&) = delete;
  ThreadContextGuard& operator=(const ThreadContextGuard&) = delete;

 private:
  ThreadState previous_;
};

}  // namespace tandem
