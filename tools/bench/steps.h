#pragma once
// The time of a training step, predicted from the machine's peaks and measured.
#include <tandem/base/device.h>
#include <tandem/base/dtype.h>

#include <vector>

#include "tools/bench/network.h"
#include "tools/bench/peaks.h"

namespace tools {

/// Returns the seconds of a step in f32, or with autocast to bf16 or f16: the products at the rate of square ones with
/// as many operations, plus one pass over memory for each time that an activation, a weight or a gradient is read or
/// written. Caches, launches and small ops are not modelled.
double predicted_step(const NetworkShape& shape, tandem::DType dtype, const Peaks& peaks);

struct StepTimes {
  tandem::DType dtype = tandem::kFloat;  ///< f32, or that of autocast
  std::vector<double> seconds;           ///< of single steps
};

/// Trains the network with SGD with momentum in turn in f32 and with autocast to each other trainable dtype, f16 with a
/// GradScaler, for `budget` seconds in all.
std::vector<StepTimes> measure_steps(const NetworkShape& shape, const tandem::Device& device, double budget);

}  // namespace tools
