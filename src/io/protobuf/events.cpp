// The events, through Protocol Buffers.
#include "src/io/events.h"

#include <utility>

#include "src/io/protobuf/event.pb.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

board::Event new_event(double wall_time, int64_t step) {
  board::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  return event;
}

board::Summary::Value* new_value(board::Event& event, const std::string& tag) {
  check_tag(tag);
  board::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag(tag);
  return value;
}

std::string version(double wall_time) {
  board::Event event = new_event(wall_time, 0);
  event.set_file_version("brain.Event:2");
  return event.SerializeAsString();
}

std::string restart(double wall_time, int64_t step) {
  board::Event event = new_event(wall_time, step);
  event.mutable_session_log()->set_status(board::SessionLog::START);
  return event.SerializeAsString();
}

std::string scalars(double wall_time, int64_t step, const TaggedNumbers& scalars) {
  board::Event event = new_event(wall_time, step);
  event.mutable_summary();
  for (const auto& [tag, number] : scalars) new_value(event, tag)->set_simple_value(static_cast<float>(number));
  return event.SerializeAsString();
}

std::string histogram(double wall_time, int64_t step, const std::string& tag, const Histogram& histogram) {
  board::Event event = new_event(wall_time, step);
  board::HistogramProto* to = new_value(event, tag)->mutable_histo();
  to->set_min(histogram.min);
  to->set_max(histogram.max);
  to->set_num(histogram.num);
  to->set_sum(histogram.sum);
  to->set_sum_squares(histogram.sum_squares);
  to->mutable_bucket_limit()->Add(histogram.limits.begin(), histogram.limits.end());
  to->mutable_bucket()->Add(histogram.counts.begin(), histogram.counts.end());
  return event.SerializeAsString();
}

std::string text(double wall_time, int64_t step, const std::string& tag, const std::string& text) {
  board::Event event = new_event(wall_time, step);
  board::Summary::Value* value = new_value(event, tag);
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  board::TensorProto* tensor = value->mutable_tensor();
  tensor->set_dtype(board::DT_STRING);
  tensor->mutable_tensor_shape()->add_dim()->set_size(1);
  tensor->add_string_val(text);
  return event.SerializeAsString();
}

std::string image(double wall_time, int64_t step, const std::string& tag, int height, int width, int channels,
                  std::string png) {
  board::Event event = new_event(wall_time, step);
  board::Summary::Image* image = new_value(event, tag)->mutable_image();
  image->set_height(height);
  image->set_width(width);
  image->set_colorspace(channels);
  image->set_encoded_image_string(std::move(png));
  return event.SerializeAsString();
}

std::string graph(double wall_time, const std::vector<GraphNode>& graph) {
  board::GraphDef all;
  all.mutable_versions()->set_producer(22);  // as PyTorch writes; TensorBoard does not interpret it
  for (const GraphNode& from : graph) {
    board::NodeDef* node = all.add_node();
    node->set_name(from.name);
    node->set_op(from.op);
    for (const std::string& input : from.inputs) node->add_input(input);
    // TensorBoard writes the shapes at the edges.
    board::AttrValue::ListValue* shapes = (*node->mutable_attr())["_output_shapes"].mutable_list();
    for (const std::vector<int64_t>& sizes : from.shapes) {
      board::TensorShapeProto* shape = shapes->add_shape();
      for (const int64_t size : sizes) shape->add_dim()->set_size(size);
    }
  }
  board::Event event = new_event(wall_time, 0);
  event.set_graph_def(all.SerializeAsString());
  return event.SerializeAsString();
}

std::optional<double> scalar_of(const std::string& event, const std::string& tag) {
  board::Event parsed;
  TANDEM_CHECK(parsed.ParseFromString(event), IoError, "a record is not an event of TensorBoard; use another file");
  for (const board::Summary::Value& value : parsed.summary().value()) {
    if (value.tag() == tag && value.value_case() == board::Summary::Value::kSimpleValue) return value.simple_value();
  }
  return std::nullopt;
}

constexpr EventFormat format = {version, restart, scalars, histogram, text, image, graph, scalar_of};
const Provide provider(event_format, &format);

}  // namespace
}  // namespace tandem::io
