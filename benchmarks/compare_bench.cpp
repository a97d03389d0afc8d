// Functions compared with libtorch's: forward pass, and forward and backward pass. Without --measure it is the driver,
// which starts this program and the libtorch program in turn and prints medians of the rounds; with --measure it
// measures one function in this process and prints one JSON object.
#include <tandem/tandem.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>

namespace lib = tandem;
#include "common/processor.h"
#include "compare/child.h"
#include "train/process.h"

namespace {

using nlohmann::json;

struct Driver {
  bench::CompareOptions run;
  std::string peer, json_path;
  std::vector<std::string> only, precisions{"f32", "bf16"};
  int rounds = 3;
  json report;

  /// libtorch runs with the default heap and with one that keeps its pages, without which much of its time is page
  /// faults.
  json measure(const std::string& program, const std::string& name, const std::string& precision,
               bool keeps_pages) const {
    std::vector<std::string> arguments = {
        program, "--measure", name, "--precision", precision, "--threads", std::to_string(run.threads)};
    if (run.memory) arguments.emplace_back("--memory");
    std::vector<std::pair<std::string, std::string>> environment{{"OMP_NUM_THREADS", std::to_string(run.threads)}};
    if (keeps_pages) {
      environment.insert(environment.end(), {{"MALLOC_MMAP_MAX_", "0"}, {"MALLOC_TRIM_THRESHOLD_", "100000000000"}});
    }
    const auto result = bench::run_process(arguments, environment);
    const json value = json::parse(result.output, nullptr, false);
    if (result.status != 0 || value.is_discarded()) throw std::runtime_error(program + " failed");
    return value;
  }

  static double median_of(const std::vector<json>& runs, const std::string& part, const char* key) {
    std::vector<double> values;
    for (const json& r : runs) values.push_back(r.at(part).at(key));
    return bench::median(values);
  }

  static void compare_norms(const json& ours, const json& theirs, double tolerance) {
    for (size_t i = 0; i < ours.size(); ++i) {
      const double a = ours[i], b = theirs.at(i);
      if (std::abs(a - b) <= tolerance * std::abs(b)) continue;
      throw std::runtime_error("norms of the results differ: " + ours.dump() + ", libtorch " + theirs.dump());
    }
  }

  void compare_times(const std::string& name, const std::string& precision) {
    std::vector<json> ours, theirs, cached;
    for (int round = 0; round < rounds; ++round) {
      ours.push_back(measure(bench::own_path(), name, precision, false));
      if (peer.empty()) continue;
      theirs.push_back(measure(peer, name, precision, false));
      cached.push_back(measure(peer, name, precision, true));
    }
    if (!peer.empty()) compare_norms(ours[0]["norms"], theirs[0]["norms"], precision == "f32" ? 1e-3 : 2e-2);
    for (const std::string part : {"forward", "recorded", "both"}) {
      if (!ours[0].contains(part)) continue;
      json row = {{"function", name}, {"precision", precision}, {"part", part}};
      const double a = median_of(ours, part, "ms");
      row["ms"] = bench::rounded(a);
      std::printf("%-22s %-5s %-9s %10.5f", name.c_str(), precision.c_str(), part.c_str(), a);
      if (!peer.empty()) {
        const double b = median_of(theirs, part, "ms"), c = median_of(cached, part, "ms");
        const double of_processor =
            median_of(ours, part, "processor_ms") /
            std::min(median_of(theirs, part, "processor_ms"), median_of(cached, part, "processor_ms"));
        row["peer_ms_default"] = bench::rounded(b);
        row["peer_ms_cached_heap"] = bench::rounded(c);
        row["ratio"] = bench::rounded(a / std::min(b, c));
        row["ratio_of_processor_time"] = bench::rounded(of_processor);
        std::printf(" %10.5f %10.5f %7.3f %7.3f", b, c, a / std::min(b, c), of_processor);
      }
      double foreign = 0;
      for (const auto* runs : {&ours, &theirs, &cached}) {
        for (const json& r : *runs) foreign = std::max(foreign, r.at("foreign_share").get<double>());
      }
      row["foreign_share"] = bench::rounded(foreign);
      std::printf(" %6.2f\n", foreign);
      report["rows"].push_back(row);
    }
    std::fflush(stdout);
  }

  void compare_memory(const std::string& name, const std::string& precision) {
    const auto growth = [](const json& r) {
      return r["resident_growth"].get<double>() / r["tensor_bytes"].get<double>();
    };
    const json ours = measure(bench::own_path(), name, precision, false);
    json row = {{"function", name},
                {"precision", precision},
                {"tensor_bytes", ours["tensor_bytes"]},
                {"peak_over_tensors", bench::rounded(growth(ours))}};
    std::printf("%-22s %-5s tensors %8.1f MiB, peak %.3f times that", name.c_str(), precision.c_str(),
                ours["tensor_bytes"].get<double>() / 1048576, growth(ours));
    if (!peer.empty()) {
      const double theirs = growth(measure(peer, name, precision, false));
      row["peer_peak_over_tensors"] = bench::rounded(theirs);
      std::printf(", libtorch %.3f", theirs);
    }
    std::printf("\n");
    report["rows"].push_back(row);
  }

  void run_all() {
    report = {{"processor", common::processor().description()}, {"threads", run.threads}, {"rounds", rounds}};
    std::printf("%s, %d threads\n", common::processor().description().c_str(), run.threads);
    if (!run.memory) {
      std::printf("%-22s %-5s %-9s %10s %10s %10s %7s %7s %6s\n", "", "", "", "ms", "libtorch", "own heap", "ratio",
                  "of cpu", "others");
    }
    for (const bench::WorkloadEntry& entry : bench::workloads()) {
      const bool wanted = std::any_of(only.begin(), only.end(), [&](const std::string& prefix) {
        return entry.name.compare(0, prefix.size(), prefix) == 0;
      });
      if (!only.empty() ? !wanted : run.memory != (entry.name == "attention/8192")) continue;
      for (const std::string& precision : entry.precisions) {
        if (std::find(precisions.begin(), precisions.end(), precision) == precisions.end()) continue;
        run.memory ? compare_memory(entry.name, precision) : compare_times(entry.name, precision);
      }
    }
    if (!json_path.empty()) std::ofstream(json_path) << report.dump(1) << '\n';
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("Measures functions of tandem and of libtorch, and prints the ratios of medians.");
  Driver driver;
  driver.run.add_flags(line);
  const std::filesystem::path beside = std::filesystem::path(bench::own_path()).parent_path() / "compare_torch";
  driver.peer = std::filesystem::exists(beside) ? beside.string() : std::string();
  bool no_peer = false;
  line.list("--only", driver.only, "Functions whose names begin so: attention,lstm,...");
  line.list("--precisions", driver.precisions, "Of the compared functions");
  line.number("--rounds", driver.rounds, "Number of runs of each program", 1);
  line.existing_file("--peer", driver.peer, "Path of the libtorch program");
  line.text("--json", driver.json_path, "Write the results to this file");
  line.flag("--no-peer", no_peer, "Measure tandem only");
  line.parse(argc, argv);
  if (no_peer) driver.peer.clear();
  try {
    if (driver.run.measure.empty()) {
      driver.run_all();
    } else {
      tandem::set_num_threads(driver.run.threads);
      bench::run_workload(driver.run, "tandem");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
