// Trains a ResNet-18 of a quarter of the usual width on 16,000 images of Fashion-MNIST.
#include "models/resnet.h"

#include "networks/images.h"

namespace {

std::unique_ptr<networks::Experiment> make(const networks::Setting& setting) {
  using ResNet18 = networks::ClassifyImages<models::ResNet18>;
  const int64_t images = setting.small ? 2000 : 16000, width = setting.small ? 4 : 16;
  return std::make_unique<ResNet18>(setting, images, /*batch=*/32, /*lr=*/3e-3, models::ResNet18(1, width, 10));
}

}  // namespace

int main(int argc, char** argv) {
  return networks::main_of({.name = "resnet18",
                            .metric = "accuracy in percent",
                            .lower_is_better = false,
                            .steps = 1500,
                            .small_steps = 120,
                            .make = make},
                           argc, argv);
}
