#pragma once
// Guards for gradient recording on the calling thread.
#include "tandem/tensor/context.h"

namespace tandem {

/// Whether ops are recorded for backward on this thread.
struct GradMode {
  static bool is_enabled() { return thread_state().grad_mode; }
  static void set_enabled(bool enabled) { thread_state().grad_mode = enabled; }
};

/// Sets recording on or off until the end of the scope.
class [[nodiscard]] AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : previous_(GradMode::is_enabled()) { GradMode::set_enabled(enabled); }
  ~AutoGradMode() { GradMode::set_enabled(previous_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  bool previous_;
};

/// No recording until the end of the scope.
class [[nodiscard]] NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

/// No recording, and tensors made here (views of earlier tensors apart) can never take part in it, nor be changed in
/// place while others are recorded: for inference loops. `InferenceMode(false)` is a region of the ordinary modes, with
/// recording on, as in libtorch.
class [[nodiscard]] InferenceMode {
 public:
  explicit InferenceMode(bool enabled = true)
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
  static bool is_enabled() { return thread_state().inference_mode; }

 private:
  bool grad_, inference_;
};

}  // namespace tandem
