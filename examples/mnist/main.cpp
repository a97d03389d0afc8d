// Code common to the Fashion-MNIST programs: flags, runs, report, errors.
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "mnist/mode.h"
#include "mnist/report.h"
#include "mnist/training.h"

namespace mnist {

namespace {

constexpr const char* kDebianData = "/usr/share/datasets/fashion-mnist";

}  // namespace

void add_flags(CLI::App& app, Settings& settings) {
  settings.data = kDebianData;
  app.add_option("--precision", settings.precisions,
                 "f32, bf16, f16 (the default: these three), O0, O1, O2, O3, naive, env; comma-separated")
      ->check(CLI::IsMember(mode_names()))
      ->delimiter(',');
  app.add_flag_callback(
      "--modes", [&] { settings.precisions = mode_names(); }, "run all modes");
  app.add_option("--device", settings.device, "auto, cpu or cuda")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  app.add_option("--epochs", settings.epochs, "epochs per precision")->check(CLI::Range(1, 10000));
  app.add_option("--steps", settings.steps, "maximum number of steps")->check(CLI::Range(1, 1 << 30));
  app.add_option("--batch", settings.batch, "images per step")->check(CLI::Range(1, 60000))->capture_default_str();
  app.add_option("--lr", settings.lr, "initial learning rate; it falls to zero")
      ->check(CLI::Range(1e-9, 1e3))
      ->capture_default_str();
  app.add_option("--moments", settings.moments, "dtypes of Adam's moments: f32, bf16, or fp8 (e4m3fn and bf16)")
      ->check(CLI::IsMember({"f32", "bf16", "fp8"}))
      ->capture_default_str();
  app.add_option("--workers", settings.workers, "threads that load data")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "seed of the weights and of shuffling")->capture_default_str();
  app.add_option("--data", settings.data, "folder with the IDX files, plain or .gz")->capture_default_str();
  app.add_option("--json", settings.json, "also write the results to this file");
  app.add_option("--log", settings.log, "write EXAMPLE_PRECISION.jsonl, one line per step, to this folder")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_flag("--quick", settings.quick, "one epoch per precision");
}

void run_all(const std::vector<Example>& examples, const Settings& settings) {
  if (!std::filesystem::exists(settings.data)) {
    throw tandem::IoError(
        fmt::format("--data: {} does not exist; scripts/setup.sh installs Debian's package "
                    "dataset-fashion-mnist, or give a folder with the four IDX files",
                    settings.data));
  }
  if (!settings.log.empty()) std::filesystem::create_directories(settings.log);
  std::vector<RunResult> runs;
  for (const Example& example : examples) {
    for (const std::string& precision : settings.precisions) {
      runs.push_back(run(example, precision, settings));
      const RunResult& r = runs.back();
      fmt::print("{} {}: {:.2f} s/epoch, {:.0f} images/s, test accuracy {:.2f} %\n", r.example, r.precision,
                 r.seconds_per_epoch, r.images_per_second, r.test_accuracy);
      std::fflush(stdout);
    }
  }
  fmt::print("\n{}", table(runs));
  if (!settings.json.empty()) write_json(settings.json, runs);
}

int main_of(const std::string& description, const std::vector<Example>& examples, int argc, char** argv) {
  CLI::App app(description);
  Settings settings;
  add_flags(app, settings);
  CLI11_PARSE(app, argc, argv);
  try {
    run_all(examples, settings);
  } catch (const std::runtime_error& e) {  // tandem::Error, std::filesystem::filesystem_error
    fmt::print(stderr, "error: {}\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace mnist
