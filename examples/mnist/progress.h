#pragma once
// The status line of a training run: epoch, batch, loss, images/s, scale, time left. Only shown on a terminal.
#include <chrono>
#include <string>

#include <tandem/tandem.h>

#include "mnist/mode.h"

namespace mnist {

class Progress {
 public:
  /// `steps` counts the whole run, whose last epoch may be cut short; `batches` counts one full epoch.
  Progress(std::string title, int64_t steps, int64_t batches, int64_t batch_size);
  /// Call after every step; `step` counts from 0. Reads the loss and the scale only when the line is redrawn.
  void show(int64_t step, const tandem::Tensor& loss, const Mode& mode);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  int64_t steps_, batches_, batch_size_;
  bool terminal_;
  Clock::time_point start_ = Clock::now(), drawn_ = start_;
};

}  // namespace mnist
