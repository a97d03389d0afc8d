// Absurd calls: sizes that overflow, negative and huge numbers, undefined tensors, mismatched dtypes, empty lists.
// Each call must return a value or throw a tandem::Error: no signal, no other exception, no endless loop.
#include <sstream>

#include "soak/absurd_arguments.h"
#include "soak/soak.h"
#include "support/callable.h"
#include "tandem/autograd/engine.h"
#include "tandem/data/data.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"
#include "tandem/tensor/print.h"

namespace tandem::testing {
namespace {

/// Gives the tensors that require gradients some.
std::vector<Tensor> with_gradients(std::vector<Tensor> tensors) {
  for (const Tensor& x : tensors) {
    if (x.defined() && x.requires_grad()) x.mutable_grad() = ones_like(x);
  }
  return tensors;
}

using Results = std::vector<Tensor>;
struct Call {
  const char* name;
  Callable<Results(Draw&)> run;
};

// One call per line.
// clang-format off
/// Arguments whose order of evaluation would be unspecified are drawn into variables first.
#define TANDEM_CALL(NAME, ...)                   \
  {                                              \
    NAME, [](Draw& d) -> Results { __VA_ARGS__ } \
  }
Results both(std::tuple<Tensor, Tensor> pair) { return {std::get<0>(pair), std::get<1>(pair)}; }
LossReduction reduction(Draw& d) { return static_cast<LossReduction>(d.below(3)); }

const std::vector<Call>& shape_calls() {
  static const std::vector<Call> calls {
    TANDEM_CALL("view", auto x = d.view(); return {view(x, d.integers())};),
        TANDEM_CALL("reshape", auto x = d.view(); return {reshape(x, d.integers())};),
        TANDEM_CALL("flatten", auto x = d.view(); auto a = d.integer(); return {flatten(x, a, d.integer())};),
        TANDEM_CALL("transpose", auto x = d.view(); auto a = d.integer(); return {transpose(x, a, d.integer())};),
        TANDEM_CALL("permute", auto x = d.view(); return {permute(x, d.integers())};),
        TANDEM_CALL("squeeze", auto x = d.view(); return {squeeze(x, d.integer())};),
        TANDEM_CALL("unsqueeze", auto x = d.view(); return {unsqueeze(x, d.integer())};),
        TANDEM_CALL("expand", auto x = d.view(); return {expand(x, d.integers())};),
        TANDEM_CALL("select", auto x = d.view(); auto a = d.integer(); return {select(x, a, d.integer())};),
        TANDEM_CALL("narrow", auto x = d.view(); auto a = d.integer(); auto b = d.integer();
                    return {narrow(x, a, b, d.integer())};),
        TANDEM_CALL("slice", auto x = d.view(); auto a = d.integer(); auto b = d.integer(); auto c = d.integer();
                    return {slice(x, a, b, c, d.integer())};),
        TANDEM_CALL("as_strided", auto x = d.view(); auto a = d.integers(); auto b = d.integers();
                    return {as_strided(x, a, b, d.integer())};),
        TANDEM_CALL("as_strided_scatter", auto x = d.tensor(); auto y = d.tensor(); auto a = d.integers();
                    auto b = d.integers(); return {as_strided_scatter(x, y, a, b, d.integer())};),
        TANDEM_CALL("cat", auto x = d.tensors(); return {cat(x, d.integer())};),
        TANDEM_CALL("stack", auto x = d.tensors(); return {stack(x, d.integer())};),
        TANDEM_CALL("chunk", auto x = d.view(); auto a = d.integer(); return chunk(x, a, d.integer());),
        TANDEM_CALL("empty", auto a = d.integers(); return {empty(a, d.dtype())};),
        TANDEM_CALL("full", auto a = d.integers(); auto v = d.scalar(); return {full(a, v, d.dtype())};),
        TANDEM_CALL("empty_strided", auto a = d.integers(); return {empty_strided(a, d.integers())};),
        TANDEM_CALL("eye", auto a = d.modest(); return {eye(a, d.modest())};),
        TANDEM_CALL("arange", auto a = d.scalar(); auto b = d.scalar(); auto c = d.scalar();
                    return {arange(a, b, c, d.dtype())};),
        TANDEM_CALL("linspace", auto a = d.scalar(); auto b = d.scalar(); return {linspace(a, b, d.integer())};),
        TANDEM_CALL("randint", auto a = d.integer(); auto b = d.integer(); return {randint(a, b, {3}, d.dtype())};),
        TANDEM_CALL("randperm", return {randperm(d.modest(), d.dtype())};),
        TANDEM_CALL("from_blob", static double memory[16]; auto a = d.integers();
                    auto x = from_blob(memory, a, d.integers()); return {};),
        TANDEM_CALL("empty_like", auto x = d.view(); return {empty_like(x, d.dtype())};),
        TANDEM_CALL("clone", return {clone(d.view())};),
        TANDEM_CALL("contiguous", return {contiguous(d.view(), kChannelsLast)};),
        TANDEM_CALL("to", auto x = d.view(); return {to(x, d.dtype(), true)};),
        TANDEM_CALL("index", auto x = d.view(); auto a = d.integer(); return {x.index({a, indexing::None})};),
        TANDEM_CALL("print", std::ostringstream out; out << d.view(); return {};),
        TANDEM_CALL("item", static_cast<void>(d.view().item<int8_t>()); return {};),
        TANDEM_CALL("Device", static_cast<void>(Device(d.text())); return {};),
  };
  return calls;
}

const std::vector<Call>& arithmetic_calls() {
  static const std::vector<Call> calls {
    TANDEM_CALL("add", auto x = d.view(); auto y = d.view(); return {add(x, y, d.scalar())};),
        TANDEM_CALL("mul", auto x = d.view(); return {mul(x, d.view())};),
        TANDEM_CALL("mul_number", auto x = d.tensor(); return {mul(x, d.scalar())};),
        TANDEM_CALL("div", auto x = d.view(); return {div(x, d.view())};),
        TANDEM_CALL("pow", auto x = d.tensor(); return {pow(x, d.tensor())};),
        TANDEM_CALL("pow_number", auto x = d.tensor(); return {pow(x, d.scalar())};),
        TANDEM_CALL("rpow", auto v = d.scalar(); return {pow(v, d.tensor())};),
        TANDEM_CALL("clamp", auto x = d.tensor(); auto a = d.scalar(); return {clamp(x, a, d.scalar())};),
        TANDEM_CALL("where", auto c = d.view(); auto x = d.view(); return {where(c, x, d.view())};),
        TANDEM_CALL("lt", auto x = d.view(); return {lt(x, d.scalar())};), TANDEM_CALL("exp", return {exp(d.view())};),
        TANDEM_CALL("neg", return {neg(d.view())};),
        TANDEM_CALL("gelu", auto x = d.tensor(); return {gelu(x, d.text())};),
        TANDEM_CALL("add_", auto x = d.view(); auto y = d.view(); x.add_(y, d.scalar()); return {x};),
        TANDEM_CALL("mul_", auto x = d.tensor(); x.mul_(d.scalar()); return {x};),
        TANDEM_CALL("fill_", auto x = d.tensor(); x.fill_(d.scalar()); return {x};),
        TANDEM_CALL("copy_", auto x = d.tensor(); x.copy_(d.view()); return {x};),
        TANDEM_CALL("addcmul_", auto x = d.tensor(); auto y = d.tensor(); x.addcmul_(y, d.tensor(), 2); return {x};),
        TANDEM_CALL("clamp_", auto x = d.tensor(); auto a = d.scalar(); x.clamp_(a, d.scalar()); return {x};),
        TANDEM_CALL("add_out", auto x = d.tensor(); auto y = d.view(); return {add_out(x, y, d.view())};),
        TANDEM_CALL("normal_", auto x = d.tensor(); auto a = d.real(); x.normal_(a, d.real()); return {x};),
        TANDEM_CALL("uniform_", auto x = d.tensor(); auto a = d.real(); x.uniform_(a, d.real()); return {x};),
        TANDEM_CALL("random_", auto x = d.tensor(); auto a = d.integer(); x.random_(a, d.integer()); return {x};),
        TANDEM_CALL("bernoulli_", auto x = d.tensor(); x.bernoulli_(d.real()); return {x};),
        TANDEM_CALL("sum", auto x = d.tensor(); auto a = d.integers(); return {sum(x, a, d.flag(), d.dtype())};),
        TANDEM_CALL("mean", auto x = d.tensor(); return {mean(x, d.integers())};),
        TANDEM_CALL("var", auto x = d.tensor(); auto a = d.integers(); return {var(x, a, d.integer())};),
        TANDEM_CALL("norm", auto x = d.tensor(); auto p = d.scalar(); return {norm(x, p, d.integers())};),
        TANDEM_CALL("max", auto x = d.tensor(); return both(max(x, d.integer()));),
        TANDEM_CALL("argmin", auto x = d.tensor(); return {argmin(x, d.integer())};),
        TANDEM_CALL("all", return {all(d.tensor())};),
        TANDEM_CALL("sum_to_size", auto x = d.tensor(); return {sum_to_size(x, d.integers())};),
        TANDEM_CALL("softmax", auto x = d.tensor(); auto a = d.integer(); return {softmax(x, a, d.dtype())};),
        TANDEM_CALL("log_softmax", auto x = d.tensor(); return {log_softmax(x, d.integer())};),
        TANDEM_CALL("mm", auto x = d.view(); return {mm(x, d.view())};),
        TANDEM_CALL("bmm", auto x = d.view(); return {bmm(x, d.view())};),
        TANDEM_CALL("matmul", auto x = d.tensor(); return {matmul(x, d.tensor())};),
        TANDEM_CALL("addmm", auto x = d.tensor(); auto y = d.tensor(); return {addmm(x, y, d.tensor(), 2, 3)};),
        TANDEM_CALL("linear", auto x = d.tensor(); auto y = d.tensor(); return {linear(x, y, d.tensor())};),
  };
  return calls;
}

const std::vector<Call>& layer_calls() {
  static const std::vector<Call> calls {
    TANDEM_CALL("conv2d", auto x = d.image(); auto w = d.image(); auto a = d.integers(); auto b = d.integers();
                auto c = d.integers(); return {conv2d(x, w, {}, a, b, c, d.integer())};),
        TANDEM_CALL("conv2d_dilated", auto x = d.image(); auto w = d.image(); auto a = d.integer();
                    auto b = d.integer(); return {conv2d(x, w, d.tensor(), {a}, {b}, {d.integer()})};),
        TANDEM_CALL("conv_transpose2d", auto x = d.image(); auto w = d.image(); auto a = d.integers();
                    auto b = d.integers(); auto c = d.integers(); auto g = d.integer();
                    return {conv_transpose2d(x, w, {}, a, b, c, g, d.integers())};),
        TANDEM_CALL("im2col", auto x = d.image(); auto k = d.integers(); auto i = d.integers(); auto p = d.integers();
                    return {im2col(x, k, i, p, d.integers())};),
        TANDEM_CALL("col2im", auto x = d.tensor(); auto o = d.integers(); auto k = d.integers(); auto i = d.integers();
                    auto p = d.integers(); return {col2im(x, o, k, i, p, d.integers())};),
        TANDEM_CALL("max_pool2d", auto x = d.image(); auto k = d.integer(); auto s = d.integer(); auto p = d.integer();
                    auto i = d.integer(); return {max_pool2d(x, {k}, {s}, {p}, {i}, d.flag())};),
        TANDEM_CALL("avg_pool2d", auto x = d.image(); auto k = d.integers(); auto s = d.integers();
                    auto p = d.integers(); return {avg_pool2d(x, k, s, p, d.flag(), true, d.integer())};),
        TANDEM_CALL("adaptive_avg_pool2d", auto x = d.image(); return {adaptive_avg_pool2d(x, d.integers())};),
        TANDEM_CALL("layer_norm", auto x = d.tensor(); auto s = d.integers(); auto w = d.tensor(); auto b = d.tensor();
                    return {layer_norm(x, s, w, b, d.real())};),
        TANDEM_CALL("add_layer_norm", auto x = d.tensor(); auto r = d.flag() ? x : d.tensor(); auto s = d.integers();
                    auto w = d.tensor(); auto b = d.tensor();
                    return both(add_layer_norm(x, r, s, w, b, d.real()));),
        TANDEM_CALL("batch_norm", auto x = d.image(); auto w = d.tensor(); auto b = d.tensor(); auto m = d.tensor();
                    auto v = d.tensor(); return {batch_norm(x, w, b, m, v, d.flag(), d.real(), d.real())};),
        TANDEM_CALL("dropout", auto x = d.tensor(); return {dropout(x, d.real(), true)};),
        TANDEM_CALL("embedding", auto w = d.tensor(); auto i = d.tensor(); return {embedding(w, i, d.integer())};),
        TANDEM_CALL("gather", auto x = d.tensor(); auto a = d.integer(); return {gather(x, a, d.tensor())};),
        TANDEM_CALL("scatter_add", auto x = d.tensor(); auto a = d.integer(); auto i = d.tensor();
                    return {scatter_add(x, a, i, d.tensor())};),
        TANDEM_CALL("index_select", auto x = d.tensor(); auto a = d.integer();
                    return {index_select(x, a, d.tensor())};),
        TANDEM_CALL("index_add", auto x = d.tensor(); auto a = d.integer(); auto i = d.tensor();
                    return {index_add(x, a, i, d.tensor(), d.scalar())};),
        TANDEM_CALL("nll_loss", auto x = d.tensor(); auto t = d.tensor(); auto w = d.tensor();
                    return {nll_loss(x, t, w, reduction(d), d.integer())};),
        TANDEM_CALL("cross_entropy", auto x = d.tensor(); auto t = d.tensor(); auto w = d.tensor();
                    return {cross_entropy(x, t, w, reduction(d), d.integer(), d.real())};),
        TANDEM_CALL("mse_loss", auto x = d.tensor(); auto t = d.tensor(); return {mse_loss(x, t, reduction(d))};),
        TANDEM_CALL("binary_cross_entropy", auto x = d.tensor(); auto t = d.tensor();
                    return {binary_cross_entropy(x, t, d.tensor(), reduction(d))};),
        TANDEM_CALL("binary_cross_entropy_with_logits", auto x = d.tensor(); auto t = d.tensor(); auto w = d.tensor();
                    return {binary_cross_entropy_with_logits(x, t, w, d.tensor(), reduction(d))};),
        TANDEM_CALL("Linear", auto a = d.modest(); nn::Linear layer(a, d.modest()); return {layer(d.tensor())};),
        TANDEM_CALL("Conv2d", auto a = d.modest(); auto b = d.modest(); auto k = d.modest();
                    nn::Conv2d layer(nn::Conv2dOptions(a, b, k).stride(d.modest()).groups(d.modest()));
                    return {layer(d.image())};),
        TANDEM_CALL("Embedding", auto a = d.modest(); nn::Embedding layer(a, d.modest()); return {layer(d.tensor())};),
        TANDEM_CALL("BatchNorm2d", nn::BatchNorm2d layer(d.modest()); return {layer(d.image())};),
        TANDEM_CALL("SGD", auto p = d.tensors(14); optim::SGD sgd(p, optim::SGDOptions(d.real()).momentum(d.real()));
                    sgd.step(); return {};),
        TANDEM_CALL("Adam", auto p = d.tensors(14);
                    optim::Adam adam(p, optim::AdamOptions(d.real()).betas({d.real(), d.real()}).eps(d.real()));
                    for (Tensor& x
                         : p) if (x.defined() && x.requires_grad()) x.mutable_grad() = ones_like(x);
                    adam.step(); return {};),
        TANDEM_CALL("RMSprop", auto p = with_gradients(d.tensors(14));
                    optim::RMSprop rmsprop(p, optim::RMSpropOptions(d.real()).alpha(d.real()).momentum(d.real()));
                    rmsprop.step(); return {};),
        TANDEM_CALL("NAdam", auto p = with_gradients(d.tensors(14));
                    optim::NAdam nadam(p, optim::NAdamOptions(d.real()).betas({d.real(), d.real()}).eps(d.real()));
                    nadam.step(); return {};),
        TANDEM_CALL("LAMB", auto p = with_gradients(d.tensors(14));
                    optim::LAMB lamb(p, optim::LAMBOptions(d.real()).weight_decay(d.real()).eps(d.real())); lamb.step();
                    return {};),
        TANDEM_CALL("LBFGS", auto p = with_gradients(d.tensors(14));
                    optim::LBFGS lbfgs(p, optim::LBFGSOptions(d.real()).line_search_fn("strong_wolfe"));
                    lbfgs.step([&] { return d.tensor(); }); return {};),
        TANDEM_CALL("backward", auto x = d.tensors(14); autograd::backward(x, d.tensors(14)); return {};),
        TANDEM_CALL("grad", auto x = d.tensors(14); return autograd::grad(x, d.tensors(14));),
        TANDEM_CALL("GradScaler", amp::GradScaler scaler(amp::GradScalerOptions()
                                                             .init_scale(d.real())
                                                             .growth_factor(d.real())
                                                             .backoff_factor(d.real())
                                                             .growth_interval(d.integer()));
                    return {scaler.scale(d.tensor())};),
        TANDEM_CALL("clip_grad_norm_", auto p = d.tensors(14);
                    static_cast<void>(nn::utils::clip_grad_norm_(p, d.real(), d.real())); return {};),
        TANDEM_CALL("RandomSampler", data::samplers::RandomSampler s(d.modest()); s.next(4); return {};),
  };
  return calls;
}

// clang-format on

/// The ops of the random calls, with five tensors each, as many as any of them takes.
std::vector<Call> random_calls() {
  std::vector<Call> calls;
  for (const auto& [name, run] : random_call_ops()) {
    calls.push_back({name.c_str(), [&run = run](Draw& d) -> Results {
                       std::vector<Tensor> x(5);
                       for (Tensor& t : x) t = d.tensor();
                       return run(x, AbsurdArgs(d));
                     }});
  }
  return calls;
}

std::string absurd_call(uint64_t seed, const std::function<void(const std::string&)>& report) {
  static const std::vector<Call> calls = [] {
    std::vector<Call> all = shape_calls();
    for (const auto& more : {arithmetic_calls(), layer_calls(), random_calls()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  const Call& call = calls[seed % calls.size()];
  Draw d(seed, std::string(call.name) + ": ", report);
  try {
    for (const Tensor& y : call.run(d)) {
      if (y.defined() && y.requires_grad() && y.numel() < 10000) y.sum().backward();
    }
  } catch (const Error&) {
  }
  return "";
}

const ChildTaskRegistration absurd_calls("AbsurdCalls", absurd_call);

TEST(AbsurdCalls, ReturnOrThrow) { expect_good_outcomes("AbsurdCalls", kSlowRun ? 400 : 4000, {.memory_mib = 2048}); }

}  // namespace
}  // namespace tandem::testing
