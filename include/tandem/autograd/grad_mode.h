#pragma once
// Guards for gradient recording on the calling thread.
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Whether ops on this thread are recorded for backward.
struct GradMode {
  /// The calling thread's setting; NoGradGuard and AutoGradMode change it for a scope.
  static bool is_enabled() { return thread_state().grad_mode; }
  static void set_enabled(bool enabled) { thread_state().grad_mode = enabled; }
};

/// Switches recording on or off until the end of the scope.
class AutoGradMode {
 public:
  [[nodiscard]] explicit AutoGradMode(bool enabled) : previous_(GradMode::is_enabled()) {
    GradMode::set_enabled(enabled);
  }
  ~AutoGradMode() { GradMode::set_enabled(previous_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};

/// Switches recording off until the end of the scope.
class NoGradGuard : public AutoGradMode {
 public:
  [[nodiscard]] NoGradGuard() : AutoGradMode(false) {}
};

/// For inference loops: switches recording off until the end of the scope. Tensors made in the scope, except views of
/// earlier tensors, are inference tensors: they can never be recorded, nor be changed in place outside InferenceMode
/// while recording is on. `InferenceMode(false)` switches inference mode off and recording on, as in libtorch.
class InferenceMode {
 public:
  [[nodiscard]] explicit InferenceMode(bool enabled = true)
      : grad_(thread_state().grad_mode), inference_(thread_state().inference_mode) {
    thread_state().inference_mode = enabled;
    thread_state().grad_mode = !enabled;
  }
  ~InferenceMode() {
    thread_state().inference_mode = inference_;
    thread_state().grad_mode = grad_;
  }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;
  /// Whether the calling thread is in inference mode.
  static bool is_enabled() { return thread_state().inference_mode; }

 private:
  bool grad_, inference_;
};

namespace autograd {
using tandem::AutoGradMode;
using tandem::GradMode;
}  // namespace autograd

}  // namespace tandem
#pragma GCC visibility pop
