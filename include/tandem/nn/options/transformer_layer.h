#pragma once
// Options of the layers of transformers.
#include <concepts>
#include <cstdint>
#include <functional>

#include "tandem/base/arg.h"
#include "tandem/nn/enum.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

/// The function between the two linear layers: kReLU, kGELU, or any function of a tensor.
class activation_t {
 public:
  using Function = std::function<Tensor(const Tensor&)>;
  /// Throws StateError unless it is kReLU.
  activation_t(init::Nonlinearity relu);
  activation_t(GELUActivation gelu);
  /// Throws StateError for an empty function.
  activation_t(Function function);
  template <class F>
  requires(!std::derived_from<std::remove_cvref_t<F>, activation_t> && std::is_invocable_r_v<Tensor, F&, const Tensor&>)
      activation_t(F function)
      : activation_t(Function(std::move(function))) {}

  bool is_relu() const noexcept { return is_relu_; }
  Tensor operator()(const Tensor& x) const { return function_(x); }

 private:
  bool is_relu_ = false;
  Function function_;
};

/// `TransformerEncoderLayerOptions(512, 8).dropout(0).activation(kGELU)`
struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  /// The features of input and output.
  TANDEM_ARG(int64_t, d_model);
  /// The number of heads.
  TANDEM_ARG(int64_t, nhead);
  /// The features between the two linear layers.
  TANDEM_ARG(int64_t, dim_feedforward) = 2048;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(activation_t, activation) = kReLU;
  TANDEM_ARG(double, layer_norm_eps) = 1e-5;
  /// Whether batches are [N, L, E] instead of [L, N, E].
  TANDEM_ARG(bool, batch_first) = false;
  /// Whether inputs of each part are normalised, instead of its sum with the input.
  TANDEM_ARG(bool, norm_first) = false;
};

using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

}  // namespace tandem::nn
#pragma GCC visibility pop
