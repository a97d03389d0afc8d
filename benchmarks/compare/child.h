#pragma once
// One measurement in this process, for compare_bench. The including file selects the library: `namespace lib = tandem;`
// or `= torch;`.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "command_line.h"
#include "compare/workloads.h"
#include "statistics.h"
#include "train/disturbance.h"

namespace bench {

/// The arguments of one measurement.
struct CompareOptions {
  std::string measure;  ///< name of a workload
  std::string precision = "f32";
  bool memory = false;
  int threads = 2;

  void add_flags(CommandLine& line) {
    line.text("--measure", measure, "Measure this function here");
    line.choice("--precision", precision, "Of the measured function", {"f32", "bf16"});
    line.flag("--memory", memory, "Measure the peak of attention's memory instead of times");
    line.number("--threads", threads, "Threads of each program", 1, 4096);
  }
};

/// Seconds of processor time of all threads of this process.
inline double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The bytes of a line such as "VmHWM:  1234 kB" of /proc/self/status.
inline double status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kilobytes = 0;
  while (file >> word) {
    if (word == key + ":" && file >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

/// The norm of a tensor: cheap to compare, and far off if something else was computed.
inline double norm_of(const lib::Tensor& x) {
  const lib::Tensor y = x.detach().to(lib::kFloat).contiguous();
  const auto* const values = y.const_data_ptr<float>();
  double sum = 0;
  for (int64_t i = 0; i < y.numel(); ++i) sum += double{values[i]} * values[i];
  return std::sqrt(sum);
}

inline void clear_gradients(const Workload& w) {
  for (const lib::Tensor& x : w.leaves) x.mutable_grad() = lib::Tensor();
}

/// Times the forward pass without and with recording, and with the backward pass.
inline nlohmann::json measure_times(const WorkloadEntry& entry, const Workload& w) {
  constexpr double kSeconds = 0.7;  // per part
  nlohmann::json result;
  lib::Tensor y;
  const auto forward = [&] {
    const lib::NoGradGuard guard;
    y = w.run();
  };
  const auto recorded = [&] { y = w.run(); };
  const auto both = [&] {
    clear_gradients(w);
    y = w.run();
    y.backward(w.gradient);
  };
  const auto time = [&](const char* name, const auto& body) {
    const int repeats = entry.is_small ? 1000 : 1;
    const auto repeated = [&] {
      for (int i = 0; i < repeats; ++i) body();
    };
    repeated();
    const double started = now();
    repeated();
    const int count = std::max(5, std::min(200, static_cast<int>(kSeconds / (now() - started))));
    std::vector<double> wall, processor;
    for (int i = 0; i < count; ++i) {
      const double start = now(), used = processor_time();
      repeated();
      processor.push_back((processor_time() - used) / repeats * 1e3);
      wall.push_back((now() - start) / repeats * 1e3);
    }
    result[name] = {{"ms", median(wall)}, {"processor_ms", median(processor)}, {"min_ms", quantile(wall, 0)}};
  };
  const Disturbance disturbance;
  time("forward", forward);
  if (entry.is_small) time("recorded", recorded);
  time("both", both);
  result["foreign_share"] = disturbance.foreign_share();
  std::vector<double> norms{norm_of(y)};
  for (const lib::Tensor& x : w.leaves) norms.push_back(norm_of(x.grad()));
  result["norms"] = norms;
  return result;
}

/// The peak of resident memory during a forward and a backward pass, and the bytes of the tensors that must exist: the
/// operands, the result and their gradients.
inline nlohmann::json measure_memory(const Workload& w, double before) {
  double tensors = static_cast<double>(w.gradient.nbytes()) * 2;
  for (const lib::Tensor& x : w.leaves) tensors += static_cast<double>(x.nbytes()) * 2;
  std::ofstream("/proc/self/clear_refs") << "5\n";  // resets VmHWM
  lib::Tensor y = w.run();
  y.backward(w.gradient);
  return {{"tensor_bytes", tensors}, {"resident_growth", status_bytes("VmHWM") - before}};
}

/// Measures and prints one JSON object.
inline void run_workload(const CompareOptions& options, const std::string& program) {
  nlohmann::json result;
  const double before = status_bytes("VmRSS");
  for (const WorkloadEntry& entry : workloads()) {
    if (entry.name != options.measure) continue;
    const Workload w = entry.prepare(options.precision == "bf16");
    result = options.memory ? measure_memory(w, before) : measure_times(entry, w);
  }
  if (result.is_null()) throw std::runtime_error("there is no function " + options.measure);
  result["program"] = program;
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace bench
