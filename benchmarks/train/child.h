#pragma once
// The program of one measurement: prints the results of a workload, or searches the largest batch of it.
#include "train/largest_batch.h"
#include "train/workloads.h"

namespace bench {

/// Finds the largest batch whose steps fit into memory, with their peak, and the error that stopped larger ones:
/// usually lack of memory, or a library that rejects such sizes. Library provides TooLarge, the type of these
/// exceptions, and empty_cache().
template <class Library>
nlohmann::json search_largest_batch(RunOptions& options) {
  if (options.device == "cpu") throw std::runtime_error("--largest-batch needs --device cuda");
  options.warmup = kComparedSteps;
  options.iterations = 1;
  nlohmann::json result;
  const auto fits = [&](int64_t batch) {
    Library::empty_cache();
    options.batch = static_cast<int>(batch);
    try {
      result["peak_bytes"] = measure_workload<Library>(options)["peak_bytes"];
      return true;
    } catch (const typename Library::TooLarge& error) {
      result["stopped_by"] = error.what();
      return false;
    }
  };
  const LargestBatch found = largest_batch(fits);
  options.batch = static_cast<int>(found.fits);
  result["largest_batch"] = found.fits;
  result["smallest_too_large"] = found.too_large;
  return result;
}

/// Measures and prints one JSON object.
template <class Library>
void run_child(RunOptions options) {
  options.complete();
  Library::set_num_threads(options.threads);
  nlohmann::json result =
      options.largest_batch ? search_largest_batch<Library>(options) : measure_workload<Library>(options);
  result["batch"] = options.batch;
  result["program"] = Library::name();
  result["processor"] = common::processor().description();
  result["workload"] = options.workload;
  result["precision"] = options.precision;
  result["device"] = options.device;
  if (options.graph) result["variant"] = "graph";
  if (find_workload(options.workload)->is_cnn) result["memory_format"] = options.memory_format;
  result["threads"] = options.threads;
  result["warmup"] = options.warmup;
  result["iterations"] = options.iterations;
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace bench
