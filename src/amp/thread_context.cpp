#include "tandem/amp/thread_context.h"

#include "tandem/amp/cast_cache.h"

namespace tandem {

ThreadContextGuard::ThreadContextGuard(const ThreadContext& context) : previous_(thread_state()) {
  thread_state() = context.state_;
  if (!context.observed_) thread_state().observers = previous_.observers;
  // Nesting is counted per thread: the guard counts as one region of this thread.
  thread_state().autocast_nesting = previous_.autocast_nesting + 1;
}

ThreadContextGuard::~ThreadContextGuard() {
  thread_state() = std::move(previous_);
  if (thread_state().autocast_nesting == 0) amp::clear_autocast_cache();
}

}  // namespace tandem
