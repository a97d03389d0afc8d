#pragma once
// The records of TensorBoard's event files, which the component tandem::io serializes with Protocol Buffers. Internal.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/component.h"

namespace tandem::io {

/// A HistogramProto: counts[i] elements are from limits[i - 1] on and below limits[i].
struct Histogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> limits, counts;
};

/// A node of a graph: an op or a leaf.
struct GraphNode {
  std::string name, op;
  std::vector<std::string> inputs;           // names of nodes; "name:1" for an output other than the first
  std::vector<std::vector<int64_t>> shapes;  // of the outputs
};

using TaggedNumbers = std::vector<std::pair<std::string, double>>;

/// Throws StateError for a tag that is empty or not UTF-8: readers refuse the whole file.
TANDEM_FOR_COMPONENTS void check_tag(const std::string& tag);

/// The time in seconds since 1970.
double wall_time_now();

/// The functions that serialize events and parse them.
struct EventFormat {
  /// The first event of each file.
  std::string (*version)(double wall_time);
  /// Makes TensorBoard drop the run's earlier events from `step` on.
  std::string (*restart)(double wall_time, int64_t step);
  /// Scalars of one step. Files hold them as f32.
  std::string (*scalars)(double wall_time, int64_t step, const TaggedNumbers& scalars);
  std::string (*histogram)(double wall_time, int64_t step, const std::string& tag, const Histogram& histogram);
  std::string (*text)(double wall_time, int64_t step, const std::string& tag, const std::string& text);
  std::string (*image)(double wall_time, int64_t step, const std::string& tag, int height, int width, int channels,
                       std::string png);
  std::string (*graph)(double wall_time, const std::vector<GraphNode>& graph);
  /// Returns a scalar of an event; nothing if it does not have one with this tag.
  std::optional<double> (*scalar_of)(const std::string& event, const std::string& tag);
};
TANDEM_FOR_COMPONENTS extern const EventFormat* event_format;
/// Returns *event_format. Throws NotImplementedError in a program without it.
const EventFormat& events();

}  // namespace tandem::io
