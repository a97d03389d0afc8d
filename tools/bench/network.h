#pragma once
// The network whose training step is predicted and measured.
#include <tandem/nn/modules/container.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tools {

/// A matrix product [rows, inner] x [inner, columns], or the product that a convolution amounts to.
struct Product {
  int64_t rows, columns, inner;
  bool first = false;  ///< of the network: the gradient of its input is not needed

  /// Floating-point operations of the forward pass.
  double operations() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * inner); }
  /// The side of a cube of as many operations.
  double side() const;
};

/// An MLP with ReLU, or a CNN: 3x3 convolutions of padding 1, each with ReLU and 2x2 max pooling, and a linear layer.
struct NetworkShape {
  std::vector<int64_t> layers;                  ///< of the MLP: sizes of the input, the hidden layers and the output
  int64_t channels = 0, height = 0, width = 0;  ///< of the CNN's input
  std::vector<int64_t> filters;                 ///< output channels of the convolutions; empty for an MLP
  int64_t classes = 10;                         ///< outputs of the CNN
  int64_t batch = 128;

  bool is_cnn() const { return !filters.empty(); }
  int64_t outputs() const { return is_cnn() ? classes : layers.back(); }
  std::string description() const;
  std::vector<int64_t> input_sizes() const;
  std::vector<Product> products() const;
  /// Elements of all parameters, and of the results of all layers.
  int64_t parameters() const;
  int64_t activations() const;
  tandem::nn::Sequential make() const;
};

/// Parses "784,1024,1024,10". Throws StateError.
NetworkShape parse_layers(const std::string& text);
/// Parses "3x32x32:64,128": channels x height x width of the input, then the output channels. Throws StateError.
NetworkShape parse_conv(const std::string& text);

}  // namespace tools
