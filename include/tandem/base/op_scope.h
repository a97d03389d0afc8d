#pragma once
// The name in front of a thread's messages: the op that it runs.

namespace tandem {

/// What a thread says it is doing.
struct RunningOp {
  const char* name = nullptr;  ///< null outside of ops
  bool is_whole = false;       ///< `name` stands for everything below it

  static RunningOp& of_thread() {
    static thread_local RunningOp running;
    return running;
  }
};

/// The name for a message of code that has none of its own; `otherwise` outside of ops.
inline const char* running_op(const char* otherwise = "tandem") {
  const char* name = RunningOp::of_thread().name;
  return name ? name : otherwise;
}

/// Names the running op for messages of the code below it, until the end of the scope.
class [[nodiscard]] OpScope {
 public:
  explicit OpScope(const char* name) : outer_(RunningOp::of_thread()) {
    if (!outer_.is_whole) RunningOp::of_thread().name = name;
  }
  ~OpScope() { RunningOp::of_thread() = outer_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 protected:
  RunningOp outer_;
};

/// An OpScope of a function that is made of other ops: they refuse in its name, for that is the one which the caller
/// knows. No code of the user's may run inside.
class [[nodiscard]] WholeOpScope : public OpScope {
 public:
  explicit WholeOpScope(const char* name) : OpScope(name) { RunningOp::of_thread().is_whole = true; }
};

}  // namespace tandem
