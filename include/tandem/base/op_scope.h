#pragma once
// OpScope: tracks the function that a thread is running, whose name begins the thread's error messages.

#pragma GCC visibility push(default)
namespace tandem {

namespace detail {

/// The function that a thread is running.
struct RunningOp {
  const char* name = "";       ///< empty outside of scopes
  bool runs_user_code = true;  ///< an inner scope replaces `name`

  static RunningOp& of_thread() {
    static thread_local RunningOp running;
    return running;
  }
};

}  // namespace detail

/// Returns the name that an error thrown now by this thread begins with, or an empty string outside of scopes.
inline const char* running_op() { return detail::RunningOp::of_thread().name; }

/// Until the end of the scope, errors of this thread begin with `name`. Of nested scopes the outermost gives the name,
/// since that is the function that the caller called. `name` must outlive the scope. User code must not run inside: see
/// UserCodeScope.
class OpScope {
 public:
  [[nodiscard]] explicit OpScope(const char* name) : name_(name), outer_(detail::RunningOp::of_thread()) {
    if (outer_.runs_user_code) detail::RunningOp::of_thread() = {name, false};
  }
  ~OpScope() { detail::RunningOp::of_thread() = outer_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

  const char* name() const { return name_; }

 private:
  const char* name_;
  detail::RunningOp outer_;
};

/// For a function that runs code of the user, such as a closure or a backward function. Errors thrown by the function
/// itself begin with `name`; functions that the user's code calls name themselves.
class UserCodeScope {
 public:
  [[nodiscard]] explicit UserCodeScope(const char* name) : outer_(detail::RunningOp::of_thread()) {
    detail::RunningOp::of_thread() = {name, true};
  }
  ~UserCodeScope() { detail::RunningOp::of_thread() = outer_; }
  UserCodeScope(const UserCodeScope&) = delete;
  UserCodeScope& operator=(const UserCodeScope&) = delete;

 private:
  detail::RunningOp outer_;
};

}  // namespace tandem
#pragma GCC visibility pop
