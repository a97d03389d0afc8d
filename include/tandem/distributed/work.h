#pragma once
// Work: a collective that was started and may still be running.
#include <exception>
#include <memory>

#pragma GCC visibility push(default)
namespace tandem::distributed {

/// A handle of a started call. Copies refer to the same call. A default-constructed Work has completed.
///
/// Until the call has completed, its output tensors must not be used and its input tensors must not be written. The
/// handle keeps the tensors alive; the call runs to its end even if the handle is dropped.
class [[nodiscard]] Work {
 public:
  /// Implemented by process groups.
  class State {
   public:
    virtual ~State() = default;
    /// Wait until the call has completed, ask whether it has, and return its error; see Work.
    virtual void wait() = 0;
    virtual bool is_completed() const = 0;
    virtual std::exception_ptr exception() const = 0;
  };

  Work() = default;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Waits until the call has completed, and throws what it failed with. For tensors on an accelerator, makes the
  /// current stream wait instead of the host.
  void wait() const {
    if (state_) state_->wait();
  }
  /// Does not wait. True also for a call that failed.
  bool is_completed() const { return !state_ || state_->is_completed(); }
  /// The call's error; null if it succeeded or is still running.
  std::exception_ptr exception() const { return state_ ? state_->exception() : nullptr; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace tandem::distributed
#pragma GCC visibility pop
