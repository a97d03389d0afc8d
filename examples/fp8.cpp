// Training in float8 with each recipe, as with TransformerEngine: the products of the hidden layer are computed in
// float8, those of the first and the last layer, and everything else, in bf16 and f32.
#include <cstdio>

#include <tandem/amp/fp8.h>
#include <tandem/amp/tools.h>

#include "toy.h"

using namespace tandem;

namespace {

/// Returns the accuracy after `steps` steps in the region that `open` returns.
template <class Open>
double train(int64_t steps, const Open& open, bool shows_losses) {
  manual_seed(1);
  toy::Net net;
  net.to(toy::device());
  amp::exclude_from_fp8(net, {"fc1", "fc3"});
  optim::AdamW optimizer(net.parameters(), optim::AdamWOptions(5e-3));
  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(256, toy::device());
    optimizer.zero_grad();
    Tensor loss;
    {
      const auto region = open();
      loss = cross_entropy(net.forward(batch.inputs), batch.targets);
    }
    loss.backward();
    optimizer.step();
  }
  if (shows_losses) {
    const amp::OpStats stats;
    const toy::Batch batch = toy::spirals(256, toy::device());
    {
      const auto region = open();
      net.forward(batch.inputs);
    }
    for (const amp::RoundingCount& r : stats.roundings()) {
      std::printf("  %-6s of %s: %.3f %% saturated, %.3f %% became 0\n", r.operand.c_str(), r.op.c_str(),
                  r.losses.saturated_percent(), r.losses.flushed_percent());
    }
  }
  return toy::accuracy(net, toy::spirals(4096, toy::device()));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = toy::Arguments(argc, argv).quick ? 200 : 2000;
  const DeviceType device = toy::device().type();
  const double bf16 = train(
      steps, [&] { return amp::AutocastGuard(device, kBFloat16); }, false);
  std::printf("bf16: accuracy %.3f\n", bf16);
  bool learned = true;
  for (const char* name : {"delayed", "tensorwise", "blockwise", "mxfp8"}) {
    const amp::Fp8Recipe recipe = amp::fp8_recipe(name);
    std::printf("%s\n", amp::to_string(recipe).c_str());
    const double accuracy = train(
        steps, [&] { return amp::Fp8AutocastGuard(device, recipe); }, true);
    std::printf("  accuracy %.3f\n", accuracy);
    learned = learned && toy::learned_as_much(bf16, accuracy);
  }
  return learned ? 0 : 1;
}
