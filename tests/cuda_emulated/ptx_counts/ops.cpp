// Elementwise ops, pooling and indices.
#include "cuda_emulated/ptx_counts/rows.h"
#include "tandem/tandem.h"

namespace tandem::ptx_counts {

Tensor random(IntArrayRef sizes, DType dtype) { return randn(sizes).to(dtype); }

std::function<void()> backward(const Tensor& y, const std::vector<Tensor>& inputs) {
  const Tensor gy = random(y.sizes(), y.dtype()).contiguous(y.suggest_memory_format());
  return [=] { autograd::grad({y}, inputs, {gy}, /*retain_graph=*/true); };
}

namespace {

/// The backward pass of f(x).
std::function<void()> backward_of(const std::function<Tensor(const Tensor&)>& f, Tensor x) {
  x.requires_grad_(true);
  return backward(f(x), {x});
}

}  // namespace

void add_elementwise(Report& report) {
  constexpr int64_t kSide = 512;
  constexpr double kNumel = kSide * kSide;
  const Tensor a = random({kSide, kSide}, kHalf), b = random({kSide, kSide}, kHalf);
  const Tensor c = random({kSide, kSide}, kFloat), d = random({kSide, kSide}, kFloat);
  const auto add = [&](const char* what, double bytes, const std::function<void()>& body) {
    report.add(what, "", kNumel, {.bytes = bytes}, body);
  };
  add("add, f16", 6, [&] { a.add(b); });
  add("add, f32", 12, [&] { c.add(d); });
  add("relu, f16", 4, [&] { relu(a); });
  add("gelu, f16", 4, [&] { gelu(a); });
  add("gelu, backward, f16", 6, backward_of([](const Tensor& x) { return gelu(x); }, a.clone()));
  add("dropout, f16", 5, [&] { dropout(a, 0.1, true); });
  add("dropout, backward, f16", 5, backward_of([](const Tensor& x) { return dropout(x, 0.1, true); }, a.clone()));
  add("cast f32 to f16", 6, [&] { c.to(kHalf); });
  add("cast f16 to f32", 6, [&] { a.to(kFloat); });
  add("transposed copy, f16", 4, [&] { a.t().contiguous(); });
  add("transposed copy, f32", 8, [&] { c.t().contiguous(); });
  add("fill, f32", 4, [&] { c.zero_(); });
  // The masters of a model's parameters, of several sizes.
  std::vector<Tensor> masters, copies;
  double numel = 0;
  for (const int64_t width : {1000, 4096, 64 * 64, 256 * 256, 3 * 3 * 64 * 64}) {
    masters.push_back(random({width}, kFloat));
    copies.push_back(masters.back().to(kHalf));
    numel += static_cast<double>(width);
  }
  report.add("casts of many f32 tensors to f16", "", numel, {.bytes = 6},
             [&] { backend(kCUDA).copy_list(copies, masters); });
}

void add_pools(Report& report) {
  constexpr int64_t kImages = 4, kChannels = 32, kSide = 32;
  const Tensor x = random({kImages, kChannels, kSide, kSide}, kHalf);
  const auto add = [&](const std::string& name, const Tensor& images, int64_t window, int64_t stride, int64_t padding) {
    const auto pool = [=](const Tensor& in) { return max_pool2d(in, {window}, {stride}, {padding}); };
    const double outputs = static_cast<double>(pool(images).numel()), inputs = static_cast<double>(images.numel());
    // The output has 2 bytes, its index in the window 1.
    const Least least{.bytes = (2 * inputs + 3 * outputs) / outputs};
    report.add(name + ", per output", "", outputs, least, [&, recorded = images.detach().requires_grad_(true)] {
      pool(recorded);  // indices are kept only for a backward pass
    });
    report.add(name + ", backward, per output", "", outputs, least, backward_of(pool, images.detach()));
  };
  add("max_pool2d 2x2, f16", x, 2, 2, 0);
  add("max_pool2d 2x2, f16, channels-last", x.contiguous(kChannelsLast), 2, 2, 0);
  add("max_pool2d 3x3, stride 2, f16", x, 3, 2, 1);
  add("max_pool2d 3x3, stride 2, f16, channels-last", x.contiguous(kChannelsLast), 3, 2, 1);
  const double inputs = static_cast<double>(x.numel());
  const auto mean = [](const Tensor& in) { return adaptive_avg_pool2d(in, {1, 1}); };
  report.add("adaptive_avg_pool2d to 1x1, f16, per input", "", inputs, {.bytes = 2}, [&] { mean(x); });
  report.add("adaptive_avg_pool2d to 1x1, backward, f16, per input", "", inputs, {.bytes = 2},
             backward_of(mean, x.detach()));
}

void add_indices(Report& report) {
  constexpr int64_t kVocabulary = 1000, kTokens = 1024, kWidth = 256;
  const Tensor weight = random({kVocabulary, kWidth}, kHalf), masters = random({kVocabulary, kWidth}, kFloat);
  const Tensor words = randint(0, kVocabulary, {kTokens}, kLong);
  constexpr double kNumel = kTokens * kWidth, kWord = 8.0 / kWidth;
  constexpr double kRows = static_cast<double>(kVocabulary) / kTokens;  // of the weight, for each token
  report.add("index_select, f16, whole rows", "", kNumel, {.bytes = 4 + kWord},
             [&] { index_select(weight, 0, words); });
  report.add("embedding, f32, whole rows", "", kNumel, {.bytes = 8 + kWord}, [&] { embedding(masters, words); });
  const auto look_up = [&](const Tensor& table) { return embedding(table, words); };
  report.add("embedding, backward, f16, whole rows", "", kNumel, {.bytes = 2 + 2 * kRows + kWord},
             backward_of(look_up, weight.clone()));
  report.add("embedding, backward, f32, whole rows", "", kNumel, {.bytes = 4 + 4 * kRows + kWord},
             backward_of(look_up, masters.clone()));
}

}  // namespace tandem::ptx_counts
