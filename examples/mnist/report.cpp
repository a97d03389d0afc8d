#include "mnist/report.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/processor.h"

namespace mnist {

std::string table(const std::vector<RunResult>& runs) {
  if (runs.empty()) return "no runs\n";
  std::string text = fmt::format("Processor: {}, device: {}\n\n", runs[0].processor, runs[0].device);
  text += fmt::format("{:<10} {:<9} {:>8} {:>9} {:>10} {:>9} {:>8} {:>8} {:>7} {:>7}\n", "example", "precision",
                      "s/epoch", "images/s", "memory MiB", "accuracy", "skipped", "scale", "speed", "memory");
  for (const RunResult& r : runs) {
    std::string speed, memory;
    for (const RunResult& base : runs) {
      if (base.example != r.example || base.precision != "f32") continue;
      speed = fmt::format("{:.2f}x", r.images_per_second / base.images_per_second);
      memory = fmt::format("{:.2f}x", static_cast<double>(r.peak_bytes) / static_cast<double>(base.peak_bytes));
    }
    text += fmt::format("{:<10} {:<9} {:>8.2f} {:>9.0f} {:>10.1f} {:>8.2f}% {:>8} {:>8.0f} {:>7} {:>7}\n", r.example,
                        r.precision, r.seconds_per_epoch, r.images_per_second,
                        static_cast<double>(r.peak_bytes) / (1 << 20), r.test_accuracy, r.skipped_steps, r.final_scale,
                        speed, memory);
  }
  std::vector<std::string> precisions;
  for (const RunResult& r : runs) {
    if (r.device == "cpu" && std::find(precisions.begin(), precisions.end(), r.precision) == precisions.end()) {
      precisions.push_back(r.precision);
    }
  }
  return text +
         "\nmemory MiB: peak of all tensors except the stored images. The last two columns are ratios to the same\n"
         "example in f32: higher speed is faster, lower memory is smaller.\n" +
         common::missing_arithmetic(precisions);
}

void write_json(const std::string& file, const std::vector<RunResult>& runs) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RunResult& r : runs) {
    rows.push_back({{"example", r.example},
                    {"precision", r.precision},
                    {"device", r.device},
                    {"processor", r.processor},
                    {"seconds_per_epoch", r.seconds_per_epoch},
                    {"images_per_second", r.images_per_second},
                    {"peak_bytes", r.peak_bytes},
                    {"test_accuracy", r.test_accuracy},
                    {"skipped_steps", r.skipped_steps},
                    {"final_scale", r.final_scale}});
  }
  std::ofstream out(file);
  out << nlohmann::ordered_json{{"runs", rows}}.dump(2) << '\n';
  if (!out) throw tandem::IoError("--json: cannot write " + file);
}

}  // namespace mnist
