// Training in float8 with each recipe, as with TransformerEngine: the products of the hidden layer are computed in
// float8, those of the first and the last layer, and everything else, in bf16 and f32.
#include <cstdio>

#include <tandem/amp/fp8.h>
#include <tandem/amp/tools.h>

#include "toy.h"

using namespace tandem;

namespace {

/// Trains in float8, or in bf16 if `enabled` is false. Returns the accuracy.
double train(int64_t steps, const amp::Fp8Recipe& recipe, bool enabled) {
  const DeviceType device = toy::device().type();
  manual_seed(1);
  toy::Net net;
  net.to(toy::device());
  amp::exclude_from_fp8(net, {"fc1", "fc3"});
  optim::AdamW optimizer(net.parameters(), optim::AdamWOptions(5e-3));
  const auto loss_of = [&](const toy::Batch& batch) {
    amp::Fp8AutocastGuard fp8(device, recipe, enabled);
    return cross_entropy(net.forward(batch.inputs), batch.targets);
  };

  for (int64_t step = 0; step < steps; ++step) {
    const toy::Batch batch = toy::spirals(256, toy::device());
    optimizer.zero_grad();
    loss_of(batch).backward();
    optimizer.step();
  }

  const amp::OpStats stats;
  loss_of(toy::spirals(256, toy::device())).backward();
  for (const amp::RoundingCount& r : stats.roundings()) {
    std::printf("  %-8s of %s: %.3f %% saturated, %.3f %% became 0\n", r.operand.c_str(), r.op.c_str(),
                r.losses.saturated_percent(), r.losses.flushed_percent());
  }
  return toy::accuracy(net, toy::spirals(4096, toy::device()));
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = toy::Arguments(argc, argv).quick ? 200 : 2000;
  const double bf16 = train(steps, amp::DelayedScaling(), false);
  std::printf("bf16: accuracy %.3f\n", bf16);
  bool learned = true;
  for (const char* name : {"delayed", "tensorwise", "blockwise", "mxfp8"}) {
    const amp::Fp8Recipe recipe = amp::fp8_recipe(name);
    std::printf("%s\n", amp::to_string(recipe).c_str());
    const double accuracy = train(steps, recipe, true);
    std::printf("  accuracy %.3f\n", accuracy);
    learned = learned && toy::learned_as_much(bf16, accuracy);
  }
  return learned ? 0 : 1;
}
