// The code of docs/seeing.md, section TensorBoard.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/event_files.h"
#include "support/device.h"
#include "support/temporary_folder.h"
#include "tandem/amp/tools.h"
#include "tandem/data/datasets/image_folder.h"
#include "tandem/io/summary_writer.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

/// Trains a small network for 200 steps in f16, and logs to the current folder.
void train(const std::string& log_dir, double lr) {
  manual_seed(1);
  const Device device(testing::device_type());
  nn::Sequential net(nn::Linear(16, 64), nn::ReLU(), nn::Linear(64, 4));
  net->to(device);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(lr));
  amp::GradScaler scaler(amp::GradScalerOptions().growth_interval(50));
  const Tensor truth = randn({16, 4}, device);

  amp::TrainLog log({"run.jsonl", log_dir + "/train.tfevents"});
  io::SummaryWriter writer(log_dir);
  writer.add_text("settings", "SGD, learning rate **" + std::to_string(lr) + "**");
  for (int64_t step = 0; step < 200; ++step) {
    const Tensor x = randn({32, 16}, device);
    sgd.zero_grad();
    Tensor loss;
    {
      amp::AutocastGuard autocast(device.type(), kHalf);
      loss = nn::functional::mse_loss(net->forward(x), matmul(x, truth));
    }
    if (step == 0) writer.add_graph(loss, net->named_parameters());
    scaler.scale(loss).backward();
    scaler.unscale_(sgd);
    const Tensor norm = nn::utils::clip_grad_norm_(net->parameters(), 10.0);
    const auto result = scaler.step(sgd);
    log.step({.loss = loss, .scaler = &scaler, .result = result, .grad_norm = norm, .samples = x.size(0), .lr = lr});
    scaler.update();
    if (step % 20 == 0) {
      for (const auto& parameter : net->named_parameters()) {
        writer.add_histogram("weights/" + parameter.key(), parameter.value(), step);
        writer.add_histogram("gradients/" + parameter.key(), parameter.value().grad(), step);
      }
    }
  }
  if (data::can_read_png()) writer.add_image("first weight", net->parameters()[0].unsqueeze(0) * 2 + 0.5);
}

TEST(TensorBoardPage, Runs) {
  if (!io::SummaryWriter::is_available()) GTEST_SKIP() << "without Protocol Buffers";
  const testing::TemporaryFolder folder;
  const char* const kept = std::getenv("TANDEM_EVENT_FILES");  // to look at them
  const testing::WorkingFolder current(kept ? kept : folder.path());
  train("runs/first", 0.05);
  train("runs/second", 0.2);
#ifdef TANDEM_PROTOBUF
  for (const char* run : {"runs/first", "runs/second"}) EXPECT_EQ(testing::event_files_of(run).size(), 2u);
#endif
}

}  // namespace
}  // namespace tandem
