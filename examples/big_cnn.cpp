// Trains a CNN with 420 and 1000 channels on 8,000 images of Fashion-MNIST.
#include "models/big_cnn.h"

#include "networks/images.h"

namespace {

std::unique_ptr<networks::Experiment> make(const networks::Setting& setting) {
  using BigCnn = networks::ClassifyImages<models::BigCnn>;
  const int64_t images = setting.small ? 2000 : 8000;
  return std::make_unique<BigCnn>(setting, images, /*batch=*/16, /*lr=*/1e-3,
                                  setting.small ? models::BigCnn(8, 16) : models::BigCnn(420, 1000),
                                  /*tested=*/2000);  // all 10,000 would take the run past 5 minutes
}

}  // namespace

int main(int argc, char** argv) {
  return networks::main_of({.name = "big_cnn",
                            .metric = "accuracy in percent",
                            .lower_is_better = false,
                            .steps = 300,
                            .small_steps = 200,
                            .make = make},
                           argc, argv);
}
