#include "mnist/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace mnist {

Progress::Progress(std::string title, int64_t steps, int64_t batches, int64_t batch_size)
    : title_(std::move(title)),
      steps_(steps),
      batches_(batches),
      batch_size_(batch_size),
      terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(int64_t step, const tandem::Tensor& loss, const Mode& mode) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const int64_t epoch = step / batches_, epochs = (steps_ + batches_ - 1) / batches_;
  const int64_t batches = std::min(batches_, steps_ - epoch * batches_);  // in this epoch
  const auto done = static_cast<double>(step + 1), all = static_cast<double>(steps_);
  const double factor = mode.scale();
  const std::string scale = factor != 1 ? fmt::format("  scale {:.0f}", factor) : "";
  const std::string line =
      fmt::format("{}  epoch {}/{}  batch {}/{}  loss {:.4f}  {:.0f} images/s{}  {:.0f} s left", title_, epoch + 1,
                  epochs, step % batches_ + 1, batches, loss.item<float>(),
                  done * static_cast<double>(batch_size_) / seconds, scale, seconds / done * (all - done));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace mnist
