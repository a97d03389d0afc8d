#pragma once
// The training modes that the examples compare: f32, PyTorch's AMP, the modes of Apex and Colossal-AI, and
// float8 with each recipe.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tandem/amp/fp8.h>
#include <tandem/amp/modes.h>
#include <tandem/amp/tools.h>
#include <tandem/tandem.h>

namespace mnist {

/// One run's network and optimizer in one training mode.
class Mode {
 public:
  virtual ~Mode() = default;
  /// Returns class scores, computed in the precision of this mode.
  virtual tandem::Tensor forward(const tandem::Tensor& images) = 0;
  /// Runs one optimizer step, logs it to `log` unless that is null, and returns the loss.
  virtual tandem::Tensor step(const tandem::Tensor& images, const tandem::Tensor& labels,
                              tandem::amp::TrainLog* log) = 0;
  /// Returns the loss scale; 1 without scaling. Waits for the device.
  virtual double scale() const { return 1; }
};

/// Returns the names that make_mode accepts: f32; bf16 and f16 as in PyTorch; Apex's O0 to O3; Colossal-AI's naive;
/// env, the same as TANDEM_AUTO_MIXED_PRECISION=1 with f16.
const std::vector<std::string>& mode_names();
/// Returns the mode called `name`, after changing the network and the optimizer as it requires. `network` is the
/// function that calls the module through its holder.
std::unique_ptr<Mode> make_mode(const std::string& name, std::shared_ptr<tandem::nn::Module> module,
                                std::function<tandem::Tensor(const tandem::Tensor&)> network,
                                tandem::optim::Optimizer& optimizer, tandem::Device device);

}  // namespace mnist
