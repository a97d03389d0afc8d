#pragma once
// One measurement: trains a workload step by step in this process, times the steps, and describes the results, so that
// a wrong step is noticed. The including file selects the library: `namespace lib = tandem;` or `= torch;`.
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "common/processor.h"
#include "statistics.h"
#include "train/disturbance.h"
#include "train/models.h"
#include "train/options.h"

namespace bench {

struct Batch {
  lib::Tensor x, y;
};

/// Returns the norms of tensors, one per parameter: cheap to compute, and far off if a step computes something else.
template <class Value>
std::vector<double> norms(lib::nn::Module& model, Value&& value) {
  std::vector<double> result;
  for (const auto& entry : model.named_parameters()) {
    double sum = 0;
    value(entry.key(), entry.value(), [&](double v) { sum += v * v; });
    result.push_back(std::sqrt(sum));
  }
  return result;
}

inline std::vector<double> gradient_norms(lib::nn::Module& model) {
  return norms(model, [](const std::string&, const lib::Tensor& p, auto add) {
    const lib::Tensor g = p.grad().cpu().contiguous();
    const auto* v = g.template const_data_ptr<float>();
    for (int64_t i = 0; i < g.numel(); ++i) add(v[i]);
  });
}

/// Returns the distance of each parameter from its initial value.
inline std::vector<double> change_norms(lib::nn::Module& model) {
  return norms(model, [](const std::string& name, const lib::Tensor& p, auto add) {
    const InitialValues initial(name, p);
    const lib::Tensor w = p.detach().cpu().contiguous();
    const auto* v = w.template const_data_ptr<float>();
    for (int64_t i = 0; i < w.numel(); ++i) add(double{v[i]} - double{initial[i]});
  });
}

inline int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/// Steps that are timed together: on a GPU the host runs ahead, and waiting after every step would add to the time.
inline int steps_per_sample(const RunOptions& options) { return options.device == "cpu" ? 1 : 10; }

/// Library provides Scaler and Region (autocast), set_memory_format(), synchronize(), system_allocations(),
/// reset_peak_bytes(), peak_bytes() and capture(), which returns a function that repeats the captured one.
template <class Library, class Model, class Optimizer>
nlohmann::json measure(const RunOptions& options, Model& model, Optimizer& optimizer,
                       const std::vector<Batch>& batches) {
  const bool amp = options.precision != "f32";
  const auto dtype = options.precision == "f16" ? lib::kHalf : lib::kBFloat16;
  typename Library::Scaler scaler;
  int number = 0;
  lib::Tensor loss;
  const auto compute = [&](const Batch& batch) {
    optimizer.zero_grad();
    if (amp) {
      {
        typename Library::Region autocast(lib::Device(options.device).type(), dtype);
        loss = model.loss(batch.x, batch.y);
      }
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
    } else {
      loss = model.loss(batch.x, batch.y);
      loss.backward();
      optimizer.step();
    }
  };
  // A graph reads its inputs from a fixed place.
  Batch input;
  std::function<void()> replay;
  const auto step = [&](double* value) {
    const Batch& batch = batches[static_cast<size_t>(number++) % batches.size()];
    if (replay) {
      input.x.copy_(batch.x);
      input.y.copy_(batch.y);
      replay();
    } else {
      compute(batch);
    }
    if (value) *value = loss.template item<float>();
  };

  nlohmann::json result;
  std::vector<double> losses(kComparedSteps);
  for (int i = 0; i < kComparedSteps; ++i) {
    step(&losses[static_cast<size_t>(i)]);
    if (i == 0) result["gradient_norms"] = gradient_norms(model);
  }
  result["losses"] = losses;
  result["change_norms"] = change_norms(model);
  for (int i = kComparedSteps; i < options.warmup; ++i) step(nullptr);
  if (options.graph) {
    input = {batches[0].x.clone(), batches[0].y.clone()};
    replay = Library::capture([&] { compute(input); });
    step(nullptr);
  }

  Library::reset_peak_bytes(options.device);
  std::vector<double> ms(static_cast<size_t>(options.iterations));
  const int64_t faults = page_faults(), allocations = Library::system_allocations(options.device);
  const Disturbance disturbance;
  const int together = steps_per_sample(options);
  Library::synchronize(options.device);
  for (double& time : ms) {
    const double start = now();
    for (int i = 0; i < together; ++i) step(nullptr);
    Library::synchronize(options.device);
    time = (now() - start) * 1e3 / together;
  }
  result["foreign_share"] = rounded(disturbance.foreign_share());
  const double count = options.iterations * together;
  result["system_allocations_per_step"] =
      static_cast<double>(Library::system_allocations(options.device) - allocations) / count;
  result["page_faults_per_step"] = rounded(static_cast<double>(page_faults() - faults) / count);
  result["peak_bytes"] = Library::peak_bytes(options.device);
  double final_loss = 0;
  step(&final_loss);
  result["final_loss"] = final_loss;
  result["final_scale"] = amp ? Library::scale_of(scaler) : 1.0;
  result["ms"] = rounded(median(ms));
  result["lower_quartile_ms"] = rounded(quantile(ms, 0.25));
  result["upper_quartile_ms"] = rounded(quantile(ms, 0.75));
  result["min_ms"] = rounded(quantile(ms, 0));
  return result;
}

}  // namespace bench
