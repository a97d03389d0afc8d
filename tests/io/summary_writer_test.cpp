// SummaryWriter: the event files contain what was added. tests/golden/tensorboard_check.py reads them with TensorBoard.
#include "tandem/io/summary_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include "io/event_files.h"
#include "support/device.h"
#include "support/file_size_limit.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/data/datasets/image_folder.h"
#include "tandem/io/numpy.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using io::SummaryWriter;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using testing::TemporaryFolder;

#ifndef TANDEM_PROTOBUF

TEST(SummaryWriter, NeedsProtocolBuffers) {
  const TemporaryFolder folder;
  EXPECT_FALSE(SummaryWriter::is_available());
  EXPECT_THROWS(SummaryWriter(folder.path("run")), NotImplementedError, "SummaryWriter: ", "libprotobuf-dev");
  EXPECT_FALSE(std::filesystem::exists(folder.path("run")));
}

#else

using testing::Event;
using testing::event_files_of;
using testing::events_in;
using testing::Summary;

TEST(SummaryWriter, NamesItsFileAsTensorBoardExpects) {
  const TemporaryFolder folder;
  const std::string run = folder.path("runs/first");
  EXPECT_TRUE(SummaryWriter::is_available());
  SummaryWriter writer(run, {.filename_suffix = ".train"}), second(run);
  EXPECT_EQ(writer.log_dir(), run);
  const auto files = event_files_of(run);
  ASSERT_THAT(files, SizeIs(2));
  const std::string process = std::to_string(getpid());
  const std::string pattern = "events.out.tfevents.[0-9]*\\..*\\." + process + "\\.[0-9]*";
  int suffixes = 0;
  for (const std::string& file : files) {
    const bool has_suffix = file.ends_with(".train");
    suffixes += has_suffix;
    EXPECT_THAT(std::filesystem::path(file).filename().string(), MatchesRegex(pattern + (has_suffix ? ".train" : "")));
  }
  EXPECT_EQ(suffixes, 1);
}

TEST(SummaryWriter, PlacesRunsInTheCurrentFolderByDefault) {
  const TemporaryFolder folder;
  const testing::WorkingFolder current(folder.path());
  const std::string run = SummaryWriter("", {.comment = "_lr_0.1"}).log_dir();
  EXPECT_TRUE(run.starts_with("runs/") && run.ends_with("_lr_0.1")) << run;
  EXPECT_THAT(event_files_of(run), SizeIs(1));
}

TEST(SummaryWriter, WritesScalars) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  const double begin = static_cast<double>(std::time(nullptr));
  writer.add_scalar("train/loss", 0.1, 7);
  writer.add_scalar("train/loss", full({1}, 2.5, kHalf), int64_t{1} << 40);
  writer.add_scalar("Größe", 3, -1, 1234.5);
  writer.add_scalar("inf", INFINITY);
  const auto events = events_in(folder.path());  // before the writer is closed
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].summary().value(0).tag(), "train/loss");
  EXPECT_EQ(events[0].summary().value(0).simple_value(), 0.1f);
  EXPECT_EQ(events[0].step(), 7);
  EXPECT_GE(events[0].wall_time(), begin);
  EXPECT_LT(events[0].wall_time(), begin + 60);
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 2.5f);
  EXPECT_EQ(events[1].step(), int64_t{1} << 40);
  EXPECT_EQ(events[2].summary().value(0).tag(), "Größe");
  EXPECT_EQ(events[2].step(), -1);
  EXPECT_EQ(events[2].wall_time(), 1234.5);
  EXPECT_EQ(events[3].summary().value(0).simple_value(), INFINITY);
  EXPECT_EQ(events[3].step(), 0);
}

TEST(SummaryWriter, AddScalarsMakesARunOfEachName) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.add_scalars("loss/all", {{"train", 1.0}, {"val", 2.0}}, 3);
  writer.add_scalars("loss/all", {{"train", 0.5}}, 4);
  EXPECT_THAT(events_in(folder.path()), SizeIs(0));
  const auto train = events_in(folder.path("loss_all_train")), val = events_in(folder.path("loss_all_val"));
  ASSERT_THAT(train, SizeIs(2));
  ASSERT_THAT(val, SizeIs(1));
  EXPECT_EQ(train[1].summary().value(0).tag(), "loss/all");
  EXPECT_EQ(train[1].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(val[0].summary().value(0).simple_value(), 2.0f);
  EXPECT_EQ(val[0].step(), 3);
}

TEST(SummaryWriter, PurgeStepMarksARestart) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), {.purge_step = 5});
  const auto events = events_in(folder.path());
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].session_log().status(), io::board::SessionLog::START);
  EXPECT_EQ(events[0].step(), 5);
}

/// The default edges, as TensorFlow's histogram.cc makes them.
std::vector<double> default_edges() {
  std::vector<double> edges = {0};
  for (double edge = 1e-12; edge < 1e20; edge *= 1.1) {
    edges.push_back(edge);
    edges.insert(edges.begin(), -edge);
  }
  edges.push_back(DBL_MAX);
  edges.insert(edges.begin(), -DBL_MAX);
  return edges;
}

/// Compares a histogram with a count in each bucket by itself. `closed`: the last bucket contains its upper edge.
void expect_histogram(const io::board::HistogramProto& h, const std::vector<double>& values,
                      const std::vector<double>& edges) {
  const auto in_bucket = [&](size_t i) {
    return std::count_if(values.begin(), values.end(), [&](double x) {
      return x >= edges[i] && (x < edges[i + 1] || (i + 2 == edges.size() && x == edges[i + 1]));
    });
  };
  double sum = 0, sum_squares = 0, num = 0, min = INFINITY, max = -INFINITY;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    num += 1;
    sum += x;
    sum_squares += x * x;
    min = std::min(min, x);
    max = std::max(max, x);
  }
  EXPECT_EQ(h.num(), num);
  EXPECT_EQ(h.min(), min);
  EXPECT_EQ(h.max(), max);
  EXPECT_EQ(h.sum(), sum);
  EXPECT_EQ(h.sum_squares(), sum_squares);
  std::vector<double> limits, counts;
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    const auto count = static_cast<double>(in_bucket(i));
    if (counts.empty() && count == 0) continue;
    if (counts.empty()) {
      limits.push_back(edges[i]);
      counts.push_back(0);
    }
    limits.push_back(edges[i + 1]);
    counts.push_back(count);
  }
  while (!counts.empty() && counts.back() == 0) {
    counts.pop_back();
    limits.pop_back();
  }
  EXPECT_EQ(std::vector<double>(h.bucket().begin(), h.bucket().end()), counts);
  EXPECT_EQ(std::vector<double>(h.bucket_limit().begin(), h.bucket_limit().end()), limits);
}

/// The only event of a writer that adds one histogram.
io::board::HistogramProto histogram_of(const Tensor& values, const std::vector<double>& bins = {}) {
  const TemporaryFolder folder;
  SummaryWriter(folder.path()).add_histogram("h", values, 1, bins);
  const auto events = events_in(folder.path());
  EXPECT_THAT(events, SizeIs(1));
  return events.empty() ? io::board::HistogramProto() : events[0].summary().value(0).histo();
}

std::vector<double> numbers(const Tensor& x) {
  const Tensor f64 = x.detach().cpu().to(kDouble).contiguous();
  return {f64.const_data_ptr<double>(), f64.const_data_ptr<double>() + f64.numel()};
}

TEST(SummaryWriter, CountsInTheDefaultBuckets) {
  manual_seed(1);
  const Tensor normal = randn({40, 25});
  for (const Tensor& x :
       {normal, normal.to(kHalf), normal.to(kBFloat16), normal.to(kDouble), normal.t(), normal.slice(1, 3, 20, 2),
        (normal * 1e-11), (normal * 30).to(kInt), (normal * 30).to(kChar), normal > 0.5, normal.to(kFloat8_e4m3fn),
        normal.abs() + 1, -normal.exp(), zeros({7}), Tensor(normal.clone()).requires_grad_()}) {
    SCOPED_TRACE(std::string(name(x.dtype())));
    expect_histogram(histogram_of(x), numbers(x), default_edges());
  }
}

TEST(SummaryWriter, ABucketContainsItsLowerEdge) {
  std::vector<double> values = default_edges();
  const std::vector<double> edges = values;
  for (const double edge : edges) {
    values.push_back(std::nextafter(edge, 0));
    if (std::fabs(edge) < DBL_MAX) values.push_back(std::nextafter(edge, std::copysign(DBL_MAX, edge)));
  }
  for (const double x : {5e-324, -5e-324, DBL_MIN, -0.0, 1e19, 1e21, -1e300}) values.push_back(x);
  const Tensor x = tensor(values, TensorOptions(kDouble));
  const auto h = histogram_of(x);
  EXPECT_EQ(h.num(), static_cast<double>(values.size()));
  EXPECT_EQ(h.bucket_size(), static_cast<int>(edges.size()));
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    const auto count = std::count_if(values.begin(), values.end(), [&](double v) {
      return v >= edges[i] && (v < edges[i + 1] || (i + 2 == edges.size() && v == DBL_MAX));
    });
    ASSERT_EQ(h.bucket(static_cast<int>(i + 1)), static_cast<double>(count)) << edges[i];
    ASSERT_EQ(h.bucket_limit(static_cast<int>(i + 1)), edges[i + 1]);
  }
}

TEST(SummaryWriter, CountsInGivenBuckets) {
  manual_seed(2);
  const Tensor x = cat({randn({300}), tensor({-1.0f, 0.0f, 0.5f, 2.0f})});
  const std::vector<double> edges = {-1, 0, 0.5, 2};
  expect_histogram(histogram_of(x, edges), numbers(x), edges);
  EXPECT_EQ(histogram_of(full({3}, 9.0), edges).bucket_size(), 0);
  EXPECT_EQ(histogram_of(full({3}, 9.0), edges).num(), 3);
}

TEST(SummaryWriter, HistogramsLeaveOutInfAndNaN) {
  const Tensor x = tensor({1.0f, INFINITY, NAN, -2.0f, -INFINITY, 3.0f});
  expect_histogram(histogram_of(x), numbers(x), default_edges());
  const auto none = histogram_of(full({4}, NAN));
  EXPECT_EQ(none.num(), 0);
  EXPECT_EQ(none.bucket_size(), 0);
}

TEST(SummaryWriter, HistogramErrors) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  EXPECT_THROWS(writer.add_histogram("h", empty({0, 3})), ShapeError, "add_histogram: ", "[0, 3]", "one element");
  EXPECT_THROWS(writer.add_histogram("h", Tensor()), StateError, "add_histogram: ", "undefined");
  EXPECT_THROWS(writer.add_histogram("h", ones({2}), 0, {1}), StateError, "one edge");
  EXPECT_THROWS(writer.add_histogram("h", ones({2}), 0, {1, 3, 2}), StateError, "bins[2] = 2", "ascend");
  EXPECT_THROWS(writer.add_histogram("h", ones({2}), 0, {1, NAN}), StateError, "bins[1] = nan");
  EXPECT_THAT(events_in(folder.path()), SizeIs(0));
}

TEST(SummaryWriter, WritesTexts) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.add_text("notes", "lr **0.1**\n日本語", 2);
  const auto events = events_in(folder.path());
  ASSERT_THAT(events, SizeIs(1));
  const Summary::Value& value = events[0].summary().value(0);
  EXPECT_EQ(value.tag(), "notes/text_summary");
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(value.tensor().dtype(), io::board::DT_STRING);
  EXPECT_EQ(value.tensor().tensor_shape().dim(0).size(), 1);
  EXPECT_THAT(value.tensor().string_val(), ElementsAre("lr **0.1**\n日本語"));
  EXPECT_THROWS(writer.add_text("notes", "\xff"), StateError, "add_text: ", "not UTF-8");
}

TEST(SummaryWriter, WritesImages) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path("run"));
  if (!data::can_read_png()) {
    EXPECT_THROWS(writer.add_image("x", ones({3, 2, 2})), NotImplementedError, "add_image: ", "libpng-dev");
    return;
  }
  manual_seed(3);
  const Tensor rgb = rand({3, 5, 7}) * 1.5 - 0.25, grey = (rgb.slice(0, 0, 1) * 100).abs().to(kByte),
               rgba = cat({rgb, rgb.slice(0, 0, 1)}).to(kHalf), strided = rgb.transpose(1, 2);
  const std::vector<Tensor> images = {rgb, grey, rgba, strided, full({1, 1, 1}, NAN)};
  for (size_t i = 0; i < images.size(); ++i) writer.add_image("x", images[i], static_cast<int64_t>(i));
  const auto events = events_in(folder.path("run"));
  ASSERT_THAT(events, SizeIs(images.size()));
  for (size_t i = 0; i < images.size(); ++i) {
    const Tensor& image = images[i];
    const Summary::Image& written = events[i].summary().value(0).image();
    EXPECT_EQ(written.colorspace(), image.size(0));
    EXPECT_EQ(written.height(), image.size(1));
    EXPECT_EQ(written.width(), image.size(2));
    std::ofstream(folder.path("x.png"), std::ios::binary) << written.encoded_image_string();
    const std::vector<double> read = numbers(data::read_image(folder.path("x.png")) * 255);  // [3, H, W]
    const std::vector<double> values = numbers(image);
    const auto area = static_cast<size_t>(image.size(1) * image.size(2));
    for (size_t k = 0; k < 3 * area; ++k) {
      const double x = values[image.size(0) == 1 ? k % area : k];
      const double expected = image.dtype() == kByte ? x
                              : std::isnan(x)        ? 0
                                                     : std::floor(std::clamp(x * 255, 0.0, 255.0) + 1e-5);
      ASSERT_EQ(std::round(read[k]), expected) << i << " " << k;
    }
  }
}

TEST(SummaryWriter, ImageErrors) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  EXPECT_THROWS(writer.add_image("x", ones({2, 4, 4})), ShapeError, "add_image: ", "[2, 4, 4]", "1, 3 or 4 channels");
  EXPECT_THROWS(writer.add_image("x", ones({4, 4})), ShapeError, "[C, H, W]");
  EXPECT_THROWS(writer.add_image("x", ones({3, 0, 4})), ShapeError, "[3, 0, 4]");
  EXPECT_THROWS(writer.add_image("x", ones({3, 4, 4}, kInt)), DTypeError, "i32", "u8");
  EXPECT_THROWS(writer.add_image("x", ones({1}).expand({1, 1 << 10, 1 << 20})), ShapeError, "reduce its size");
}

TEST(SummaryWriter, WritesTheGraphOfATensor) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 2));
  const Tensor other = ones({2}).requires_grad_();
  const auto pieces = (net->forward(ones({5, 3})) + other).relu().unbind(1);
  const Tensor output = pieces[0] * pieces[1];
  writer.add_graph(output, net->named_parameters());
  const auto events = events_in(folder.path());
  ASSERT_THAT(events, SizeIs(1));
  io::board::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(events[0].graph_def()));
  std::map<std::string, io::board::NodeDef> nodes;
  for (const auto& node : graph.node()) {
    EXPECT_TRUE(nodes.emplace(node.name(), node).second) << node.name();
    for (const std::string& input : node.input()) {
      EXPECT_TRUE(nodes.contains(input.substr(0, input.find(':')))) << input << " comes after " << node.name();
    }
  }
  for (const char* name : {"0/weight", "0/bias", "1/weight", "1/bias", "leaf"}) {
    ASSERT_TRUE(nodes.contains(name)) << name;
    EXPECT_EQ(nodes[name].op(), "parameter");
  }
  ASSERT_TRUE(nodes.contains("linear") && nodes.contains("linear_1"));
  EXPECT_THAT(nodes["linear"].input(), ElementsAre("0/weight", "0/bias"));
  EXPECT_THAT(nodes["linear_1"].input(), ElementsAre("linear", "1/weight", "1/bias"));
  const auto& shape = nodes["linear_1"].attr().at("_output_shapes").list().shape(0);
  EXPECT_EQ(shape.dim(0).size(), 5);
  EXPECT_EQ(shape.dim(1).size(), 2);
  EXPECT_EQ(nodes[graph.node(graph.node_size() - 1).name()].op(), "mul");
  EXPECT_THROWS(writer.add_graph(ones({2})), StateError, "add_graph: ", "no graph");
  EXPECT_THROWS(writer.add_graph(Tensor()), StateError, "undefined");
}

TEST(SummaryWriter, ThreadsCanShareAWriter) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  constexpr int kThreads = 8, kSteps = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string tag = std::to_string(t);
      const Tensor x = full({10 + t}, t, TensorOptions(kFloat).device(kCPU));
      for (int i = 0; i < kSteps; ++i) {
        writer.add_scalar(tag, t + 0.5 * i, i);
        if (i % 10 == 0) writer.add_histogram(tag + "/h", x, i);
        if (i % 10 == 5) writer.add_scalars("all", {{tag, 1.0}}, i);
      }
      writer.flush();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> scalars(kThreads), histograms(kThreads);
  for (const Event& event : events_in(folder.path())) {
    const Summary::Value& value = event.summary().value(0);
    const auto t = static_cast<size_t>(std::stoi(value.tag()));
    if (value.value_case() == Summary::Value::kSimpleValue) {
      EXPECT_EQ(event.step(), scalars[t]) << "the calls of a thread stay in order";
      EXPECT_EQ(value.simple_value(), static_cast<float>(t) + 0.5f * static_cast<float>(scalars[t]++));
    } else {
      EXPECT_EQ(value.histo().num(), 10.0 + static_cast<double>(t));
      ++histograms[t];
    }
  }
  EXPECT_EQ(scalars, std::vector<int>(kThreads, kSteps));
  EXPECT_EQ(histograms, std::vector<int>(kThreads, kSteps / 10));
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_THAT(events_in(folder.path("all_" + std::to_string(t))), SizeIs(kSteps / 10));
  }
}

TEST(SummaryWriter, RefusesInvalidCalls) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  EXPECT_THROWS(writer.add_scalar("", 1), StateError, "add_scalar: ", "tag is empty");
  EXPECT_THROWS(writer.add_scalar("\xff", 1), StateError, "not UTF-8");
  EXPECT_THROWS(writer.add_scalar("a", ones({2})), ShapeError, "[2]", "mean()");
  EXPECT_THROWS(writer.add_scalar("a", Tensor()), StateError, "undefined");
  writer.close();
  writer.close();
  writer.flush();
  EXPECT_THROWS(writer.add_scalar("a", 1), StateError, "add_scalar: ", "closed", "create another");
  EXPECT_THROWS(writer.add_scalars("a", {{"b", 1}}), StateError, "closed");
  EXPECT_THAT(events_in(folder.path()), SizeIs(0));
}

TEST(SummaryWriter, ReportsFilesThatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", {1}), run = folder.path("run");
  EXPECT_THROWS(SummaryWriter(file + "/run"), IoError, "SummaryWriter: " + file, "cannot create the folder",
                "permissions");
  EXPECT_THROWS(SummaryWriter{file}, IoError, "SummaryWriter: " + file);
  SummaryWriter writer(run);
  writer.add_scalar("a", 1, 1);
  {
    const testing::FileSizeLimit limit(std::filesystem::file_size(event_files_of(run)[0]) + 10);
    EXPECT_THROWS(writer.add_scalar("a", 2, 2), IoError, "add_scalar: " + run, "is the disk full?");
  }
  writer.add_scalar("a", 3, 3);
  const auto events = events_in(run);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].step(), 3);
}

TEST(SummaryWriter, FilesForTensorBoard) {
  const char* const kept = std::getenv("TANDEM_EVENT_FILES");  // for tests/golden/tensorboard_check.py
  const TemporaryFolder folder;
  const std::string to = kept ? kept : folder.path();
  SummaryWriter writer(to + "/run", {.purge_step = 0});
  StateDict values;
  manual_seed(4);
  const Tensor scalars = randn({50});
  values.insert("scalars", scalars.cpu());
  for (int64_t i = 0; i < 50; ++i) writer.add_scalar("scalars", scalars[i], i);
  for (int64_t i = 0; i < 20; ++i) {
    const Tensor x = randn({1000}) * (1 + 0.1 * static_cast<double>(i)) + 0.2 * static_cast<double>(i);
    writer.add_histogram("histograms", x, i);
    values.insert("histograms." + std::to_string(i), x.cpu());
  }
  const std::vector<double> bins = {-1, 0, 0.5, 2};
  const Tensor x = randn({1000});
  writer.add_histogram("bins", x, 0, bins);
  values.insert("bins.0", x.cpu());
  values.insert("bins.edges", tensor(bins, TensorOptions(kDouble).device(kCPU)));
  writer.add_histogram("nan", full({4}, NAN), 0);
  writer.add_text("text", "a *text*", 3);
  if (data::can_read_png()) {
    const Tensor image = rand({3, 16, 24});
    writer.add_image("image", image, 0);
    values.insert("image", image.cpu());
  }
  nn::Linear net(3, 4);
  writer.add_graph(net->forward(ones({2, 3})).square().mean(), net->named_parameters());
  writer.add_scalars("both", {{"train", 1.0}, {"val", 2.0}}, 0);
  writer.close();
  io::save_npz(values, to + "/values.npz");
  EXPECT_THAT(events_in(to + "/run"), SizeIs(::testing::Ge(74u)));
}

#endif

}  // namespace
}  // namespace tandem
