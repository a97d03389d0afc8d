#pragma once
// OpScope: tracks the op that a thread is running, whose name begins the thread's error messages.

namespace tandem {

/// The op that a thread is running.
struct RunningOp {
  const char* name = nullptr;  ///< null outside of ops
  bool is_whole = false;       ///< nested scopes do not replace `name`

  static RunningOp& of_thread() {
    static thread_local RunningOp running;
    return running;
  }
};

/// Returns the name of the running op, or `otherwise` outside of ops. For the messages of code that is not itself an
/// op.
inline const char* running_op(const char* otherwise = "tandem") {
  const char* name = RunningOp::of_thread().name;
  return name ? name : otherwise;
}

/// Makes `name` the running op until the end of the scope, unless the scope is inside a WholeOpScope.
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

/// An OpScope for a function that is composed of other ops: errors thrown by those ops begin with this function's name,
/// since that is the one that the caller called. User code must not run inside the scope.
class [[nodiscard]] WholeOpScope : public OpScope {
 public:
  explicit WholeOpScope(const char* name) : OpScope(name) { RunningOp::of_thread().is_whole = true; }
};

}  // namespace tandem
