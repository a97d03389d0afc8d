#pragma once
// AutocastGuard: a scope in which ops choose their precision, like PyTorch's torch.autocast. That scope is called an
// autocast region.
#include <memory>
#include <optional>

#include "tandem/amp/cast_cache.h"
#include "tandem/base/macros.h"
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Within this scope, ops on this thread and on tensors of device type `type` cast their inputs as the policy table
/// says (amp/policy.h).
///
///   amp::AutocastGuard autocast(kCPU);                 // bf16 on the CPU, f16 on CUDA
///   amp::AutocastGuard off(kCPU, {}, false);           // off inside the region; convert inputs with .to(kFloat)
///
/// dtype: kHalf or kBFloat16; by default the thread's current low dtype for the device type. Another dtype throws
/// DTypeError, or is ignored if `enabled` is false.
/// cache_enabled: whether casts of weights are cached until the outermost region ends; inherited by default.
///
/// A region inside a region of float8 (amp/fp8/fp8_autocast.h) computes in f16, bf16 or f32 only.
///
/// If no device of the type is available, the guard warns once and has no effect. The destructor restores the previous
/// state.
class AutocastGuard {
 public:
  TANDEM_UNAVAILABLE("a region needs a device, and a name: amp::AutocastGuard autocast(kCPU);") AutocastGuard();
  [[nodiscard]] explicit AutocastGuard(DeviceType type, std::optional<DType> dtype = {}, bool enabled = true,
                                       std::optional<bool> cache_enabled = {});
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType type_;
  AutocastState previous_;
  bool previous_cache_;
  std::shared_ptr<const WeightProducts> previous_products_;
};

/// Whether autocast is on in the calling thread for this device type.
bool is_autocast_enabled(DeviceType type);
/// Switches autocast on or off for the calling thread without a scope, like torch.set_autocast_enabled. Outside
/// regions, casts of weights are cached until the weights change, a region ends or clear_autocast_cache() is called.
void set_autocast_enabled(DeviceType type, bool enabled);
/// The calling thread's low dtype for this device type.
DType get_autocast_dtype(DeviceType type);
/// Sets the calling thread's low dtype for this device type, the default of its regions. Throws DTypeError unless it is
/// f16 or bf16.
void set_autocast_dtype(DeviceType type, DType dtype);
/// Whether autocast for this device type has an effect in this build on this machine.
bool is_autocast_available(DeviceType type);
/// Whether casts of weights are cached on the calling thread.
bool is_autocast_cache_enabled();
/// Sets whether they are. At the end of a region, a guard restores the value from before.
void set_autocast_cache_enabled(bool enabled);
/// Begin and end a region by hand, for programs that use the functions above in place of a guard. They return the new
/// number of nested regions; at 0, call clear_autocast_cache(). decrement_autocast_nesting() throws StateError outside
/// of regions.
int increment_autocast_nesting();
int decrement_autocast_nesting();

}  // namespace tandem::amp
#pragma GCC visibility pop
