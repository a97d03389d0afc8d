#pragma once
// Weights stored in simulated phase-change memory. Each weight is the difference of two devices' conductances. The
// simulation has what makes such devices hard to train with: pulses move a conductance by a coarse step that shrinks
// towards saturation and varies from pulse to pulse; a pulse can only increase it; reading is noisy; conductances drift
// while they are not programmed. Also compiles with libtorch.
// Source: Nandakumar et al., Mixed-Precision Deep Learning Based on Computational Memory, 2020. The model is simpler
// than theirs; its numbers are of the sizes reported there.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace models {

/// Properties of the devices. Conductances are fractions of the largest one; a weight is G+ - G-.
struct PhaseChangeOptions {
  double step = 1.0 / 16;          ///< mean rise of a device of conductance 0 by one pulse; proportional to 1 - G
  double programming_noise = 0.5;  ///< standard deviation of a rise, as a part of it
  double read_noise = 0.01;        ///< standard deviation of a reading, as a part of the largest conductance
  double drift = 0.03;             ///< G(t) = G(1) t^-drift, t training steps after the last pulse
  double refresh_above = 0.8;      ///< refresh() programs pairs anew in which a device is above this conductance
};

/// The devices of one tensor of weights.
class PhaseChangeArray {
 public:
  /// Programs the values of `weights`, within [-1, 1].
  PhaseChangeArray(const torch::Tensor& weights, const PhaseChangeOptions& options)
      : options_(options),
        plus_(torch::zeros_like(weights)),
        minus_(torch::zeros_like(weights)),
        plus_time_(torch::zeros_like(weights)),
        minus_time_(torch::zeros_like(weights)) {
    program(pulses_for(weights));
  }

  /// Reads the weights.
  torch::Tensor read() const { return read(plus_, plus_time_) - read(minus_, minus_time_); }

  /// Applies pulses: positive numbers to the devices of G+, negative ones to those of G-.
  void program(const torch::Tensor& pulses) {
    apply(plus_, plus_time_, pulses.clamp_min(0));
    apply(minus_, minus_time_, (-pulses).clamp_min(0));
  }

  /// Sets pairs that are nearly saturated back to 0, and programs their difference anew.
  void refresh() {
    const auto saturated = torch::maximum(plus_, minus_).gt(options_.refresh_above);
    const auto pulses = torch::where(saturated, pulses_for(plus_ - minus_), torch::zeros_like(plus_));
    plus_.masked_fill_(saturated, 0);
    minus_.masked_fill_(saturated, 0);
    program(pulses);
  }

  /// Lets `steps` training steps pass.
  void wait(double steps) { now_ += steps; }

 private:
  /// The number of pulses that bring a device from 0 to a weight: the n-th rises it to 1 - (1 - step)^n.
  torch::Tensor pulses_for(const torch::Tensor& weights) const {
    const auto count = torch::log1p(-weights.abs().clamp_max(0.98)) / std::log1p(-options_.step);
    return count.round() * weights.sign();
  }
  torch::Tensor read(const torch::Tensor& conductance, const torch::Tensor& time) const {
    const auto drifted = conductance * torch::pow((now_ - time).clamp_min(1), -options_.drift);
    return drifted + options_.read_noise * torch::randn_like(conductance);
  }
  /// Applies a number of pulses, at most 63, one after another, because each depends on the conductance before it.
  void apply(torch::Tensor& conductance, torch::Tensor& time, const torch::Tensor& pulses) {
    const int64_t most = std::min<int64_t>(63, pulses.max().item<int64_t>());
    for (int64_t i = 0; i < most; ++i) {
      const auto rise =
          options_.step * (1 - conductance) * (1 + options_.programming_noise * torch::randn_like(conductance));
      conductance = torch::where(pulses.gt(static_cast<double>(i)), (conductance + rise).clamp(0, 1), conductance);
    }
    if (most > 0) time = torch::where(pulses.gt(0), torch::full_like(time, now_), time);
  }

  PhaseChangeOptions options_;
  torch::Tensor plus_, minus_;            // conductances
  torch::Tensor plus_time_, minus_time_;  // of the last pulse
  double now_ = 0;
};

}  // namespace models
