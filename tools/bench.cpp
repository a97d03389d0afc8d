// `tandem bench`: the peaks of this machine, and the gain to expect from AMP for a network.
#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/cuda/device.h>
#include <tandem/tensor/threads.h>
#include <tandem/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/processor.h"
#include "tools/bench/network.h"
#include "tools/bench/peaks.h"
#include "tools/bench/steps.h"
#include "tools/bench/timer.h"
#include "tools/commands.h"
#include "tools/table.h"
#include "tools/text.h"

namespace tools {
namespace {

using json = nlohmann::ordered_json;
using tandem::DType;

struct Step {
  DType dtype;
  double median, lower, upper, predicted;  ///< seconds; lower and upper are quartiles
};

std::string label(DType dtype) { return dtype == tandem::kFloat ? "f32" : std::string(name(dtype)) + " AMP"; }

NetworkShape network(const BenchOptions& options) {
  NetworkShape shape = options.conv.empty() ? parse_layers(options.layers) : parse_conv(options.conv);
  shape.batch = options.batch;
  shape.classes = options.classes;
  return shape;
}

tandem::Device device_of(const BenchOptions& options) {
  const tandem::Device device(options.device);
  if (device.is_cuda() && !tandem::cuda::is_available()) {
    throw tandem::DeviceError(fmt::format("--device {}: {}", options.device, tandem::cuda::unavailable_reason()));
  }
  return device;
}

std::string device_name(const tandem::Device& device) {
  if (device.is_cuda()) return tandem::cuda::get_device_properties(std::max<int>(device.index(), 0)).name;
  return fmt::format("{}, {}", common::processor().description(), count_text(tandem::get_num_threads(), "thread"));
}

std::vector<Step> steps(const NetworkShape& shape, const tandem::Device& device, const Peaks& peaks, double budget) {
  std::vector<Step> result;
  for (const StepTimes& times : measure_steps(shape, device, budget)) {
    result.push_back({times.dtype, bench::median(times.seconds), bench::quantile(times.seconds, 0.25),
                      bench::quantile(times.seconds, 0.75), predicted_step(shape, times.dtype, peaks)});
  }
  return result;
}

/// Returns one sentence that says which precision to train in.
std::string advice(const std::vector<Step>& steps) {
  const Step& f32 = steps[0];
  const Step* best = &f32;
  for (const Step& step : steps) {
    if (step.median < best->median) best = &step;
  }
  constexpr double kWorthIt = 1.05, kNearlyEqual = 1.03;
  const double gain = f32.median / best->median;
  if (best == &f32 || gain < kWorthIt) {
    return "choose f32: AMP does not make this network faster here; it still saves memory in large networks";
  }
  // bf16 needs no scaler, so f16 has to be faster than by chance.
  for (const Step& step : steps) {
    if (step.dtype == tandem::kBFloat16 && step.median < best->median * kNearlyEqual) best = &step;
  }
  return fmt::format("choose {}: {:.2f} times as fast as f32{}", label(best->dtype), f32.median / best->median,
                     best->dtype == tandem::kHalf ? "; f16 needs a GradScaler" : "");
}

/// Whether the quartiles of a step's times differ so much that the medians say little.
bool disturbed(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.upper > 1.3 * step.lower; });
}

std::string rate_text(double operations_per_second) {
  return operations_per_second == 0 ? "-" : fmt::format("{:.3g}", operations_per_second * 1e-9);
}

void print_peaks(const Peaks& peaks, const tandem::Device& device) {
  const std::vector<DType> dtypes = trainable_dtypes(device);
  const bool both = device.is_cpu() && peaks.threads > 1;
  Table table("r" + std::string(dtypes.size() * (both ? 2 : 1), 'r'));
  std::vector<std::string> head = {"matrix product, GFLOP/s"};
  for (const DType dtype : dtypes) head.emplace_back(name(dtype));
  if (both) {
    for (const DType dtype : dtypes) head.push_back(fmt::format("{}, 1 thread", name(dtype)));
  }
  table.add(head);
  for (const int64_t size : peaks.sizes) {
    std::vector<std::string> row = {fmt::format("{0} x {0} x {0}", size)};
    for (const DType dtype : dtypes) row.push_back(rate_text(peaks.all_threads.measured(dtype, size)));
    if (both) {
      for (const DType dtype : dtypes) row.push_back(rate_text(peaks.one_thread.measured(dtype, size)));
    }
    table.add(row);
  }
  fmt::print("\n{}", table.text());
  if (peaks.fma_rate > 0) {
    fmt::print("f32 multiply-adds from registers: {} GFLOP/s\n", rate_text(peaks.fma_rate));
  }
  fmt::print("memory, read and written by a copy: {:.1f} GB/s\n", peaks.copy_bandwidth * 1e-9);
}

void print_steps(const std::vector<Step>& steps, const NetworkShape& shape) {
  fmt::print("\ntraining step: {}; {} parameters, SGD with momentum\n", shape.description(), shape.parameters());
  Table table("lrrrr");
  table.add({"precision", "ms, median", "quartiles", "gain", "predicted gain"});
  for (const Step& step : steps) {
    table.add({label(step.dtype), fmt::format("{:.3g}", step.median * 1e3),
               fmt::format("{:.3g} to {:.3g}", step.lower * 1e3, step.upper * 1e3),
               fmt::format("{:.2f}", steps[0].median / step.median),
               fmt::format("{:.2f}", steps[0].predicted / step.predicted)});
  }
  fmt::print("{}{}\n", table.text(), advice(steps));
  if (disturbed(steps)) fmt::print("the times vary much: other programs use this machine; repeat when it is idle\n");
}

json peaks_json(const Peaks& peaks, const tandem::Device& device) {
  json result = {{"copy_bytes_per_second", bench::rounded(peaks.copy_bandwidth)}, {"products", json::array()}};
  if (peaks.fma_rate > 0) result["fma_flops"] = bench::rounded(peaks.fma_rate);
  const auto add = [&](const ProductRates& rates, int threads) {
    for (const DType dtype : trainable_dtypes(device)) {
      for (const int64_t size : peaks.sizes) {
        const double rate = rates.measured(dtype, size);
        if (rate == 0) continue;
        json entry = {{"dtype", name(dtype)}, {"size", size}, {"flops", bench::rounded(rate)}};
        if (device.is_cpu()) entry["threads"] = threads;
        result["products"].push_back(std::move(entry));
      }
    }
  };
  add(peaks.all_threads, peaks.threads);
  if (device.is_cpu() && peaks.threads > 1) add(peaks.one_thread, 1);
  return result;
}

json steps_json(const std::vector<Step>& steps) {
  json result = json::array();
  for (const Step& step : steps) {
    result.push_back({{"precision", name(step.dtype)},
                      {"amp", step.dtype != tandem::kFloat},
                      {"ms", bench::rounded(step.median * 1e3)},
                      {"ms_lower_quartile", bench::rounded(step.lower * 1e3)},
                      {"ms_upper_quartile", bench::rounded(step.upper * 1e3)},
                      {"gain", bench::rounded(steps[0].median / step.median)},
                      {"predicted_ms", bench::rounded(step.predicted * 1e3)},
                      {"predicted_gain", bench::rounded(steps[0].predicted / step.predicted)}});
  }
  return result;
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const NetworkShape shape = network(options);
  const tandem::Device device = device_of(options);
  if (options.threads > 0) tandem::set_num_threads(options.threads);
  if (!options.as_json) fmt::print("{}; tandem {}\n", device_name(device), tandem::version_string());
  const Peaks peaks = measure_peaks(device, options.quick);
  if (!options.as_json) print_peaks(peaks, device);
  std::fflush(stdout);
  const std::vector<Step> measured = steps(shape, device, peaks, options.quick ? 0 : options.seconds);
  if (!options.as_json) {
    print_steps(measured, shape);
    return 0;
  }
  const json result = {{"tandem", tandem::version_string()}, {"device", device_name(device)},
                       {"peaks", peaks_json(peaks, device)}, {"network", shape.description()},
                       {"parameters", shape.parameters()},   {"steps", steps_json(measured)},
                       {"disturbed", disturbed(measured)},   {"advice", advice(measured)}};
  fmt::print("{}\n", result.dump(2, ' ', false, json::error_handler_t::replace));
  return 0;
}

}  // namespace tools
