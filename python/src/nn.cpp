// nn.functional and nn.init. The layers are in python/tandem/nn.
#include "bridge.h"
#include "tandem/base/error.h"
#include "tandem/nn/functional.h"
#include "tandem/nn/init.h"
#include "tandem/nn/utils.h"
#include "tandem/ops/ops.h"

namespace tandem::python {
namespace {

using OptionalTensor = std::optional<Tensor>;

LossReduction reduction_from(const char* op, const std::string& name) {
  if (name == "mean") return LossReduction::Mean;
  if (name == "sum") return LossReduction::Sum;
  if (name == "none") return LossReduction::None;
  throw StateError(op, "reduction = '" + name + "'; it must be 'mean', 'sum' or 'none'");
}

void bind_activations(nb::module_& f) {
  f.def(
      "relu", [](const Tensor& x) { return relu(x); }, "input"_a, Unlocked());
  f.def(
      "sigmoid", [](const Tensor& x) { return sigmoid(x); }, "input"_a, Unlocked());
  f.def(
      "tanh", [](const Tensor& x) { return tanh(x); }, "input"_a, Unlocked());
  f.def(
      "silu", [](const Tensor& x) { return silu(x); }, "input"_a, Unlocked());
  f.def(
      "gelu", [](const Tensor& x, const std::string& approximate) { return gelu(x, approximate); }, "input"_a,
      "approximate"_a = "none", Unlocked());
  f.def(
      "leaky_relu", [](const Tensor& x, double slope) { return leaky_relu(x, slope); }, "input"_a,
      "negative_slope"_a = 0.01, Unlocked());
  f.def(
      "softmax", [](const Tensor& x, int64_t dim, std::optional<DType> t) { return softmax(x, dim, t); }, "input"_a,
      "dim"_a, "dtype"_a = nb::none(), Unlocked());
  f.def(
      "log_softmax", [](const Tensor& x, int64_t dim, std::optional<DType> t) { return log_softmax(x, dim, t); },
      "input"_a, "dim"_a, "dtype"_a = nb::none(), Unlocked());
  f.def(
      "dropout", [](const Tensor& x, double p, bool training) { return dropout(x, p, training); }, "input"_a,
      "p"_a = 0.5, "training"_a = true, Unlocked());
}

void bind_layers(nb::module_& f) {
  f.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, const OptionalTensor& bias) {
        return linear(x, weight, value_or_undefined(bias));
      },
      "input"_a, "weight"_a, "bias"_a = nb::none(), Unlocked());
#define TANDEM_CONV(NAME)                                                                                              \
  f.def(                                                                                                               \
      #NAME,                                                                                                           \
      [](const Tensor& x, const Tensor& weight, const OptionalTensor& bias, const Dims& stride, const Dims& padding,   \
         const Dims& dilation,                                                                                         \
         int64_t groups) { return NAME(x, weight, value_or_undefined(bias), stride, padding, dilation, groups); },     \
      "input"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1, "groups"_a = 1, \
      Unlocked());
  TANDEM_CONV(conv1d)
  TANDEM_CONV(conv2d)
  TANDEM_CONV(conv3d)
#undef TANDEM_CONV
  f.def(
      "max_pool2d",
      [](const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
         const Dims& dilation, bool ceil_mode) {
        return max_pool2d(x, kernel_size, stride ? IntArrayRef(*stride) : IntArrayRef(), padding, dilation, ceil_mode);
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "dilation"_a = 1, "ceil_mode"_a = false,
      Unlocked());
  f.def(
      "avg_pool2d",
      [](const Tensor& x, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding) {
        return avg_pool2d(x, kernel_size, stride ? IntArrayRef(*stride) : IntArrayRef(), padding);
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, Unlocked());
  f.def(
      "adaptive_avg_pool2d", [](const Tensor& x, const Dims& size) { return adaptive_avg_pool2d(x, size); }, "input"_a,
      "output_size"_a, Unlocked());
  f.def(
      "layer_norm",
      [](const Tensor& x, const Dims& shape, const OptionalTensor& weight, const OptionalTensor& bias, double eps) {
        return layer_norm(x, shape, value_or_undefined(weight), value_or_undefined(bias), eps);
      },
      "input"_a, "normalized_shape"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5, Unlocked());
  f.def(
      "batch_norm",
      [](const Tensor& x, const OptionalTensor& mean, const OptionalTensor& var, const OptionalTensor& weight,
         const OptionalTensor& bias, bool training, double momentum, double eps) {
        return batch_norm(x, value_or_undefined(weight), value_or_undefined(bias), value_or_undefined(mean),
                          value_or_undefined(var), training, momentum, eps);
      },
      "input"_a, "running_mean"_a.none(), "running_var"_a.none(), "weight"_a = nb::none(), "bias"_a = nb::none(),
      "training"_a = false, "momentum"_a = 0.1, "eps"_a = 1e-5, Unlocked());
  f.def(
      "embedding",
      [](const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx) {
        if (!padding_idx) return embedding(weight, input);
        const int64_t rows = weight.size(0);
        return embedding(weight, input, *padding_idx < 0 ? *padding_idx + rows : *padding_idx);
      },
      "input"_a, "weight"_a, "padding_idx"_a = nb::none(), Unlocked());
  f.def(
      "scaled_dot_product_attention",
      [](const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double dropout_p,
         bool is_causal, std::optional<double> scale, bool enable_gqa) {
        return scaled_dot_product_attention(query, key, value, value_or_undefined(mask), dropout_p, is_causal, scale,
                                            enable_gqa);
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a = nb::none(), "dropout_p"_a = 0.0, "is_causal"_a = false,
      nb::kw_only(), "scale"_a = nb::none(), "enable_gqa"_a = false, Unlocked());
  f.def(
      "one_hot", [](const Tensor& x, int64_t classes) { return one_hot(x, classes); }, "input"_a, "num_classes"_a = -1,
      Unlocked());
  f.def(
      "pad",
      [](const Tensor& x, const Dims& sizes, const std::string& mode, double value) {
        return pad(x, sizes, mode, value);
      },
      "input"_a, "pad"_a, "mode"_a = "constant", "value"_a = 0.0, Unlocked());
}

void bind_losses(nb::module_& f) {
  f.def(
      "cross_entropy",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t ignore_index,
         const std::string& reduction, double label_smoothing) {
        return cross_entropy(x, target, value_or_undefined(weight), reduction_from("cross_entropy", reduction),
                             ignore_index, label_smoothing);
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100, "reduction"_a = "mean",
      "label_smoothing"_a = 0.0, Unlocked());
  f.def(
      "nll_loss",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, int64_t ignore_index,
         const std::string& reduction) {
        return nll_loss(x, target, value_or_undefined(weight), reduction_from("nll_loss", reduction), ignore_index);
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100, "reduction"_a = "mean",
      Unlocked());
#define TANDEM_LOSS(NAME)                                                       \
  f.def(                                                                        \
      #NAME,                                                                    \
      [](const Tensor& x, const Tensor& target, const std::string& reduction) { \
        return NAME(x, target, reduction_from(#NAME, reduction));               \
      },                                                                        \
      "input"_a, "target"_a, nb::kw_only(), "reduction"_a = "mean", Unlocked());
  TANDEM_LOSS(mse_loss)
  TANDEM_LOSS(l1_loss)
  TANDEM_LOSS(smooth_l1_loss)
  TANDEM_LOSS(huber_loss)
#undef TANDEM_LOSS
  f.def(
      "binary_cross_entropy_with_logits",
      [](const Tensor& x, const Tensor& target, const OptionalTensor& weight, const OptionalTensor& pos_weight,
         const std::string& reduction) {
        return binary_cross_entropy_with_logits(x, target, value_or_undefined(weight), value_or_undefined(pos_weight),
                                                reduction_from("binary_cross_entropy_with_logits", reduction));
      },
      "input"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "pos_weight"_a = nb::none(),
      "reduction"_a = "mean", Unlocked());
}

/// In place, like PyTorch's. The result is the same object.
void bind_init(nb::module_& init) {
#define TANDEM_INIT_WITH(NAME, PARAMETER, DEFAULT)                                                               \
  init.def(                                                                                                      \
      #NAME, [](Tensor& x, double PARAMETER) -> Tensor& { return nn::init::NAME(x, PARAMETER), x; }, "tensor"_a, \
      #PARAMETER##_a = DEFAULT, nb::rv_policy::none, Unlocked());
  TANDEM_INIT_WITH(xavier_uniform_, gain, 1.0)
  TANDEM_INIT_WITH(xavier_normal_, gain, 1.0)
  TANDEM_INIT_WITH(kaiming_uniform_, a, 0.0)
  TANDEM_INIT_WITH(kaiming_normal_, a, 0.0)
  TANDEM_INIT_WITH(orthogonal_, gain, 1.0)
#undef TANDEM_INIT_WITH
  init.def(
      "uniform_", [](Tensor& x, double a, double b) -> Tensor& { return nn::init::uniform_(x, a, b), x; }, "tensor"_a,
      "a"_a = 0.0, "b"_a = 1.0, nb::rv_policy::none, Unlocked());
  init.def(
      "normal_", [](Tensor& x, double mean, double std) -> Tensor& { return nn::init::normal_(x, mean, std), x; },
      "tensor"_a, "mean"_a = 0.0, "std"_a = 1.0, nb::rv_policy::none, Unlocked());
  init.def(
      "constant_", [](Tensor& x, Scalar value) -> Tensor& { return nn::init::constant_(x, value), x; }, "tensor"_a,
      "val"_a, nb::rv_policy::none, Unlocked());
  init.def(
      "zeros_", [](Tensor& x) -> Tensor& { return nn::init::zeros_(x), x; }, "tensor"_a, nb::rv_policy::none);
  init.def(
      "ones_", [](Tensor& x) -> Tensor& { return nn::init::ones_(x), x; }, "tensor"_a, nb::rv_policy::none);
}

std::vector<Tensor> parameters_from(nb::handle parameters) {
  if (nb::isinstance<Tensor>(parameters)) return {nb::cast<Tensor>(parameters)};
  return tensors_from(parameters);
}

void bind_utils(nb::module_& utils) {
  utils.def(
      "clip_grad_norm_",
      [](nb::handle parameters, double max_norm, double norm_type) {
        const std::vector<Tensor> tensors = parameters_from(parameters);
        const nb::gil_scoped_release unlocked;
        return nn::utils::clip_grad_norm_(tensors, max_norm, norm_type);
      },
      "parameters"_a, "max_norm"_a, "norm_type"_a = 2.0, "Scales gradients so that their norm is at most max_norm.");
  utils.def(
      "clip_grad_value_",
      [](nb::handle parameters, double clip_value) {
        const std::vector<Tensor> tensors = parameters_from(parameters);
        const nb::gil_scoped_release unlocked;
        nn::utils::clip_grad_value_(tensors, clip_value);
      },
      "parameters"_a, "clip_value"_a, "Limits the elements of gradients to [-clip_value, clip_value].");
}

}  // namespace

void bind_nn(nb::module_& m) {
  nb::module_ functional = m.def_submodule("functional");
  nb::module_ init = m.def_submodule("init");
  bind_activations(functional);
  bind_layers(functional);
  bind_losses(functional);
  bind_init(init);
  nb::module_ utils = m.def_submodule("utils");
  bind_utils(utils);
}

}  // namespace tandem::python
