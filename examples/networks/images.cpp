#include "networks/images.h"

namespace networks {

Images Images::load(const Setting& setting, bool train, int64_t count) {
  using MNIST = torch::data::datasets::MNIST;
  const MNIST data(setting.images, train ? MNIST::Mode::kTrain : MNIST::Mode::kTest);
  const auto images = data.images().narrow(0, 0, count);
  // Mean and deviation of Fashion-MNIST's pixels.
  return {((images - 0.2860) / 0.3530).to(setting.device), data.targets().narrow(0, 0, count).to(setting.device)};
}

Images Images::sample(int64_t count) const {
  const auto index = torch::randint(0, images.size(0), {count}, classes.options());
  return {images.index_select(0, index), classes.index_select(0, index)};
}

Images Images::narrow(int64_t start, int64_t count) const {
  return {images.narrow(0, start, count), classes.narrow(0, start, count)};
}

}  // namespace networks
