// Trains a vision transformer on the patches of Fashion-MNIST's images.
#include "models/vit.h"

#include "networks/images.h"

namespace {

std::unique_ptr<networks::Experiment> make(const networks::Setting& setting) {
  using Vit = networks::ClassifyImages<models::Vit>;
  return std::make_unique<Vit>(setting, /*images=*/setting.small ? 4000 : 60000, /*batch=*/64, /*lr=*/1e-3,
                               setting.small ? models::Vit(models::VitOptions{28, 7, 32, 2, 2})
                                             : models::Vit(models::VitOptions{28, 4, 128, 4, 4}));
}

}  // namespace

int main(int argc, char** argv) {
  return networks::main_of({.name = "vit",
                            .metric = "accuracy in percent",
                            .lower_is_better = false,
                            .steps = 900,
                            .small_steps = 300,
                            .make = make},
                           argc, argv);
}
