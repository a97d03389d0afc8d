#pragma once
// The live line of a training run: epoch, batch, loss, images/s, scale, time left. Silent when stderr is no terminal.
#include <chrono>
#include <string>

#include <tandem/tandem.h>

#include "mnist/mode.h"

namespace mnist {

class Progress {
 public:
  /// `steps`: of the whole run, whose last epoch may be cut short; `batches`: of a whole epoch.
  Progress(std::string title, int64_t steps, int64_t batches, int64_t batch_size);
  /// Called after every step, which are numbered from 0; reads the loss and the scale only when it is time to draw.
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
