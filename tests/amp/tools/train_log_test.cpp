// TrainLog: the files contain what was logged; a killed program leaves only whole lines.
#include "tandem/amp/tools/train_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/device.h"
#include "support/file_size_limit.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using amp::TrainLog;
using ::testing::SizeIs;

struct TrainLogTest : ::testing::Test {
  const std::string stem = ::testing::TempDir() + "train_log_" + std::to_string(::getpid());
  const std::string jsonl = stem + ".jsonl", csv = stem + ".csv";
  ~TrainLogTest() override {
    std::remove(jsonl.c_str());
    std::remove(csv.c_str());
  }

  static std::vector<std::string> lines(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(file, line);) all.push_back(line);
    return all;
  }
  static std::vector<nlohmann::json> parse(const std::string& path) {
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines(path)) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  static std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) all.push_back(cell);
    if (line.ends_with(',')) all.emplace_back();
    return all;
  }
};

TEST_F(TrainLogTest, LogsARunWithSkippedSteps) {
  manual_seed(1);
  nn::Linear net(8, 4);
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.01));
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(4).growth_interval(2));
  std::vector<double> losses, scales, norms;
  std::vector<bool> skipped;
  {
    TrainLog log({jsonl, csv});
    for (int i = 0; i < 8; ++i) {
      sgd.zero_grad();
      const Tensor loss = net->forward(randn({16, 8})).square().mean();
      scaler.scale(loss).backward();
      if (i == 3 || i == 4) net->weight.mutable_grad() = full({4, 8}, INFINITY);
      scaler.unscale_(sgd);
      const Tensor norm = nn::utils::clip_grad_norm_(net->parameters(), 10.0);
      const amp::StepResult result = scaler.step(sgd);
      log.step({.loss = loss, .scaler = &scaler, .result = result, .grad_norm = norm, .samples = 16});
      losses.push_back(loss.item<double>());
      scales.push_back(scaler.get_scale());
      norms.push_back(norm.item<double>());
      skipped.push_back(result.skipped());
      scaler.update();
    }
    EXPECT_EQ(log.pending(), 0u) << "values on the CPU are written at once";
    EXPECT_THAT(lines(jsonl), SizeIs(8));
  }
  const auto rows = parse(jsonl);
  const auto table = lines(csv);
  ASSERT_THAT(rows, SizeIs(8));
  ASSERT_THAT(table, SizeIs(9));
  EXPECT_EQ(table[0], "step,seconds,loss,scale,skipped,grad_norm,samples_per_second");
  EXPECT_EQ(std::count(skipped.begin(), skipped.end(), true), 2);
  double seconds = 0;
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(rows[i]["step"], i);
    EXPECT_EQ(rows[i]["loss"].get<double>(), losses[i]);
    EXPECT_EQ(rows[i]["scale"].get<double>(), scales[i]);
    EXPECT_EQ(rows[i]["skipped"], skipped[i]);
    if (std::isfinite(norms[i])) {
      EXPECT_EQ(rows[i]["grad_norm"].get<double>(), norms[i]);
    } else {
      EXPECT_TRUE(rows[i]["grad_norm"].is_string()) << rows[i];
    }
    const double now = rows[i]["seconds"].get<double>();
    EXPECT_GT(now, seconds);
    EXPECT_NEAR(rows[i]["samples_per_second"].get<double>(), 16 / (now - seconds), 1e-6 * 16 / (now - seconds));
    seconds = now;
    const auto row = cells(table[i + 1]);
    ASSERT_THAT(row, SizeIs(7));
    EXPECT_EQ(row[0], std::to_string(i));
    EXPECT_EQ(std::stod(row[2]), losses[i]);
    EXPECT_EQ(std::stod(row[3]), scales[i]);
    EXPECT_EQ(row[4], skipped[i] ? "1" : "0");
    EXPECT_EQ(std::isfinite(std::stod(row[5])), std::isfinite(norms[i]));
  }
}

TEST_F(TrainLogTest, LogsOnlyGivenValuesWithoutAScaler) {
  {
    TrainLog log({jsonl, csv}, {.first_step = 100});
    log.step({.loss = full({1}, 0.5)});
    log.step({.loss = full({}, 0.25, kDouble), .samples = 4});
    amp::GradScaler off(amp::GradScalerOptions().enabled(false));
    log.step({.loss = full({}, 0.125, kHalf), .scaler = &off});
    log.step({});
    amp::GradScaler fresh;
    log.step({.scaler = &fresh});
  }
  const auto rows = parse(jsonl);
  ASSERT_THAT(rows, SizeIs(5));
  EXPECT_EQ(rows[0]["step"], 100);
  EXPECT_EQ(rows[0]["loss"], 0.5);
  EXPECT_EQ(rows[0].size(), 3u);
  EXPECT_TRUE(rows[1].contains("samples_per_second"));
  EXPECT_EQ(rows[2]["loss"], 0.125);
  EXPECT_FALSE(rows[2].contains("scale"));
  EXPECT_FALSE(rows[3].contains("loss"));
  EXPECT_EQ(rows[4]["scale"], 65536) << "before its first loss";
  EXPECT_THAT(lines(csv)[1], ::testing::EndsWith(",0.5,,,,"));
}

TEST_F(TrainLogTest, BothFormatsKeepInfAndNaN) {
  {
    TrainLog log({jsonl, csv});
    for (const float v : {INFINITY, -INFINITY, NAN}) log.step({.loss = full({}, v)});
  }
  const char* names[] = {"inf", "-inf", "nan"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parse(jsonl)[i]["loss"], names[i]);
    EXPECT_EQ(cells(lines(csv)[i + 1])[2], names[i]);
  }
}

TEST_F(TrainLogTest, AppendsAfterAnIncompleteLine) {
  { TrainLog({jsonl, csv}).step({.loss = ones({})}); }
  std::ofstream(jsonl, std::ios::app) << "{\"step\": 1, \"lo";
  {
    TrainLog log({jsonl, csv}, {.append = true, .first_step = 1});
    log.step({.loss = full({}, 2.0)});
  }
  const auto all = lines(jsonl);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(nlohmann::json::parse(all[2])["loss"], 2);
  ASSERT_THAT(lines(csv), SizeIs(3)) << "one header";
  { TrainLog({jsonl, csv}).step({.loss = ones({})}); }
  EXPECT_THAT(lines(jsonl), SizeIs(1)) << "a new log starts the file anew";
}

TEST_F(TrainLogTest, AcceptsFileNamesAsLiterals) {
  const testing::TemporaryFolder folder;
  const testing::WorkingFolder current(folder.path());
  {
    TrainLog log({"train_log_literals.jsonl", "train_log_literals.csv"});
    log.step({.loss = ones({})});
  }
  { TrainLog({"train_log_one.csv"}).step({.loss = ones({})}); }
  for (const char* name : {"train_log_literals.jsonl", "train_log_literals.csv", "train_log_one.csv"}) {
    EXPECT_FALSE(lines(name).empty()) << name;
  }
}

TEST_F(TrainLogTest, AppendingContinuesTheSeconds) {
  const double earlier = 1e6;
  std::ofstream(jsonl) << "{\"step\": 0, \"seconds\": 5, \"loss\": 1}\n{\"step\": 1, \"seconds\": " << earlier
                       << ", \"loss\": 1}\n{\"step\": 2, \"seconds\": 7";  // an incomplete line
  {
    TrainLog log({jsonl, csv}, {.append = true, .first_step = 2});
    log.step({.loss = ones({}), .samples = 8});
  }
  {
    TrainLog log(csv, {.append = true, .first_step = 3});
    log.step({.loss = ones({})});
  }
  const double at_step_2 = nlohmann::json::parse(lines(jsonl).back())["seconds"];
  EXPECT_GT(at_step_2, earlier);
  EXPECT_LT(at_step_2, earlier + 60);
  const auto table = lines(csv);
  ASSERT_THAT(table, SizeIs(3));
  EXPECT_EQ(std::stod(cells(table[1])[1]), at_step_2);
  EXPECT_GT(std::stod(cells(table[2])[1]), at_step_2);
  { TrainLog(jsonl).step({.loss = ones({})}); }
  EXPECT_LT(parse(jsonl)[0]["seconds"].get<double>(), 60) << "a new log starts at 0";
}

TEST_F(TrainLogTest, FindsTheLastSecondsOfALongFile) {
  {
    std::ofstream out(csv);
    out << "step,seconds,loss\n0,12.5,1\n";
    for (int i = 0; i < 40000; ++i) out << "# no line of a log\n";
  }
  TrainLog log(csv, {.append = true, .first_step = 1});
  log.step({.loss = ones({})});
  EXPECT_GT(std::stod(cells(lines(csv).back())[1]), 12.5);
}

TEST_F(TrainLogTest, LogsLearningRateAndCustomValues) {
  {
    TrainLog log({jsonl, csv}, {.columns = {"val loss"}});
    const int64_t depth = 3;
    log.step({.loss = ones({}), .lr = 0.5, .values = {{"depth", depth}, {"largest", full({1}, 2.5)}}});
    log.step({.loss = ones({}), .values = {{"largest", full({}, INFINITY)}, {"val loss", 0.125}}});
    log.step({.values = {{"largest", Tensor()}}});
  }
  const auto rows = parse(jsonl);
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0]["lr"], 0.5);
  EXPECT_EQ(rows[0]["depth"], 3);
  EXPECT_EQ(rows[0]["largest"], 2.5);
  EXPECT_FALSE(rows[1].contains("lr"));
  EXPECT_EQ(rows[1]["largest"], "inf");
  EXPECT_EQ(rows[1]["val loss"], 0.125);
  EXPECT_FALSE(rows[2].contains("largest"));
  const auto table = lines(csv);
  ASSERT_THAT(table, SizeIs(4));
  EXPECT_EQ(table[0], "step,seconds,loss,scale,skipped,grad_norm,samples_per_second,lr,depth,largest,val loss");
  EXPECT_THAT(table[1], ::testing::EndsWith(",1,,,,,0.5,3,2.5,"));
  EXPECT_THAT(table[2], ::testing::EndsWith(",1,,,,,,,inf,0.125"));
  EXPECT_THAT(table[3], ::testing::EndsWith(",,,,,,,,,"));
}

TEST_F(TrainLogTest, AppendingKeepsTheColumnsOfTheFile) {
  std::ofstream(csv) << "seconds,largest,step,loss\n3,0.5,0,1\n";
  TrainLog log(csv, {.append = true, .first_step = 1});
  log.step({.loss = full({}, 2.0), .values = {{"largest", 4}}});
  log.step({.loss = full({}, 2.0)});
  const auto table = lines(csv);
  ASSERT_THAT(table, SizeIs(4));
  EXPECT_THAT(table[2], ::testing::EndsWith(",4,1,2"));
  EXPECT_THAT(table[3], ::testing::EndsWith(",,2,2"));
  EXPECT_THROWS(log.step({.loss = ones({}), .lr = 0.5}), StateError, "no column for 'lr'", "seconds,largest,step,loss",
                "columns");
  EXPECT_THROWS(log.step({.samples = 8}), StateError, "no column for 'samples_per_second'");
  EXPECT_THROWS(TrainLog(csv, {.append = true, .columns = {"depth"}}), StateError, "no column for 'depth'");
  EXPECT_THAT(lines(csv), SizeIs(4)) << "nothing was written";
  std::ofstream(csv) << "a,b\n1,2\n";
  EXPECT_THROWS(TrainLog(csv, {.append = true}), StateError, "cannot append to", "'a,b'");
  EXPECT_THAT(lines(csv), SizeIs(2));
}

TEST_F(TrainLogTest, RefusesInvalidNames) {
  TrainLog log({jsonl, csv});
  for (const std::string name : {"", "a,b", "a\"b", "a\nb"}) {
    EXPECT_THROWS(log.step({.values = {{name, 1}}}), StateError, "TrainLog", "not a valid name");
  }
  EXPECT_THROWS(log.step({.values = {{"loss", 1}}}), StateError, "'loss'", "use another name");
  EXPECT_THROWS(log.step({.values = {{"a", 1}, {"a", 2}}}), StateError, "two values", "'a'");
  EXPECT_THROWS(log.step({.lr = 1, .values = {{"lr", 2}}}), StateError, "two values", "'lr'");
  EXPECT_THROWS(log.step({.values = {{"a", ones({2})}}}), ShapeError, "a is [2]", "mean()");
  log.step({.values = {{"a", 1}}});
  EXPECT_THROWS(log.step({.values = {{"b", 1}}}), StateError, "no column for 'b'");
  EXPECT_EQ(parse(jsonl)[0]["step"], 0) << "a refused step has no number";
}

TEST_F(TrainLogTest, LoggedStepsSurviveAKill) {
  TANDEM_TEST_ON_HOST();  // a child of fork() cannot use CUDA
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      TrainLog log({jsonl, csv});
      for (int i = 0; i < 50; ++i) log.step({.loss = full({}, static_cast<double>(i))});
      if (::write(ready[1], "x", 1) == 1) ::pause();
    } catch (...) {
    }
    ::_exit(1);
  }
  ::close(ready[1]);  // so that read() returns when the child ends
  char c;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ready[0]);
  ASSERT_THAT(parse(jsonl), SizeIs(50));
  EXPECT_EQ(parse(jsonl)[49]["loss"], 49);
  EXPECT_THAT(lines(csv), SizeIs(51));
}

TEST_F(TrainLogTest, OpensOnlyRegularFiles) {
  const testing::TemporaryFolder folder;
  const std::string fifo = folder.path("fifo.csv"), directory = folder.path("folder.csv"),
                    device = folder.path("device.csv"), loop = folder.path("loop.csv");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  std::filesystem::create_symlink("/dev/null", device);
  std::filesystem::create_symlink("loop.csv", loop);
  for (const bool append : {false, true}) {
    const amp::TrainLogOptions options{.append = append};
    EXPECT_THROWS(TrainLog(fifo, options), IoError, "TrainLog: " + fifo, "is a FIFO", "path of a regular file");
    EXPECT_THROWS(TrainLog(directory, options), IoError, "TrainLog: " + directory, "is a folder");
    EXPECT_THROWS(TrainLog(device, options), IoError, "TrainLog: " + device, "is a device");
    EXPECT_THROWS(TrainLog(loop, options), IoError, "TrainLog: " + loop, "Too many levels");
    EXPECT_THROWS(TrainLog(folder.path("none/a.csv"), options), IoError, "No such file", "create its folder");
  }
}

TEST_F(TrainLogTest, ALinkLeadsToTheFileThatIsWritten) {
  const testing::TemporaryFolder folder;
  const std::string link = folder.path("latest.jsonl");
  std::filesystem::create_symlink("run.jsonl", link);
  TrainLog(link).step({});
  TrainLog(link, {.append = true}).step({});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(lines(folder.path("run.jsonl")), SizeIs(2));
}

TEST_F(TrainLogTest, ANewLogReplacesTheLinesOfALongerOne) {
  TrainLog(csv).step({.loss = ones({})});
  std::ofstream(csv, std::ios::app) << "1,2,3\n4,5,6\n";
  TrainLog(csv).step({.loss = zeros({})});
  EXPECT_THAT(lines(csv), SizeIs(2));
}

TEST_F(TrainLogTest, FullDiskThrowsOnce) {
  TrainLog log(jsonl);
  log.step({.loss = full({}, 1.0)});
  {
    const testing::FileSizeLimit limit(std::filesystem::file_size(jsonl) + 10);  // room for a part of the second line
    EXPECT_THROWS(log.step({.loss = full({}, 2.0)}), IoError, "TrainLog: " + jsonl, "is the disk full?");
    EXPECT_EQ(log.pending(), 0u);
  }
  log.step({.loss = full({}, 3.0)});
  const auto steps = parse(jsonl);
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(steps[0]["loss"], 1);
  EXPECT_EQ(steps[1]["loss"], 3);
}

}  // namespace
}  // namespace tandem
