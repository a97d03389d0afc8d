// The program of an experiment: flags, runs, table, JSON.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <tandem/amp/tools.h>

#include "common/processor.h"
#include "networks/experiment.h"

namespace networks {
namespace {

/// The results of all seeds in one precision.
struct Row {
  std::string precision;
  std::vector<double> metrics;
  std::vector<double> milliseconds;  ///< per step
  double steps_per_epoch = 0;
  int64_t peak_bytes = 0, skipped_steps = 0;
  double final_scale = 1, baseline = 0;

  double metric() const { return mean(metrics); }
  double ms() const { return mean(milliseconds); }
  double seconds_per_epoch() const { return ms() * steps_per_epoch / 1e3; }

  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
  }
};

struct Options {
  std::vector<std::string> precisions = {"f32", "bf16", "f16"};
  int seeds = 0;  ///< 0: one, or three of the small configuration
  std::string device = "auto", json;
  bool quick = false;
  Setting setting;
};

double range(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most - *least;
}

/// Profiles some steps after the measured ones, prints where their time goes, and writes a Chrome trace.
void profile(const Description& description, const Setting& setting, Experiment& experiment) {
  const torch::amp::Profiler profiler;
  for (int i = 0; i < 5; ++i) experiment.step();
  fmt::print("\n{} in {}, 5 steps:\n{}\n", description.name, setting.precision, profiler.table());
  profiler.write_chrome_trace(setting.trace + "/" + description.name + "_" + setting.precision + ".json");
}

void run(const Description& description, const Setting& setting, int seed, Row& row) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  const bool cuda = setting.device.is_cuda();
  const std::unique_ptr<Experiment> experiment = description.make(setting);
  cuda ? torch::cuda::reset_peak_memory_stats() : tandem::cpu::reset_peak_memory_stats();
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < setting.steps; ++step) {
    const torch::Tensor loss = experiment->step();
    if (step % 50 == 49 && isatty(fileno(stderr))) {
      fmt::print(stderr, "\r{} {} step {}/{} loss {:.3f} ", description.name, setting.precision, step + 1,
                 setting.steps, loss.item<double>());
    }
  }
  row.skipped_steps += experiment->skipped_steps();  // waits for the device
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (isatty(fileno(stderr))) fmt::print(stderr, "\r{:70}\r", "");
  row.milliseconds.push_back(took.count() / static_cast<double>(setting.steps));
  row.peak_bytes = cuda ? torch::cuda::max_memory_allocated() : tandem::cpu::max_memory_allocated();
  for (const torch::Tensor& t : experiment->data()) row.peak_bytes -= static_cast<int64_t>(t.nbytes());
  row.steps_per_epoch = static_cast<double>(experiment->steps_per_epoch());
  row.final_scale = experiment->scale();
  row.metrics.push_back(experiment->metric());
  row.baseline = experiment->baseline();
  const std::string remark = experiment->remark();
  fmt::print("{} {}, seed {}: {:.3g} ms per step, {} {:.3f}{}{}\n", description.name, setting.precision, seed,
             row.milliseconds.back(), description.metric, row.metrics.back(), remark.empty() ? "" : "; ", remark);
  std::fflush(stdout);
  if (!setting.pictures.empty()) experiment->draw();
  if (!setting.trace.empty()) profile(description, setting, *experiment);
}

void print_table(const Description& description, const Options& options, const std::vector<Row>& rows) {
  fmt::print("\n{}{}, {} steps on {} ({}); metric: {}, {} for the best constant answer\n\n", description.name,
             options.setting.small ? ", small" : "", options.setting.steps, options.device, common::processor().name,
             description.metric, fmt::format("{:.3f}", rows[0].baseline));
  fmt::print("{:<9} {:>9} {:>9} {:>9} {:>8} {:>10} {:>8} {:>8} {:>7} {:>7}\n", "precision", "metric", "of seeds",
             "ms/step", "s/epoch", "memory MiB", "skipped", "scale", "speed", "memory");
  for (const Row& r : rows) {
    fmt::print("{:<9} {:>9.3f} {:>9} {:>9.1f} {:>8.1f} {:>10.1f} {:>8} {:>8.0f} {:>6.2f}x {:>6.2f}x\n", r.precision,
               r.metric(), r.metrics.size() > 1 ? fmt::format("+-{:.3f}", range(r.metrics) / 2) : "", r.ms(),
               r.seconds_per_epoch(), static_cast<double>(r.peak_bytes) / (1 << 20), r.skipped_steps, r.final_scale,
               rows[0].ms() / r.ms(), static_cast<double>(r.peak_bytes) / static_cast<double>(rows[0].peak_bytes));
  }
  if (rows[0].metrics.size() > 1 && rows.size() > 1) {
    std::vector<double> means;
    double of_seeds = 0;
    for (const Row& r : rows) {
      means.push_back(r.metric());
      of_seeds = std::max(of_seeds, range(r.metrics));
    }
    fmt::print("\nThe means of the precisions differ by {:.3f}, seeds of one precision by up to {:.3f}\n", range(means),
               of_seeds);
  }
  fmt::print("memory MiB: peak of all tensors except the data\n");
  if (options.device == "cpu") {
    std::vector<std::string> precisions;
    for (const Row& r : rows) precisions.push_back(r.precision);
    fmt::print("{}", common::missing_arithmetic(precisions));
  }
}

void write_json(const Description& description, const Options& options, const std::vector<Row>& rows) {
  nlohmann::ordered_json document = {
      {"network", description.name},  {"small", options.setting.small},         {"processor", common::processor().name},
      {"device", options.device},     {"steps", options.setting.steps},         {"metric", description.metric},
      {"baseline", rows[0].baseline}, {"runs", nlohmann::ordered_json::array()}};
  for (const Row& r : rows) {
    document["runs"].push_back({{"precision", r.precision},
                                {"metrics", r.metrics},
                                {"ms_per_step", r.milliseconds},
                                {"seconds_per_epoch", r.seconds_per_epoch()},
                                {"peak_bytes", r.peak_bytes},
                                {"skipped_steps", r.skipped_steps},
                                {"final_scale", r.final_scale}});
  }
  std::ofstream out(options.json);
  out << document.dump(2) << '\n';
  if (!out.flush()) throw tandem::IoError("--json: cannot write " + options.json);
}

/// Returns whether all runs beat the baseline. Runs of another number of steps than usual are not judged.
bool run_all(const Description& description, Options options) {
  Setting& setting = options.setting;
  setting.small |= options.quick;
  const bool usual_steps = setting.steps == 0;
  if (usual_steps) setting.steps = setting.small ? description.small_steps : description.steps;
  if (options.seeds == 0) options.seeds = setting.small && !options.quick ? 3 : 1;
  if (options.device == "auto") options.device = torch::cuda::is_available() ? "cuda" : "cpu";
  setting.device = torch::Device(options.device);
  for (const std::string& folder : {setting.pictures, setting.trace}) {
    if (!folder.empty()) std::filesystem::create_directories(folder);
  }
  std::vector<Row> rows;
  for (const std::string& precision : options.precisions) {
    setting.precision = precision;
    setting.dtype = precision == "f16" ? torch::kHalf : precision == "f32" ? torch::kFloat : torch::kBFloat16;
    rows.emplace_back().precision = precision;
    for (int seed = 1; seed <= options.seeds; ++seed) run(description, setting, seed, rows.back());
  }
  print_table(description, options, rows);
  if (!options.json.empty()) write_json(description, options, rows);
  bool good = true;
  for (const Row& r : rows) {
    for (const double metric : r.metrics) {
      if (!usual_steps || (description.lower_is_better ? metric < r.baseline : metric > r.baseline)) continue;
      fmt::print(stderr, "error: in {} the network is no better than the best constant answer\n", r.precision);
      good = false;
    }
  }
  return good;
}

}  // namespace

int main_of(const Description& description, int argc, char** argv) {
  CLI::App app("Trains the network '" + description.name + "' in f32, bf16 AMP and f16 AMP, and compares them");
  Options options;
  options.setting.data = TANDEM_EXAMPLE_DATA;
  options.setting.images = "/usr/share/datasets/fashion-mnist";
  app.add_option(
         "--precision", options.precisions,
         "f32, bf16, f16, fp8_delayed, fp8_tensorwise, fp8_blockwise, fp8_mxfp8; comma-separated; by default the "
         "first three")
      ->check(CLI::IsMember({"f32", "bf16", "f16", "fp8_delayed", "fp8_tensorwise", "fp8_blockwise", "fp8_mxfp8"}))
      ->delimiter(',');
  app.add_option("--device", options.device, "auto, cpu or cuda")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  app.add_option("--moments", options.setting.moments, "dtypes of AdamW's moments: f32, bf16, or fp8 (e4m3fn and bf16)")
      ->check(CLI::IsMember({"f32", "bf16", "fp8"}))
      ->capture_default_str();
  app.add_option("--steps", options.setting.steps, "steps of a run")->check(CLI::Range(1, 1 << 30));
  app.add_option("--seeds", options.seeds, "runs per precision, with seeds from 1; by default 1, or 3 with --small")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--small", options.setting.small, "a small network, which trains in seconds");
  app.add_flag("--quick", options.quick, "the small network with one seed");
  app.add_option("--data", options.setting.data, "folder with the files of scripts/example_data.sh")
      ->capture_default_str();
  app.add_option("--images", options.setting.images, "folder with the files of Fashion-MNIST")->capture_default_str();
  app.add_option("--pictures", options.setting.pictures, "draw into this folder, if there is something to see");
  app.add_option("--profile", options.setting.trace,
                 "print where the time of 5 more steps goes, and write them into this folder as Chrome traces");
  app.add_option("--json", options.json, "also write the results to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    return run_all(description, std::move(options)) ? 0 : 1;
  } catch (const std::runtime_error& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
}

}  // namespace networks
