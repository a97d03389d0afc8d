// TrainLog's event files: the fields of a step as scalars.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "io/event_files.h"
#include "support/device.h"
#include "support/file_size_limit.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/amp/tools.h"
#include "tandem/io/summary_writer.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using amp::TrainLog;
using ::testing::SizeIs;
using testing::TemporaryFolder;

#ifndef TANDEM_PROTOBUF

TEST(TrainLogEvents, NeedProtocolBuffers) {
  const TemporaryFolder folder;
  EXPECT_THROWS(TrainLog(folder.path("x.tfevents")), NotImplementedError, "TrainLog: ", "libprotobuf-dev");
}

#else

std::map<std::string, float> scalars_of(const testing::Event& event) {
  std::map<std::string, float> scalars;
  for (const testing::Summary::Value& value : event.summary().value()) scalars[value.tag()] = value.simple_value();
  EXPECT_THAT(scalars, SizeIs(static_cast<size_t>(event.summary().value_size())));
  return scalars;
}

TEST(TrainLogEvents, FieldsBecomeScalars) {
  const TemporaryFolder folder;
  manual_seed(1);
  nn::Linear net(8, 4);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(4));
  std::vector<float> losses, scales, skipped;
  const double begin = static_cast<double>(std::time(nullptr));
  {
    TrainLog log({folder.path("runs/first/train.tfevents"), folder.path("run.jsonl")}, {.first_step = 10});
    for (int i = 0; i < 4; ++i) {
      sgd.zero_grad();
      const Tensor loss = net->forward(randn({16, 8})).square().mean();
      scaler.scale(loss).backward();
      if (i == 2) net->weight.mutable_grad() = full({4, 8}, INFINITY);
      const amp::StepResult result = scaler.step(sgd);
      log.step({.loss = loss,
                .scaler = &scaler,
                .result = result,
                .grad_norm = full({}, 2.0),
                .samples = 16,
                .lr = 0.25,
                .values = {{"accuracy", 0.5}, {"val/loss", loss * 2}, {"missing", Tensor()}}});
      losses.push_back(loss.item<float>());
      scales.push_back(static_cast<float>(scaler.get_scale()));
      skipped.push_back(result.skipped() ? 1.0f : 0.0f);
      scaler.update();
    }
  }
  EXPECT_EQ(skipped[2], 1);
  const auto events = testing::events_in(folder.path("runs/first"));
  ASSERT_THAT(events, SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(events[i].step(), 10 + static_cast<int64_t>(i));
    EXPECT_GE(events[i].wall_time(), begin);
    EXPECT_LT(events[i].wall_time(), begin + 600);
    auto scalars = scalars_of(events[i]);
    EXPECT_GT(scalars.at("train/samples_per_second"), 0);
    EXPECT_GT(scalars.at("train/seconds"), 0);
    scalars.erase("train/samples_per_second");
    scalars.erase("train/seconds");
    EXPECT_EQ(scalars, (std::map<std::string, float>{{"train/loss", losses[i]},
                                                     {"train/grad_norm", 2.0f},
                                                     {"train/lr", 0.25f},
                                                     {"train/accuracy", 0.5f},
                                                     {"val/loss", 2 * losses[i]},
                                                     {"amp/scale", scales[i]},
                                                     {"amp/skipped", skipped[i]}}));
  }
}

TEST(TrainLogEvents, ANewLogReplacesTheFileAndAppendingContinuesIt) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run.tfevents");
  for (int i = 0; i < 2; ++i) {
    TrainLog log(path);
    log.step({.loss = full({}, NAN)});
    log.step({.loss = ones({})});
  }
  EXPECT_THAT(testing::events_in(folder.path()), SizeIs(2));
  std::ofstream(path, std::ios::app | std::ios::binary) << "\x09";  // a crash in the next record
  {
    std::ofstream jsonl(folder.path("run.jsonl"));
    jsonl << "{\"step\": 1, \"seconds\": 1000}\n";
  }
  {
    TrainLog log({path, folder.path("run.jsonl")}, {.append = true, .first_step = 2});
    log.step({.loss = zeros({})});
  }
  TrainLog(path, {.append = true, .first_step = 3}).step({});
  const auto events = testing::events_in(folder.path());
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_TRUE(std::isnan(scalars_of(events[0]).at("train/loss")));
  EXPECT_EQ(events[2].step(), 2);
  EXPECT_EQ(scalars_of(events[2]).at("train/loss"), 0);
  EXPECT_GE(scalars_of(events[2]).at("train/seconds"), 1000);
  EXPECT_EQ(scalars_of(events[3]).count("train/loss"), 0u);
  EXPECT_GE(scalars_of(events[3]).at("train/seconds"), 1000) << "continued from the event file";
}

TEST(TrainLogEvents, RefusesFieldsWithTheSameTag) {
  const TemporaryFolder folder;
  TrainLog log(folder.path("run.tfevents"));
  EXPECT_THROWS(log.step({.values = {{"a", 1}, {"train/a", 2}}}), StateError, "TrainLog: ", "'train/a'",
                "another name");
  EXPECT_THROWS(log.step({.loss = ones({}), .values = {{"train/loss", 2}}}), StateError, "'train/loss'");
  EXPECT_THROWS(log.step({.values = {{"\xff", 1}}}), StateError, "not UTF-8");
  EXPECT_THAT(testing::events_in(folder.path()), SizeIs(0));
}

TEST(TrainLogEvents, ReportsFilesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", {1}), text = folder.write("text.tfevents", testing::Bytes(20, 'a')),
                    run = folder.path("run.tfevents");
  EXPECT_THROWS(TrainLog(file + "/x.tfevents"), IoError, "TrainLog: " + file, "permissions");
  EXPECT_THROWS(TrainLog(text, {.append = true}), IoError, "TrainLog: " + text, "not an event file");
  std::filesystem::create_directory(run);
  EXPECT_THROWS(TrainLog{run}, IoError, "TrainLog: " + run, "is a folder");
  std::filesystem::remove(run);
  TrainLog log(run);
  log.step({.loss = ones({})});
  {
    const testing::FileSizeLimit limit(std::filesystem::file_size(run) + 10);
    EXPECT_THROWS(log.step({.loss = ones({})}), IoError, "TrainLog: " + run, "is the disk full?");
  }
  log.step({.loss = ones({})});
  std::filesystem::remove(text);
  EXPECT_THAT(testing::events_in(folder.path()), SizeIs(2));
}

TEST(TrainLogEvents, ASummaryWriterCanUseTheSameFolder) {
  const TemporaryFolder folder;
  TrainLog log(folder.path("run/train.tfevents"));
  io::SummaryWriter writer(folder.path("run"));
  log.step({.loss = ones({})});
  writer.add_histogram("weight", ones({3}));
  EXPECT_THAT(testing::event_files_of(folder.path("run")), SizeIs(2));
}

#endif

}  // namespace
}  // namespace tandem
