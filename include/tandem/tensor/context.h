#pragma once
// The modes of a thread: gradient recording, inference, default device, autocast. Guards in other headers set and
// restore them.
#include <cstdint>
#include <memory>

#include "tandem/base/device.h"
#include "tandem/base/dtype.h"

#pragma GCC visibility push(default)
namespace tandem {

namespace amp {
class PolicyOverrides;
}
namespace autograd {
class Observers;
}
class WeightProducts;
class WeightProductsScope;

/// The autocast state of one device type on one thread.
struct AutocastState {
  bool enabled = false;
  DType dtype = kHalf;
};

/// The state of a thread that guards can change. New threads start with the defaults, and with the process's autocast
/// states (set_initial_autocast).
struct ThreadState {
  bool grad_mode = true;
  bool inference_mode = false;
  /// In the body of an op: whether the call will be recorded, so that save() must keep the tensors.
  bool saves = false;
  Device default_device;
  AutocastState autocast[kNumDeviceTypes] = {{false, kBFloat16}, {false, kHalf}};
  bool autocast_cache_enabled = true;
  int autocast_nesting = 0;
  /// Set by PolicyGuard; null if the table of policy.h applies unchanged.
  std::shared_ptr<const amp::PolicyOverrides> policy;
  /// What computes products with weights of each device type in this region (ops/weight_products.h); null: the ops.
  std::shared_ptr<const WeightProducts> weight_products[kNumDeviceTypes];
  /// What the outermost region with weight_products shares with those inside; null outside of all.
  std::shared_ptr<WeightProductsScope> products_scope;
  /// The observers of this thread's ops (autograd/observer.h); null if there are none.
  std::shared_ptr<const autograd::Observers> observers;
};

namespace detail {
/// Returns the initial state of a thread.
ThreadState initial_thread_state();
}  // namespace detail

/// Sets the autocast state of a device type with which new threads start.
void set_initial_autocast(DeviceType type, const AutocastState& state);

/// Returns the calling thread's state.
inline ThreadState& thread_state() {
  static thread_local ThreadState state = detail::initial_thread_state();
  return state;
}

}  // namespace tandem
#pragma GCC visibility pop
