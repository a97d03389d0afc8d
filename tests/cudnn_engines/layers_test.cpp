// The engines that cuDNN chooses for the layers of the benchmarks' networks and of ResNet, on described GPUs, and
// docs/cudnn_engines.md, which lists them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "cudnn_engines/described_devices.h"
#include "cudnn_engines/expectations.h"
#include "support/paths.h"
#include "tandem/backend.h"
#include "tandem/tandem.h"

namespace tandem::cuda::testing {
namespace {

struct Layer {
  const char* name;
  std::vector<int64_t> x, w;
  ConvParams params = {};
};

const std::vector<Layer>& layers() {
  static const std::vector<Layer> all{
      {"SimpleCNN 1", {64, 1, 28, 28}, {32, 1, 5, 5}},
      {"SimpleCNN 2", {64, 32, 12, 12}, {64, 32, 5, 5}},
      {"big CNN 1, batch 16", {16, 1, 28, 28}, {420, 1, 3, 3}, {.padding = {1, 1}}},
      {"big CNN 2, batch 16", {16, 420, 14, 14}, {1000, 420, 3, 3}, {.padding = {1, 1}}},
      {"big CNN 1, batch 590", {590, 1, 28, 28}, {420, 1, 3, 3}, {.padding = {1, 1}}},
      {"big CNN 2, batch 590", {590, 420, 14, 14}, {1000, 420, 3, 3}, {.padding = {1, 1}}},
      {"the same with 424 channels", {590, 424, 14, 14}, {1000, 424, 3, 3}, {.padding = {1, 1}}},
      {"ResNet 7x7", {64, 3, 224, 224}, {64, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
      {"ResNet 3x3", {64, 64, 56, 56}, {64, 64, 3, 3}, {.padding = {1, 1}}},
      {"ResNet 3x3, stride 2", {64, 128, 56, 56}, {128, 128, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
      {"ResNet 1x1", {64, 256, 28, 28}, {128, 256, 1, 1}}};
  return all;
}

enum class Work { forward, input_gradient, weight_gradient, weight_gradient_in_f32 };
constexpr Work kAllWork[] = {Work::forward, Work::input_gradient, Work::weight_gradient, Work::weight_gradient_in_f32};
constexpr const char* kWorkNames[] = {"forward with bias", "input gradient", "weight gradient",
                                      "weight gradient in f32"};

/// Does this work of the layer on the device, and returns the plans that were executed.
std::vector<Execution> executions_of(const Layer& layer, Work work, int device, DType dtype, bool channels_last) {
  const TensorOptions flat = TensorOptions(dtype).device(Device(kCUDA, device));
  const TensorOptions options = channels_last ? flat.memory_format(kChannelsLast) : flat;
  const ConvParams& p = layer.params;
  const auto side = [&](size_t d) { return (layer.x[d + 2] + 2 * p.padding[d] - layer.w[d + 2]) / p.stride[d] + 1; };
  const Tensor x = empty(layer.x, options), w = empty(layer.w, options),
               y = empty({layer.x[0], layer.w[0], side(0), side(1)}, options);
  const Backend& b = backend(kCUDA);
  executions().clear();
  switch (work) {
    case Work::forward:
      b.conv(y, x, w, empty({layer.w[0]}, flat), p, Activation::none);
      break;
    case Work::input_gradient:
      b.conv_backward_input(x, y, w, p);
      break;
    case Work::weight_gradient:
      b.conv_backward_weight(w, {}, y, x, p);
      break;
    case Work::weight_gradient_in_f32:
      b.conv_backward_weight(empty(layer.w, options.dtype(kFloat)), {}, y, x, p);
      break;
  }
  return executions();
}

/// Calls `visit` for every layer, kind of work and device.
void for_each(DType dtype, const std::function<void(const Layer&, Work, int device)>& visit) {
  for (const Layer& layer : layers()) {
    for (Work work : kAllWork) {
      if (work == Work::input_gradient && layer.x[1] <= 3) continue;  // nothing needs an image's gradient
      if (work == Work::weight_gradient_in_f32 && dtype == kFloat) continue;
      for (int device = 0; device < device_count(); ++device) visit(layer, work, device);
    }
  }
}

class CudnnEngines : public ::testing::TestWithParam<DType> {};

TEST_P(CudnnEngines, AreGoodForTheLayersOfTheBenchmarks) {
  for (bool channels_last : {false, true}) {
    for_each(GetParam(), [&](const Layer& layer, Work work, int device) {
      if (!multiplies(device, GetParam())) return;
      SCOPED_TRACE(fmt::format("{}, {}, {}, {}", layer.name, kWorkNames[static_cast<int>(work)],
                               described_devices()[static_cast<size_t>(device)],
                               channels_last ? "channels-last" : "row-major"));
      const std::vector<Execution> plans = executions_of(layer, work, device, GetParam(), channels_last);
      EXPECT_TRUE(plans.size() == 1 || (plans.empty() && work == Work::weight_gradient_in_f32));
      const bool few_channels = layer.w[1] < 8;
      for (const Execution& e : plans) expect_good(e, few_channels);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, CudnnEngines, ::testing::Values(kHalf, kBFloat16, kFloat),
                         [](const auto& info) { return std::string(name(info.param)); });

std::string cell(const Layer& layer, Work work, int device, DType dtype, bool channels_last) {
  if (!multiplies(device, dtype)) return "-";
  const std::vector<Execution> plans = executions_of(layer, work, device, dtype, channels_last);
  if (plans.empty()) return "columns";
  const Execution& e = plans[0];
  constexpr int64_t kMiB = int64_t{1} << 20;
  return fmt::format("{}{}{}, {}", e.engine, e.has_tensor_cores ? " T" : "", e.is_fallback ? " fallback" : "",
                     (e.workspace_bytes + kMiB - 1) / kMiB);
}

std::string cudnn_version() {
  const size_t v = cudnnGetVersion();
  return fmt::format("cuDNN {}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

std::string page() {
  std::string text = fmt::format(R"(# Engines of cuDNN

The engines that {} chooses for tandem's convolutions on five GPUs. cuDNN plans for a description of a GPU
(`tests/cuda/devices`); no GPU is involved, and nothing here is a measurement. A test asks the planner that is shipped,
and fails if this page is out of date; to write it again:

    TANDEM_UPDATE_DOCS=1 build/cuda/tests/cudnn_engines_test --gtest_filter='EnginesPage.*'

Each cell has the number of the engine, T if it uses tensor cores, and the workspace in MiB. "columns": matrix products
over columns ([cuda_products.md](cuda_products.md)). "-": a T4 does not multiply bf16. With fewer than 8 channels tensor
cores would mostly multiply padding, and the heuristic often chooses other engines.

)",
                                 cudnn_version());
  text += "| GPU | compute capability | multiprocessors |\n|---|---|---|\n";
  for (int device = 0; device < device_count(); ++device) {
    const DeviceProperties& p = get_device_properties(device);
    text += fmt::format("| {} | {}.{} | {} |\n", p.name, p.major, p.minor, p.multi_processor_count);
  }
  text += "\n| layer | images | weight | stride |\n|---|---|---|---|\n";
  for (const Layer& layer : layers()) {
    text += fmt::format("| {} | {} | {} | {} |\n", layer.name, to_string(layer.x), to_string(layer.w),
                        layer.params.stride[0]);
  }
  for (DType dtype : {kHalf, kBFloat16, kFloat}) {
    for (bool channels_last : {true, false}) {
      text +=
          fmt::format("\n## {}, {}\n\n| layer | work |", name(dtype), channels_last ? "channels-last" : "row-major");
      for (const std::string& device : described_devices()) text += " " + device + " |";
      text += "\n|---|---|";
      for (size_t i = 0; i < described_devices().size(); ++i) text += "---|";
      for_each(dtype, [&](const Layer& layer, Work work, int device) {
        if (device == 0) text += fmt::format("\n| {} | {} |", layer.name, kWorkNames[static_cast<int>(work)]);
        text += " " + cell(layer, work, device, dtype, channels_last) + " |";
      });
      text += "\n";
    }
  }
  return text;
}

TEST(EnginesPage, IsUpToDate) {
  const std::string path = tandem::testing::source_path("../docs/cudnn_engines.md");
  if (std::getenv("TANDEM_UPDATE_DOCS")) std::ofstream(path) << page();
  std::ifstream file(path);
  std::ostringstream actual;
  actual << file.rdbuf();
  if (actual.str().find(cudnn_version() + " ") == std::string::npos) {
    GTEST_SKIP() << "the page is about another version than " << cudnn_version();
  }
  EXPECT_TRUE(actual.str() == page()) << path << " is out of date; run this test with TANDEM_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tandem::cuda::testing
