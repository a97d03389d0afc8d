// The code of docs/seeing.md and docs/troubleshooting.md. io/tensorboard_page_test.cpp has that of the section
// TensorBoard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/device.h"
#include "support/temporary_folder.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

/// The tests run in a folder of their own, and `printed` gets what they print.
struct SeeingPage : ::testing::Test {
  ~SeeingPage() override { std::cout.rdbuf(terminal); }

  Tensor loss_of(const nn::Sequential& model, const Tensor& inputs, bool use_amp = true) const {
    amp::AutocastGuard autocast(device.type(), kHalf, use_amp);
    return cross_entropy(model->forward(inputs), y);
  }
  void train_one_step() {
    sgd.zero_grad();
    loss_of(net, x).backward();
    sgd.step();
  }

  const testing::TemporaryFolder folder;
  const testing::WorkingFolder current{folder.path()};
  std::ostringstream printed;
  std::streambuf* const terminal = std::cout.rdbuf(printed.rdbuf());
  const Device device = get_default_device();
  Tensor x = full({16, 8}, 0.5), y = zeros({16}, kLong), loss;
  nn::Sequential net{nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)};
  optim::SGD sgd{net->parameters(), optim::SGDOptions(0.01)};
  amp::GradScaler scaler;
};

TEST_F(SeeingPage, OpStats) {
  {
    amp::OpStats stats(&std::cout);  // prints its table at the end of the scope
    train_one_step();
    EXPECT_EQ(printed.str(), "");
  }
  EXPECT_THAT(printed.str(), HasSubstr("linear"));
  EXPECT_THAT(printed.str(), HasSubstr("cache hits"));
}

TEST_F(SeeingPage, Profiler) {
  amp::Profiler profiler;
  for (int i = 0; i < 5; ++i) {
    sgd.zero_grad();
    loss_of(net, x).backward();
    auto scope = profiler.scope("optimizer");
    sgd.step();
  }
  std::cout << profiler;
  profiler.write_chrome_trace("trace.json");
  for (const char* part : {"linear", "optimizer", "outside ops"}) EXPECT_THAT(printed.str(), HasSubstr(part));
  EXPECT_FALSE(nlohmann::json::parse(std::ifstream("trace.json")).empty());
}

TEST_F(SeeingPage, Explain) {
  amp::AutocastGuard autocast(device.type());
  std::cout << amp::explain("cat", kBFloat16, kFloat);         // a question to the policy that is in force here
  std::cout << amp::explain([&] { loss = net->forward(x); });  // what happened, op by op
  EXPECT_THAT(printed.str(), HasSubstr("cat: policy"));
  EXPECT_THAT(printed.str(), HasSubstr("linear: policy lower by the table"));
  EXPECT_EQ(loss.dtype(), amp::get_autocast_dtype(device.type()));
}

TEST_F(SeeingPage, OverflowFinder) {
  x.mul_(1e6);                       // inf in f16
  amp::OverflowFinder finder(*net);  // names parameters and modules; the argument is optional
  scaler.scale(loss_of(net, x)).backward();
  if (auto found = finder.found()) std::cout << *found;
  finder.reset();  // before the next step
  EXPECT_THAT(printed.str(), HasSubstr("the cast of input 0 from f32 to f16"));
  EXPECT_THAT(printed.str(), HasSubstr("linear"));
  EXPECT_FALSE(finder.found());
}

TEST_F(SeeingPage, CompareAccuracy) {
  nn::Sequential f32_net{nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)};
  nn::Sequential amp_net{nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)};
  amp_net->load_state_dict(f32_net->state_dict());
  const auto train_step = [&](nn::Sequential& model, bool use_amp) {
    optim::SGD optimizer(model->parameters(), optim::SGDOptions(0.01));
    amp::GradScaler scaler(amp::GradScalerOptions().enabled(use_amp));
    scaler.scale(loss_of(model, x, use_amp)).backward();
    scaler.step(optimizer);
    scaler.update();
  };
  const auto report = amp::compare_accuracy([&] { train_step(f32_net, false); }, [&] { train_step(amp_net, true); },
                                            {.loss_scale = 65536});
  std::cout << report;  // the worst first
  if (const auto* row = report.first(0.01)) std::cout << row->what << " is the first to depart by more than 1 %\n";
  std::cout << amp::compare_accuracy(*f32_net, *amp_net);  // parameters and gradients by name
  EXPECT_EQ(report.first(0.01), nullptr);
  EXPECT_GT(report.worst()->relative_l2, 0);
  EXPECT_THAT(printed.str(), HasSubstr("linear"));
  EXPECT_THAT(printed.str(), HasSubstr("0.weight.grad"));
}

TEST_F(SeeingPage, TrainLog) {
  const data::Example<> batch{x, y};
  const double accuracy = 0.5;
  amp::TrainLog log({"run.jsonl", "run.csv"});
  loss = loss_of(net, x);
  scaler.scale(loss).backward();
  scaler.unscale_(sgd);
  const Tensor norm = nn::utils::clip_grad_norm_(net->parameters(), 1.0);
  auto result = scaler.step(sgd);
  log.step({.loss = loss,
            .scaler = &scaler,
            .result = result,
            .grad_norm = norm,
            .samples = batch.data.size(0),
            .lr = sgd.param_groups()[0].options().get_lr(),
            .values = {{"accuracy", accuracy}}});
  scaler.update();
  log.flush();
  const auto line = nlohmann::json::parse(std::ifstream("run.jsonl"));
  for (const char* field : {"step", "seconds", "loss", "scale", "skipped", "grad_norm", "samples_per_second", "lr"}) {
    EXPECT_TRUE(line.contains(field)) << field;
  }
  EXPECT_EQ(line["accuracy"], 0.5);
  EXPECT_EQ(line["scale"], 65536);
  EXPECT_TRUE(std::filesystem::exists("run.csv"));
}

}  // namespace
}  // namespace tandem
