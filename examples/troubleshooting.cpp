// The three problems in PyTorch's AMP recipe: for each a broken program, the tool that finds the fault, and the fix.
// docs/troubleshooting.md explains the output. Source: "Automatic Mixed Precision", PyTorch tutorials.
#include <cmath>
#include <functional>
#include <iostream>

#include <tandem/amp/tools.h>

#include "toy.h"

using namespace tandem;

namespace {

struct Classifier : nn::Module {
  explicit Classifier(int64_t width) : fc1(64, width), fc2(width, width), fc3(width, 8) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
  }
  Tensor forward(const Tensor& x) { return fc3(relu(fc2(relu(fc1(x))))); }
  nn::Linear fc1, fc2, fc3;
};

/// Attention scores between the rows of x.
struct Attention : nn::Module {
  Attention() : query(64, 64), key(64, 64) {
    register_module("query", query);
    register_module("key", key);
  }
  Tensor scores(const Tensor& x, double scale) {
    const Tensor q = query(x) * scale, k = key(x);
    return matmul(q, k.t());
  }
  /// The same for a scale of 1, with the product in f32 within an autocast region.
  Tensor scores_in_f32(const Tensor& x) {
    const Tensor q = query(x), k = key(x);
    amp::AutocastGuard f32_here(x.device().type(), {}, /*enabled=*/false);
    return matmul(q.to(kFloat), k.to(kFloat).t());
  }
  nn::Linear query, key;
};

// ---- 1. Speedup with AMP is minor.

amp::OpCount count_ops(const char* title, int64_t width, int64_t batch, bool region_ends_early) {
  manual_seed(1);
  Classifier net(width);
  const Tensor x = randn({batch, 64}), y = randint(0, 8, {batch});
  std::cout << "-- " << title << '\n';
  amp::OpStats stats;
  std::optional<amp::AutocastGuard> autocast(std::in_place, toy::device().type());
  if (region_ends_early) autocast.reset();  // as at the end of too small a scope
  const Tensor loss = cross_entropy(net.forward(x), y);
  autocast.reset();
  loss.backward();
  std::cout << stats;
  return stats.total();
}

// The functions below return whether the tool shows the fault, and no fault after the fix.

bool speedup_is_minor(int64_t batch) {
  std::cout << "==== Speedup with AMP is minor\n";
  const auto broken = count_ops("broken: the region ends before the network runs", 1021, batch, true);
  const auto odd =
      count_ops("the network is inside the region, but its width is not a multiple of 8", 1021, batch, false);
  const auto fixed = count_ops("fixed: a width that is a multiple of 8", 1024, batch, false);
  return broken.casts == 0 && odd.casts > 0 && odd.odd_products > 0 && fixed.odd_products == 0;
}

// ---- 2. The loss is inf or NaN.

double attend(const std::function<Tensor()>& scores, const amp::OverflowFinder& finder) {
  amp::AutocastGuard autocast(toy::device().type(), kHalf);
  const Tensor loss = softmax(scores(), -1).square().sum();
  if (finder.found()) std::cout << *finder.found();
  return loss.item<double>();
}

bool loss_is_nan(int64_t batch) {
  std::cout << "==== Loss is inf/NaN\n";
  manual_seed(2);
  Attention net;
  const Tensor x = randn({batch, 64}) * 200;
  std::cout << "-- broken: products of queries and keys exceed f16's range\n";
  double broken;
  {
    amp::OverflowFinder finder(net);
    broken = attend([&] { return net.scores(x, 1); }, finder);
    std::cout << "loss is NaN: " << std::boolalpha << std::isnan(broken) << '\n';
  }
  std::cout << "-- the same scores in an f32 region\n";
  NoGradGuard no_grad;
  std::cout << amp::check_numerics(net.scores(x, 1));
  std::cout << "-- fixed: queries are scaled before the product, not after it\n";
  const double scale = 1 / std::sqrt(64.0);
  amp::OverflowFinder finder(net);
  const double fixed = attend([&] { return net.scores(x, scale); }, finder);
  std::cout << "loss " << fixed << '\n';
  std::cout << "-- also fixed: the product in an f32 island\n";
  const double island = attend([&] { return net.scores_in_f32(x); }, finder);
  std::cout << "loss " << island << '\n';
  std::cout << "-- the f16 run compared with an f32 run\n";
  std::cout << amp::compare_accuracy([&] { static_cast<void>(softmax(net.scores(x, scale), -1)); },
                                     [&] {
                                       amp::AutocastGuard autocast(toy::device().type(), kHalf);
                                       static_cast<void>(softmax(net.scores(x, scale), -1));
                                     });
  return std::isnan(broken) && std::isfinite(fixed) && std::isfinite(island) && !finder.found();
}

// ---- 3. Type mismatch.

bool type_mismatch(int64_t batch) {
  std::cout << "==== Type mismatch error\n";
  manual_seed(3);
  nn::Linear encoder(64, 64);
  const Tensor x = randn({batch, 64}), head = randn({64, 8});
  const auto run = [&](bool convert) {
    Tensor h;
    {
      amp::AutocastGuard autocast(toy::device().type());
      h = encoder(x);
    }
    if (convert) h = h.to(kFloat);
    static_cast<void>(mm(h, head));
  };
  const amp::Explanations broken = amp::explain([&] { run(false); }), fixed = amp::explain([&] { run(true); });
  std::cout << "-- broken: a result of the region is multiplied by f32 outside it\n" << broken;
  std::cout << "-- fixed: converted to f32 where it leaves the region\n" << fixed;
  amp::AutocastGuard autocast(toy::device().type());
  std::cout << "-- or mm inside the region\n" << amp::explain("mm", kBFloat16, kFloat);
  return !broken.error.empty() && fixed.error.empty();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t batch = toy::Arguments(argc, argv).quick ? 16 : 512;
  const bool seen[] = {speedup_is_minor(batch), loss_is_nan(batch), type_mismatch(batch)};
  return seen[0] && seen[1] && seen[2] ? 0 : 1;
}
