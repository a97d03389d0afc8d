#include "tools/bench/network.h"

#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/nn/modules/conv.h>
#include <tandem/nn/modules/linear.h>
#include <tandem/nn/modules/pool.h>
#include <tandem/ops/activation.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace tools {
namespace {

constexpr int64_t kLargest = int64_t{1} << 20;  // of one size: products of a few of them must not overflow

/// Returns the positive integers between the separators; nothing if the text is something else.
std::optional<std::vector<int64_t>> numbers(std::string_view text, char separator) {
  std::vector<int64_t> result;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > kLargest) return std::nullopt;
    result.push_back(number);
    if (stop == end) return result;
    if (*stop != separator) return std::nullopt;
    at = stop;
  }
}

std::string list(const std::vector<int64_t>& values, const char* separator) {
  std::string text;
  for (const int64_t value : values) text += fmt::format("{}{}", text.empty() ? "" : separator, value);
  return text;
}

}  // namespace

double Product::side() const { return std::cbrt(operations() / 2); }

std::string NetworkShape::description() const {
  if (!is_cnn()) return fmt::format("MLP {}, batch {}", list(layers, "-"), batch);
  return fmt::format("CNN {}x{}x{}, 3x3 convolutions to {} channels, {} classes, batch {}", channels, height, width,
                     list(filters, ", "), classes, batch);
}

std::vector<int64_t> NetworkShape::input_sizes() const {
  if (is_cnn()) return {batch, channels, height, width};
  return {batch, layers[0]};
}

std::vector<Product> NetworkShape::products() const {
  std::vector<Product> result;
  if (!is_cnn()) {
    for (size_t i = 1; i < layers.size(); ++i) result.push_back({batch, layers[i], layers[i - 1], i == 1});
    return result;
  }
  int64_t c = channels, h = height, w = width;
  for (const int64_t out : filters) {
    result.push_back({batch * h * w, out, 9 * c, result.empty()});
    c = out;
    h /= 2;
    w /= 2;
  }
  result.push_back({batch, classes, c * h * w});
  return result;
}

int64_t NetworkShape::parameters() const {
  int64_t sum = 0;
  for (const Product& p : products()) sum += p.columns * (p.inner + 1);
  return sum;
}

int64_t NetworkShape::activations() const {
  int64_t sum = 0;
  for (const Product& p : products()) sum += p.rows * p.columns;
  return sum;
}

tandem::nn::Sequential NetworkShape::make() const {
  namespace nn = tandem::nn;
  nn::Sequential net;
  const auto relu = [] { return nn::Functional([](const tandem::Tensor& x) { return tandem::relu(x); }); };
  if (!is_cnn()) {
    for (size_t i = 1; i < layers.size(); ++i) {
      if (i > 1) net->push_back(relu());
      net->push_back(nn::Linear(layers[i - 1], layers[i]));
    }
    return net;
  }
  int64_t in = channels, h = height, w = width;
  for (const int64_t out : filters) {
    net->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)));
    net->push_back(relu());
    net->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2)));
    in = out;
    h /= 2;
    w /= 2;
  }
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(in * h * w, classes));
  return net;
}

NetworkShape parse_layers(const std::string& text) {
  const auto sizes = numbers(text, ',');
  if (!sizes || sizes->size() < 2) {
    throw tandem::StateError(fmt::format(
        "--layers {}: not the sizes of layers; give at least two positive numbers, as in --layers 784,1024,10", text));
  }
  NetworkShape shape;
  shape.layers = *sizes;
  return shape;
}

NetworkShape parse_conv(const std::string& text) {
  const size_t colon = text.find(':');
  const auto input = numbers(std::string_view(text).substr(0, colon), 'x');
  const auto filters = colon == text.npos ? std::nullopt : numbers(std::string_view(text).substr(colon + 1), ',');
  if (!input || input->size() != 3 || !filters) {
    throw tandem::StateError(
        fmt::format("--conv {}: not a CNN; give channels x height x width of the images and the "
                    "channels of the convolutions, as in --conv 3x32x32:64,128",
                    text));
  }
  NetworkShape shape;
  shape.channels = (*input)[0];
  shape.height = (*input)[1];
  shape.width = (*input)[2];
  shape.filters = *filters;
  const size_t halvings = filters->size();
  if (halvings >= 20 || std::min(shape.height, shape.width) >> halvings < 1) {
    throw tandem::StateError(
        fmt::format("--conv {}: {} poolings by 2 leave nothing of {}x{} images; give fewer "
                    "convolutions or larger images",
                    text, halvings, shape.height, shape.width));
  }
  return shape;
}

}  // namespace tools
