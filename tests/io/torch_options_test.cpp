// Options of PyTorch's optimizers and schedules that tandem does not know.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/torch_files.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "tandem/io/io.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

TEST(TorchFile, OptionsThatTandemDoesNotKnowAreKept) {
  const std::string run = "step";
  const IValue saved = io::load_pickle(torch_file("schedules.pt")).toGenericDict().at(run);
  const auto expect_group = [](const IValue& optimizer) {
    const GenericDict& group = optimizer.toGenericDict().at("param_groups").toListRef()[0].toGenericDict();
    EXPECT_EQ(group.at("lr_scale").toDouble(), 0.5);
    EXPECT_EQ(group.at("layer").toStringRef(), "head");
    EXPECT_EQ(group.at("depths").toIntVector(), std::vector<int64_t>({1, 2}));
    EXPECT_EQ(group.at("shares").toDoubleVector(), std::vector<double>({0.5, 1}));
    EXPECT_TRUE(group.at("note").isNone() && group.at("foreach").isNone());
    EXPECT_EQ(group.at("nested").toGenericDict().at("a").toTupleRef().elements()[1].toStringRef(), "b");
  };
  const auto expect_rest = [](const IValue& optimizer) {
    const GenericDict& dict = optimizer.toGenericDict();
    EXPECT_EQ(dict.at("format").toInt(), 3);
    EXPECT_EQ(dict.at("run").toStringRef(), "first");
    EXPECT_TRUE(dict.at("tags").toGenericDict().at("a").toListRef()[1].isNone());
    EXPECT_EQ(difference(dict.at("scale").toTensor(), ones({2})), "");
    const GenericDict& own = dict.at("state").toGenericDict().at(0).toGenericDict();
    EXPECT_EQ(difference(own.at("max_exp_avg_sq").toTensor(), full({1}, 3.0)), "");
    EXPECT_EQ(own.at("calls").toInt(), 7);
  };
  expect_group(saved.toGenericDict().at("optimizer"));
  std::vector<optim::OptimizerParamGroup> groups;
  for (int i = 0; i < 2; ++i) groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()});
  optim::SGD sgd(groups, optim::SGDOptions(1).momentum(0.9));
  optim::StepLR schedule(sgd, 7, 0.3);
  sgd.load_state_dict(io::to_state_dict(saved.toGenericDict().at("optimizer")));
  schedule.load_state_dict(io::to_state_dict(saved.toGenericDict().at("schedule")));
  const TemporaryFolder folder;
  for (const char* name : {"o.pt", "o.safetensors"}) {
    save(sgd, folder.path(name));
    optim::SGD again(groups, optim::SGDOptions(1).momentum(0.9));
    load(again, folder.path(name));
    const IValue written = io::to_torch_dict(again.state_dict());
    expect_group(written);
    expect_rest(written);
  }
  const IValue dict = io::to_torch_dict(schedule.state_dict());
  const GenericDict& expected = saved.toGenericDict().at("schedule").toGenericDict();
  EXPECT_EQ(dict.toGenericDict().size(), expected.size());
  EXPECT_EQ(dict.toGenericDict().at("note").toStringRef(), "mine");
  EXPECT_EQ(dict.toGenericDict().at("last_epoch").toInt(), 6);
  EXPECT_EQ(dict.toGenericDict().at("base_lrs").toDoubleVector(), expected.at("base_lrs").toDoubleVector());
  EXPECT_FALSE(dict.toGenericDict().at("_is_initial").toBool());
}

/// Runs of torch.optim.LBFGS go on here. With TANDEM_REWRITTEN, torch_check.py loads what is written.
TEST(TorchFile, LbfgsResumes) {
  const char* const kept = std::getenv("TANDEM_REWRITTEN");
  const TemporaryFolder folder;
  const StateDict runs = io::load_pt(torch_file("lbfgs.pt")), expected = expected_tensors("lbfgs.next");
  for (const std::string name : {"plain", "wolfe", "one_iteration", "new", "converged"}) {
    const StateDict run = state_below(runs, name);
    const std::string path = (kept ? kept : folder.path()) + std::string("/lbfgs_") + name + ".pt";
    for (const bool rewritten : {false, true}) {
      const Tensor x = run["x"].clone().requires_grad_(), y = run["y"].clone().requires_grad_();
      optim::LBFGS lbfgs({x, y});
      lbfgs.load_state_dict(rewritten ? io::load_pt(path) : state_below(run, "optimizer"));
      if (!rewritten) save(lbfgs, path);
      lbfgs.step([&] {
        lbfgs.zero_grad();
        const Tensor loss = 10 * (y - x * x).square().sum() + (1 - x).square().sum();
        loss.backward();
        return loss;
      });
      EXPECT_TRUE(allclose(x, expected[name + ".x"], 1e-9, 1e-9)) << name << " " << rewritten;
      EXPECT_TRUE(allclose(y, expected[name + ".y"], 1e-9, 1e-9)) << name << " " << rewritten;
    }
  }
}

TEST(Checkpoint, RunsOfPyTorchLoad) {
  const TemporaryFolder folder;
  const GenericDict run = io::load_pickle(torch_file("schedules.pt")).toGenericDict().at("sequence").toGenericDict();
  io::save_pickle(GenericDict{{"optimizer", run.at("optimizer")}, {"schedule", run.at("schedule")}, {"epoch", 6}},
                  folder.path("run.pt"));
  std::vector<optim::OptimizerParamGroup> groups;
  for (int i = 0; i < 2; ++i) groups.emplace_back(std::vector<Tensor>{zeros({1}).requires_grad_()});
  optim::SGD sgd(groups, optim::SGDOptions(1).momentum(0.9));
  optim::SequentialLR schedule(
      sgd,
      {std::make_shared<optim::LinearLR>(sgd, 0.1), std::make_shared<optim::CosineAnnealingLR>(sgd, 15, 0.001),
       std::make_shared<optim::StepLR>(sgd, 2)},
      {5, 20});
  int64_t epoch = 0;
  io::Checkpoint checkpoint;
  checkpoint.add("optimizer", sgd).add("schedule", schedule).add("epoch", epoch);
  checkpoint.load(folder.path("run.pt"));
  EXPECT_EQ(epoch, 6);
  EXPECT_EQ(schedule.last_epoch(), 6);
}

}  // namespace
}  // namespace tandem::testing
