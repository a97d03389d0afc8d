// Trains a 2-layer LSTM of width 256 on 64 characters of the King James Bible at a time.
#include "models/lstm.h"

#include "networks/next_character.h"

namespace {

using Lstm = networks::NextCharacter<models::Lstm>;

std::unique_ptr<networks::Experiment> make(const networks::Setting& setting) {
  return std::make_unique<Lstm>(setting, /*batch=*/32, /*length=*/64, /*lr=*/4e-3, [&](int64_t vocabulary) {
    return setting.small ? models::Lstm(models::LstmOptions{vocabulary, 64, 2})
                         : models::Lstm(models::LstmOptions{vocabulary, 256, 2});
  });
}

}  // namespace

int main(int argc, char** argv) {
  return networks::main_of({.name = "lstm",
                            .metric = "bits per character",
                            .lower_is_better = true,
                            .steps = 1000,
                            .small_steps = 300,
                            .make = make},
                           argc, argv);
}
