#pragma once
// OpScope: names the running operation for messages of code below it.
#include "tandem/tensor/context.h"

namespace tandem {

/// Sets thread_state().current_op for its lifetime.
class [[nodiscard]] OpScope {
 public:
  explicit OpScope(const char* op) : previous_(thread_state().current_op) { thread_state().current_op = op; }
  ~OpScope() { thread_state().current_op = previous_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  const char* previous_;
};

}  // namespace tandem
