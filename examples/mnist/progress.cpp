#include "mnist/progress.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

namespace mnist {

Progress::Progress(std::string title, int64_t epochs, int64_t batches, int64_t batch_size)
    : title_(std::move(title)),
      epochs_(epochs),
      batches_(batches),
      batch_size_(batch_size),
      terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(int64_t epoch, int64_t batch, const tandem::Tensor& loss, const Mode& mode) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (now - drawn_ < std::chrono::milliseconds(200)) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double done = static_cast<double>(epoch * batches_ + batch + 1);
  const double all = static_cast<double>(epochs_ * batches_);
  const double factor = mode.scale();
  const std::string scale = factor != 1 ? fmt::format("  scale {:.0f}", factor) : "";
  const std::string line =
      fmt::format("{}  epoch {}/{}  batch {}/{}  loss {:.4f}  {:.0f} images/s{}  {:.0f} s left", title_, epoch + 1,
                  epochs_, batch + 1, batches_, loss.item<float>(), done * static_cast<double>(batch_size_) / seconds,
                  scale, seconds / done * (all - done));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (!terminal_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace mnist
