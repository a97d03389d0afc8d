// Options of PyTorch's optimizers and schedules that tandem does not know.
#include <gtest/gtest.h>

#include "io/torch_files.h"
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
    expect_group(io::to_torch_dict(again.state_dict()));
  }
  const IValue dict = io::to_torch_dict(schedule.state_dict());
  const GenericDict& expected = saved.toGenericDict().at("schedule").toGenericDict();
  EXPECT_EQ(dict.toGenericDict().size(), expected.size());
  EXPECT_EQ(dict.toGenericDict().at("last_epoch").toInt(), 6);
  EXPECT_EQ(dict.toGenericDict().at("base_lrs").toDoubleVector(), expected.at("base_lrs").toDoubleVector());
  EXPECT_FALSE(dict.toGenericDict().at("_is_initial").toBool());
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
