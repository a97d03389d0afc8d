#pragma once
// AutocastGuard: the region in which ops choose their own precision. PyTorch's torch.autocast as a C++ scope.
#include <optional>

#include "tandem/amp/cast_cache.h"
#include "tandem/tensor/context.h"

namespace tandem::amp {

/// Ops in this scope, on this thread and on tensors of `type`, cast their inputs by the policy table (amp/policy.h).
///
///   amp::AutocastGuard autocast(kCPU);                 // bf16 on the CPU, f16 on CUDA
///   amp::AutocastGuard off(kCPU, {}, false);           // an f32 island inside it; convert its inputs with .to(kFloat)
///
/// dtype: kHalf or kBFloat16, else DTypeError; by default the thread's current choice for the device.
/// cache_enabled: whether weights are cast once for the outermost region; inherited by default.
/// A region for a device that is not there warns once and does nothing. The state before is restored exactly, also when
/// an exception passes.
class [[nodiscard]] AutocastGuard {
 public:
  explicit AutocastGuard(DeviceType type, std::optional<DType> dtype = {}, bool enabled = true,
                         std::optional<bool> cache_enabled = {});
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  DeviceType type_;
  AutocastState previous_;
  bool previous_cache_;
};

/// Whether the calling thread is in an enabled region for this device type.
bool is_autocast_enabled(DeviceType type);
/// Switches autocast on or off for the calling thread outside of any region, as torch.set_autocast_enabled. Casts of
/// weights are then kept until the weights change, a region ends, or clear_autocast_cache().
void set_autocast_enabled(DeviceType type, bool enabled);
/// The low dtype of the calling thread's regions for this device type.
DType get_autocast_dtype(DeviceType type);
/// Sets the dtype that regions of this thread take by default. Throws DTypeError unless f16 or bf16.
void set_autocast_dtype(DeviceType type, DType dtype);
/// Whether regions for this device type have an effect in this build on this machine.
bool is_autocast_available(DeviceType type);
bool is_autocast_cache_enabled();

}  // namespace tandem::amp
