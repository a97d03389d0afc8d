// Trains a GPT with 6 layers of width 384 on 256 characters of the King James Bible at a time.
#include "models/gpt.h"

#include "networks/next_character.h"

namespace {

using Gpt = networks::NextCharacter<models::Gpt>;

std::unique_ptr<networks::Experiment> make(const networks::Setting& setting) {
  const int64_t batch = setting.small ? 16 : 8, length = setting.small ? 64 : 256;
  return std::make_unique<Gpt>(setting, batch, length, setting.small ? 3e-3 : 1e-3, [&](int64_t vocabulary) {
    return setting.small ? models::Gpt(models::GptOptions{vocabulary, length, 64, 2, 4})
                         : models::Gpt(models::GptOptions{vocabulary, length, 384, 6, 6});
  });
}

}  // namespace

int main(int argc, char** argv) {
  return networks::main_of({.name = "gpt",
                            .metric = "bits per character",
                            .lower_is_better = true,
                            .steps = 100,
                            .small_steps = 300,
                            .make = make},
                           argc, argv);
}
