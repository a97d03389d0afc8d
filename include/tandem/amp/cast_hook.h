#pragma once
// Casts and regions around a module's forward(): what the modes put there.
#include <memory>
#include <optional>

#include "tandem/nn/call.h"

namespace tandem::amp {

/// What happens to the floating tensors (f64 aside) that go into and come out of a module, and the region in between.
struct CastHookOptions {
  std::optional<DType> inputs, outputs;  ///< cast to it
  /// nullopt: the caller's region goes on; else the region for the inputs' device: switched on with `low`, or off.
  std::optional<bool> autocast;
  DType low = kHalf;
};

/// A call hook that casts.
class CastHook final : public nn::CallHook {
 public:
  explicit CastHook(const CastHookOptions& options) : options_(options) {}
  Tensor input(const Tensor& x) const override;
  std::shared_ptr<void> enter(Device device) const override;
  Tensor output(const Tensor& y) const override;
  const CastHookOptions& options() const { return options_; }

 private:
  CastHookOptions options_;
};

}  // namespace tandem::amp
