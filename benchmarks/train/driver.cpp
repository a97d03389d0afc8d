#include "train/driver.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/processor.h"
#include "statistics.h"
#include "train/process.h"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
using Environment = std::vector<std::pair<std::string, std::string>>;

/// A heap that keeps its pages: without it, much of libtorch's step is page faults.
const Environment kCachedHeap = {{"MALLOC_MMAP_MAX_", "0"}, {"MALLOC_TRIM_THRESHOLD_", "100000000000"}};

/// A measurement counts as disturbed if other processes took more than this share of the processor time.
constexpr double kQuiet = 0.1;

/// One of the programs that are run in turn, and the keys of its results. The peer runs a CNN in each memory format:
/// of programs with the same keys, the fastest counts.
struct Program {
  std::string label, path, memory_format, ms_key, ratio_key;
  Environment environment;
  std::vector<json> runs = {};  ///< one per round
  bool failed = false;

  double of_rounds(const char* key, double share = 0.5) const {
    std::vector<double> values;
    for (const json& run : runs) values.push_back(run.at(key));
    return rounded(quantile(values, share));
  }
};

std::optional<json> measure_once(const Program& program, const DriverOptions& options, const std::string& workload,
                                 const std::string& precision) {
  std::vector<std::string> arguments = {
      program.path, "--workload", workload, "--precision", precision, "--threads", std::to_string(options.run.threads)};
  if (!program.memory_format.empty()) arguments.insert(arguments.end(), {"--memory-format", program.memory_format});
  if (options.run.small) arguments.push_back("--small");
  RunOptions steps = options.run;
  steps.workload = workload;
  steps.complete();
  arguments.insert(arguments.end(),
                   {"--warmup", std::to_string(steps.warmup), "--iterations", std::to_string(steps.iterations)});
  Environment environment = program.environment;
  environment.emplace_back("OMP_NUM_THREADS", std::to_string(options.run.threads));
  std::optional<json> best;
  for (int attempt = 0; attempt <= options.retries; ++attempt) {
    const ProcessResult process = run_process(arguments, environment);
    json run = json::parse(process.output, nullptr, false);
    if (process.status != 0 || run.is_discarded()) {
      std::fprintf(stderr, "train_bench: %s failed on %s in %s (exit status %d)\n", program.label.c_str(),
                   workload.c_str(), precision.c_str(), process.status);
      return std::nullopt;
    }
    if (!best || run["foreign_share"] < (*best)["foreign_share"]) best = std::move(run);
    if ((*best)["foreign_share"] < kQuiet) break;
  }
  return best;
}

double tolerance(const std::string& precision) { return precision == "f32" ? 1e-3 : precision == "f16" ? 1e-2 : 2e-2; }

/// Returns the first value in which two runs differ by more than the tolerance; "" if there is none. The norm of a
/// parameter is compared on the scale of the largest of it and of the root mean square of all: rounding errors of large
/// gradients show in the small ones, in which the peer differs from itself when the memory format changes.
std::string difference(const json& ours, const json& theirs, const std::string& precision) {
  for (const char* key : {"losses", "gradient_norms", "change_norms"}) {
    const auto& a = ours.at(key);
    const auto& b = theirs.at(key);
    if (a.size() != b.size()) return key;
    double squares = 0;
    for (const json& value : b) squares += value.is_number() ? std::pow(value.get<double>(), 2) : NAN;
    const double scale = std::sqrt(squares / static_cast<double>(b.size()));
    // Adam makes a whole step of a gradient that is nothing but rounding errors.
    const double allowed = tolerance(precision) * (key == std::string("change_norms") ? 3 : 1);
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = a[i].is_number() ? a[i].get<double>() : NAN, y = b[i].is_number() ? b[i].get<double>() : NAN;
      if (!(std::abs(x - y) <= allowed * std::max(std::abs(y), scale))) {
        return std::string(key) + "[" + std::to_string(i) + "]: " + a[i].dump() + ", peer " + b[i].dump();
      }
    }
  }
  return "";
}

bool selected(const DriverOptions& options, const std::string& workload, const std::string& precision) {
  if (options.only.empty()) return precision != "f16" || common::processor().multiplies("f16");
  for (const std::string& o : options.only) {
    if (o == workload + "/" + precision) return true;
    if (o == workload) return precision != "f16" || common::processor().multiplies("f16");
  }
  return false;
}

std::string cell(const json& value, const char* format) {
  if (!value.is_number()) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value.get<double>());
  return text.data();
}

constexpr const char* kTimes[] = {"ms", "peer_ms_default", "peer_ms_cached_heap", "peer_ms_compiled", "floor_ms"};
constexpr const char* kRatios[] = {"ratio_default", "ratio_cached_heap", "ratio_compiled", "ratio_best", "ratio_floor"};
constexpr const char* kColumns[] = {"tandem", "peer",     "cached", "compiled", "floor",      "ratio",
                                    "cached", "compiled", "best",   "floor",    "sys. allocs"};

void print_header() {
  std::printf("%-11s %-5s", "", "");
  for (const char* column : kColumns) std::printf(" %8s", column);
  std::printf("\n");
}

void print_row(const json& r) {
  std::printf("%-11s %-5s", r.at("workload").get<std::string>().c_str(), r.at("precision").get<std::string>().c_str());
  for (const char* key : kTimes) std::printf(" %8s", cell(r.at(key), "%.4g").c_str());
  for (const char* key : kRatios) std::printf(" %8s", cell(r.at(key), "%.3f").c_str());
  std::printf(" %11s", cell(r.at("system_allocations_per_step"), "%.3g").c_str());
  if (r.contains("memory_format")) {
    std::printf("  %s", r.at("memory_format").get<std::string>().c_str());
    for (const char* key : {"peer_format_default", "peer_format_cached_heap", "peer_format_compiled"}) {
      if (r.contains(key)) std::printf(", %s", r.at(key).get<std::string>().c_str());
    }
  }
  for (const json& text : r.at("differences")) std::printf("\n  DIFFERS from %s", text.get<std::string>().c_str());
  std::printf("\n");
  std::fflush(stdout);
}

std::vector<Program> programs_for(const DriverOptions& options, const Workload& workload,
                                  const std::string& precision) {
  const std::string asked = workload.is_cnn ? options.run.memory_format : "";
  std::vector<Program> programs = {{"tandem", own_path(), asked, "ms", "", {}}};
  std::vector<std::string> formats = {asked};
  if (asked == "auto") formats.assign(std::begin(kMemoryFormats), std::end(kMemoryFormats));
  for (const std::string& format : formats) {
    const std::string in = format.empty() ? "" : " in " + format;
    if (!options.peer.empty()) {
      programs.push_back({"the peer" + in, options.peer, format, "peer_ms_default", "ratio_default", {}});
      programs.push_back({"the peer with a cached heap" + in, options.peer, format, "peer_ms_cached_heap",
                          "ratio_cached_heap", kCachedHeap});
    }
    if (!options.compiled_peer.empty()) {
      programs.push_back(
          {"torch.compile" + in, options.compiled_peer, format, "peer_ms_compiled", "ratio_compiled", kCachedHeap});
    }
  }
  if (!options.floor.empty() && workload.has_floor && precision != "f16") {
    programs.push_back({"the hand-written step", options.floor, "", "floor_ms", "ratio_floor", {}});
  }
  return programs;
}

/// Returns the key of a program's memory format.
std::string format_key(const Program& program) {
  return program.ms_key == "ms" ? "memory_format"
                                : "peer_format" + program.ms_key.substr(std::string("peer_ms").size());
}

json summary(const std::vector<Program>& programs, const std::string& workload, const std::string& precision) {
  json r = {{"workload", workload}, {"precision", precision}, {"differences", json::array()}};
  for (const char* key : kTimes) r[key] = nullptr;
  for (const char* key : kRatios) r[key] = nullptr;
  const Program& ours = programs[0];
  for (const char* key : {"ms", "lower_quartile_ms", "upper_quartile_ms", "min_ms", "page_faults_per_step"}) {
    r[key] = ours.of_rounds(key);
  }
  r["system_allocations_per_step"] = ours.of_rounds("system_allocations_per_step", 1);
  r["final_loss"] = ours.runs[0].at("final_loss");
  r["iterations"] = ours.runs[0].at("iterations");
  for (const Program& program : programs) {
    if (program.failed) continue;
    const bool is_cnn = program.runs[0].contains("memory_format");
    const std::string format = is_cnn ? program.runs[0].at("memory_format") : "";
    const std::string rounds_key = is_cnn ? program.ms_key + " " + format : program.ms_key;
    for (const json& run : program.runs) {
      r["rounds"][rounds_key].push_back(run.at("ms"));
      r["rounds_min"][rounds_key].push_back(run.at("min_ms"));
      r["rounds_foreign_share"][rounds_key].push_back(run.at("foreign_share"));
    }
    const double ms = program.of_rounds("ms");
    const bool fastest = r.at(program.ms_key).is_null() || ms <= r.at(program.ms_key);
    if (is_cnn && fastest) r[format_key(program)] = format;
    if (program.ratio_key.empty()) continue;
    const std::string differs = difference(ours.runs[0], program.runs[0], precision);
    if (!differs.empty()) r["differences"].push_back(program.label + ": " + differs);
    if (!fastest) continue;
    r[program.ms_key] = ms;
    // No ratio for a step that computes something else.
    r[program.ratio_key] = differs.empty() ? json(rounded(ours.of_rounds("ms") / ms)) : json();
  }
  for (const char* key : {"ratio_default", "ratio_cached_heap", "ratio_compiled"}) {
    if (r[key].is_number() && (r["ratio_best"].is_null() || r[key] > r["ratio_best"])) r["ratio_best"] = r[key];
  }
  return r;
}

/// Measures one workload in one precision, in all rounds. Returns nullopt if tandem failed.
std::optional<json> compare(const DriverOptions& options, const Workload& workload, const std::string& precision,
                            std::string& peer_name, bool& good) {
  std::vector<Program> programs = programs_for(options, workload, precision);
  for (int round = 0; round < options.rounds; ++round) {
    for (Program& program : programs) {
      if (program.failed) continue;
      std::optional<json> run = measure_once(program, options, workload.name, precision);
      if (run) {
        program.runs.push_back(std::move(*run));
      } else {
        program.failed = true;
        good = false;
      }
    }
    if (programs[0].failed) return std::nullopt;
  }
  if (programs.size() > 1 && !programs[1].failed && programs[1].ms_key == "peer_ms_default") {
    peer_name = programs[1].runs[0].at("program");
  }
  json result = summary(programs, workload.name, precision);
  if (!result.at("differences").empty()) good = false;
  return result;
}

}  // namespace

int run_driver(const DriverOptions& options) {
  if (options.peer.empty()) {
    std::fprintf(stderr, "train_bench: no libtorch program (scripts/bench.sh builds it); measuring tandem only\n");
  }
  std::printf("%s, %d threads; ms per step\n", common::processor().description().c_str(), options.run.threads);
  print_header();
  bool good = true;
  std::string peer_name;
  json results = json::array();
  for (const Workload& workload : kWorkloads) {
    for (const char* precision : kPrecisions) {
      if (!selected(options, workload.name, precision)) continue;
      const std::optional<json> result = compare(options, workload, precision, peer_name, good);
      if (!result) continue;
      print_row(*result);
      results.push_back(*result);
    }
  }
  if (!peer_name.empty()) {
    std::printf(
        "peer: %s; cached: the peer with a heap that keeps its pages; compiled: Python's torch.compile with that "
        "heap;\n"
        "best: the fastest of the three; floor: a step written by hand with oneDNN\n",
        peer_name.c_str());
  }
  if (!options.json_file.empty()) {
    std::array<char, 16> date{};
    const std::time_t time = std::time(nullptr);
    std::strftime(date.data(), date.size(), "%Y-%m-%d", std::localtime(&time));
    const json document = {{"date", date.data()},
                           {"processor", common::processor().description()},
                           {"peer", peer_name},
                           {"threads", options.run.threads},
                           {"results", results}};
    std::ofstream file(options.json_file);
    file << document.dump(2) << "\n";
    if (!file.flush()) {
      std::fprintf(stderr, "train_bench: cannot write %s\n", options.json_file.c_str());
      return 1;
    }
  }
  return good ? 0 : 1;
}

}  // namespace bench
