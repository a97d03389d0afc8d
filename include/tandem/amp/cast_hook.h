#pragma once
// CastHook: the casts and the autocast region that modes put around a module's forward().
#include <memory>
#include <optional>

#include "tandem/amp/fp8/recipe.h"
#include "tandem/nn/call.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Options of a CastHook. Only floating tensors are cast, except f64.
struct CastHookOptions {
  std::optional<DType> inputs, outputs;  ///< the dtype that inputs or outputs are cast to; nullopt: no cast
  /// Switches autocast for the inputs' device type on, with dtype `low`, or off. nullopt: autocast stays as it is.
  std::optional<bool> autocast;
  DType low = kHalf;
  /// With autocast on: a region of float8 with this recipe; `low` is not used.
  std::optional<Fp8Recipe> fp8 = {};
};

/// A call hook that applies CastHookOptions.
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
#pragma GCC visibility pop
