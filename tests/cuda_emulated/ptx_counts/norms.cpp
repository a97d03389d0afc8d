// Ops over rows and channels: softmax, losses, norms and sums.
#include "cuda_emulated/ptx_counts/rows.h"
#include "tandem/tandem.h"

namespace tandem::ptx_counts {
namespace {

Tensor with_gradient(const Tensor& x) { return x.detach().clone().requires_grad_(true); }

}  // namespace

void add_rows(Report& report) {
  constexpr int64_t kRows = 256, kWidth = 1024;
  constexpr double kNumel = kRows * kWidth;
  const auto add = [&](const char* what, const char* kernel, double bytes, const std::function<void()>& body) {
    report.add(what, kernel, kNumel, {.bytes = bytes}, body);
  };
  const Tensor x = random({kRows, kWidth}, kHalf), residual = random({kRows, kWidth}, kFloat);
  add("softmax, f16", "", 4, [&] { softmax(x, -1); });
  const Tensor x_softmax = with_gradient(x);
  add("softmax, backward, f16", "", 6, backward(softmax(x_softmax, -1), {x_softmax}));
  constexpr int64_t kSamples = 32, kClasses = kRows * kWidth / kSamples;
  const Tensor logits = with_gradient(random({kSamples, kClasses}, kHalf));
  const Tensor target = randint(0, kClasses, {kSamples}, kLong), loss = cross_entropy(logits, target);
  add("cross_entropy, f16", "cross_entropy_rows", 2, [&] { cross_entropy(logits, target); });
  add("cross_entropy, backward, f16", "cross_entropy_backward_rows", 4,
      [&] { autograd::grad({loss}, {logits}, {}, /*retain_graph=*/true); });

  const Tensor weight = ones({kWidth}).requires_grad_(true), bias = zeros({kWidth}).requires_grad_(true);
  add("layer_norm, f16, f32 weight and bias", "", 4, [&] { layer_norm(x, {kWidth}, weight, bias); });
  add("add_layer_norm, f16 and f32, f32 weight and bias", "", 14,
      [&] { add_layer_norm(x, residual, {kWidth}, weight, bias); });
  const Tensor x_norm = with_gradient(x);
  const std::function<void()> norm_backward =
      backward(layer_norm(x_norm, {kWidth}, weight, bias), {x_norm, weight, bias});
  add("layer_norm, backward, gx, f16, f32 weight", "backward_rows", 6, norm_backward);
  add("layer_norm, backward, gweight and gbias, f16", "sum_columns", 4, norm_backward);

  add("sum of all, f32", "", 4, [&] { residual.sum(); });
  add("sum of rows, f16", "", 2, [&] { x.sum(-1); });
  add("sum of columns, f16", "", 2, [&] { x.sum(0); });
  add("mean of all, f16", "", 2, [&] { x.mean(); });
  add("mean of columns, f32", "", 4, [&] { residual.mean(0); });
  add("norm of all, f32", "", 4, [&] { residual.norm(); });
  add("var of columns, f32", "", 4, [&] { residual.var({0}); });
}

void add_batch_norm(Report& report) {
  constexpr int64_t kImages = 8, kChannels = 64, kSide = 32;
  constexpr double kNumel = kImages * kChannels * kSide * kSide;
  const auto add = [&](const std::string& what, const char* kernel, double bytes, const std::function<void()>& body) {
    report.add(what, kernel, kNumel, {.bytes = bytes}, body);
  };
  const Tensor weight = ones({kChannels}).requires_grad_(true), bias = zeros({kChannels}).requires_grad_(true);
  const Tensor mean = zeros({kChannels}), var = ones({kChannels});
  const auto norm = [&](const Tensor& x, bool training) { return batch_norm(x, weight, bias, mean, var, training); };
  for (const bool channels_last : {false, true}) {
    const std::string form = channels_last ? ", f16, channels-last" : ", f16";
    const char *const sum = channels_last ? "sum_columns" : "sum_channels", *const map = channels_last ? "map_columns"
                                                                                                       : "map_channels";
    const Tensor x = with_gradient(random({kImages, kChannels, kSide, kSide}, kHalf)
                                       .contiguous(channels_last ? kChannelsLast : MemoryFormat::Contiguous));
    add("batch_norm, statistics" + form, sum, 2, [&] { norm(x, true); });
    add("batch_norm, normalisation" + form, map, 4, [&] { norm(x, true); });
    const std::function<void()> norm_backward = backward(norm(x, true), {x, weight, bias});
    add("batch_norm, backward, sums" + form, sum, 4, norm_backward);
    add("batch_norm, backward, gx" + form, map, 6, norm_backward);
  }
}

}  // namespace tandem::ptx_counts
