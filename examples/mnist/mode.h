#pragma once
// The ways to train that the examples compare: f32, PyTorch's AMP, and the modes of the systems before it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tandem/amp/debug.h>
#include <tandem/amp/modes.h>
#include <tandem/tandem.h>

namespace mnist {

/// One training run's network and optimizer in one mode.
class Mode {
 public:
  virtual ~Mode() = default;
  /// Class scores, as this mode computes them.
  virtual tandem::Tensor forward(const tandem::Tensor& images) = 0;
  /// One step of the optimizer, written to `log` unless that is null; returns the loss.
  virtual tandem::Tensor step(const tandem::Tensor& images, const tandem::Tensor& labels,
                              tandem::amp::TrainLog* log) = 0;
  /// The loss scale; 1 without scaling. Waits for the device.
  virtual double scale() const { return 1; }
};

/// The names that make_mode knows: f32; bf16 and f16 as in PyTorch; Apex's O0 to O3; Colossal-AI's naive; env, what
/// TANDEM_AUTO_MIXED_PRECISION=1 with f16 does.
const std::vector<std::string>& mode_names();
/// Changes network and optimizer as the mode wants it. `network`: called through its holder.
std::unique_ptr<Mode> make_mode(const std::string& name, std::shared_ptr<tandem::nn::Module> module,
                                std::function<tandem::Tensor(const tandem::Tensor&)> network,
                                tandem::optim::Optimizer& optimizer, tandem::Device device);

}  // namespace mnist
