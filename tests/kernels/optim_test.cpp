// sgd and adam against a plain model in f64 over several steps, at every SIMD level.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/kernels_under_test.h"
#include "kernels/parameter_lists.h"
#include "support/compare.h"
#include "support/simd_levels.h"
#include "tandem/math/split_float.h"
#include "tandem/tensor/threads.h"

namespace tandem {
namespace {

using namespace testing;
using Values = std::vector<double>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

class OptimKernels : public SimdLevels {};
TANDEM_AT_EVERY_SIMD_LEVEL(OptimKernels);

// ---- the models, written from torch.optim's documentation

struct SgdModel {
  Values buffer;
  int steps = 0;
  void step(Values& p, const Values& grad, const SgdCall& c) {
    buffer.resize(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      double g = c.maximize ? -grad[i] : grad[i];
      if (c.weight_decay != 0) g += c.weight_decay * p[i];
      if (c.momentum != 0) {
        buffer[i] = steps == 0 ? g : c.momentum * buffer[i] + (1 - c.dampening) * g;
        g = c.nesterov ? g + c.momentum * buffer[i] : buffer[i];
      }
      p[i] -= c.lr * g;
    }
    ++steps;
  }
};

struct AdamModel {
  Values m, v, v_max;
  int steps = 0;
  void step(Values& p, const Values& grad, const AdamCall& c) {
    for (Values* state : {&m, &v, &v_max}) state->resize(p.size());
    ++steps;
    for (size_t i = 0; i < p.size(); ++i) {
      double g = c.maximize ? -grad[i] : grad[i];
      if (c.decoupled) {
        p[i] -= c.lr * c.weight_decay * p[i];
      } else {
        g += c.weight_decay * p[i];
      }
      m[i] = c.beta1 * m[i] + (1 - c.beta1) * g;
      v[i] = c.beta2 * v[i] + (1 - c.beta2) * g * g;
      v_max[i] = std::max(v_max[i], v[i]);
      const double m_hat = m[i] / (1 - std::pow(c.beta1, steps));
      const double v_hat = (c.amsgrad ? v_max[i] : v[i]) / (1 - std::pow(c.beta2, steps));
      p[i] -= c.lr * m_hat / (std::sqrt(v_hat) + c.eps);
    }
  }
};

// ---- a list of parameters with their gradients, shadows and states

DType state_dtype(DType param) { return param == kDouble ? kDouble : kFloat; }

void add_param(OptimizerTensors& call, int64_t n, DType param, DType grad, std::optional<DType> shadow,
               ListLayout layout) {
  const bool t = layout == ListLayout::transposed;
  call.params.push_back(list_tensor(n, param, t));
  call.grads.push_back(list_gradient(n, grad, layout));
  call.shadows.push_back(shadow ? list_tensor(n, *shadow, t) : Tensor());
  write(call.params.back(), random_values(3 * n, static_cast<uint32_t>(n)));
}

Tensor add_state(int64_t n, DType param, ListLayout layout, double value) {
  const Tensor t = list_tensor(n, state_dtype(param), layout == ListLayout::transposed);
  write(t, Values(static_cast<size_t>(3 * n), value));
  return t;
}

/// The tolerance after six steps: in f32 about thirty operations each, some of them relative to the largest value, 2; a
/// low-precision parameter is rounded at each step.
Tolerance after_steps(DType dtype) { return tolerance(dtype, 180, 7, 2); }

/// Checks that the shadow is the parameter, rounded once.
void expect_shadow(const Tensor& shadow, const Tensor& param) {
  if (param.dtype() == kDouble) {  // write() rounds twice, through f32
    EXPECT_TRUE(near(shadow, param, tolerance(shadow.dtype(), 1, 1, 2))) << "shadow";
    return;
  }
  const Tensor rounded = empty_strided(shadow.sizes(), shadow.strides(), shadow.dtype());
  write(rounded, read(param));
  ASSERT_EQ(bytes_of(shadow), bytes_of(rounded));
}

struct Types {
  DType param, grad;
  std::optional<DType> shadow;
};
const Types kTypes[] = {{kFloat, kFloat, {}},       {kFloat, kFloat, kBFloat16}, {kFloat, kFloat, kHalf},
                        {kFloat, kHalf, kHalf},     {kFloat, kBFloat16, {}},     {kDouble, kDouble, kBFloat16},
                        {kBFloat16, kBFloat16, {}}, {kHalf, kFloat, {}},         {kDouble, kFloat, {}}};
constexpr int64_t kOptimSizes[] = {1, 5, 16, 341, 342, 1000};

template <class Call, class Model, class Step>
void run_steps(Call& call, std::vector<Model>& models, bool scaled, Step step) {
  const double scale = scaled ? 1024 : 1;
  if (scaled) call.scaling = {scalar_of(1 / scale), scalar_of(0)};
  std::vector<Values> params;
  for (const Tensor& p : call.params) params.push_back(read(p));
  for (uint32_t i = 0; i < 6; ++i) {
    for (size_t k = 0; k < params.size(); ++k) {
      Values g = random_values(call.params[k].numel(), 100 * i + static_cast<uint32_t>(k));
      for (double& x : g) x *= scale;
      write(call.grads[k], g);
      g = read(call.grads[k]);
      for (double& x : g) x /= scale;
      models[k].step(params[k], g, call);
    }
    step(call);
  }
  for (size_t k = 0; k < params.size(); ++k) {
    EXPECT_TRUE(near(call.params[k], params[k], after_steps(call.params[k].dtype()))) << "parameter";
    if (call.shadows[k].defined()) expect_shadow(call.shadows[k], call.params[k]);
    if (!call.steps.empty()) {
      ASSERT_EQ(read(call.steps[k])[0], 6);
    }
  }
}

SgdCall make_sgd(double momentum, const Types& types, ListLayout layout) {
  SgdCall call;
  call.lr = 0.1;
  call.momentum = momentum;
  for (int64_t n : kOptimSizes) {
    add_param(call, n, types.param, types.grad, types.shadow, layout);
    if (momentum == 0) continue;
    call.momentum_buffers.push_back(add_state(n, types.param, layout, NAN));  // NaN: the first step must not read it
    call.steps.push_back(scalar_of(0));
  }
  return call;
}

AdamCall make_adam(bool amsgrad, const Types& types, ListLayout layout) {
  AdamCall call;
  call.lr = 0.01;
  call.beta1 = 0.9;
  call.beta2 = 0.99;
  call.eps = 1e-8;
  call.amsgrad = amsgrad;
  for (int64_t n : kOptimSizes) {
    add_param(call, n, types.param, types.grad, types.shadow, layout);
    for (auto* list : {&call.exp_avgs, &call.exp_avg_sqs}) list->push_back(add_state(n, types.param, layout, 0));
    if (amsgrad) call.max_exp_avg_sqs.push_back(add_state(n, types.param, layout, 0));
    call.steps.push_back(scalar_of(0));
  }
  return call;
}

TEST_P(OptimKernels, SgdMatchesTheModel) {
  for (const Types& types : kTypes) {
    for (ListLayout layout : {ListLayout::contiguous, ListLayout::transposed, ListLayout::strided_grad}) {
      for (int variant = 0; variant < 6; ++variant) {
        SgdCall call = make_sgd(variant < 2 ? 0 : 0.9, types, layout);
        call.weight_decay = variant % 2 == 1 ? 0.05 : 0;
        call.dampening = variant == 3 ? 0.3 : 0;
        call.nesterov = variant == 4;
        call.maximize = variant == 5;
        std::vector<SgdModel> models(call.params.size());
        run_steps(call, models, variant % 3 == 0, [](const SgdCall& c) { under_test().sgd(c); });
        for (size_t k = 0; k < call.momentum_buffers.size(); ++k) {
          EXPECT_TRUE(near(call.momentum_buffers[k], models[k].buffer, after_steps(types.param))) << "buffer";
        }
      }
    }
  }
}

TEST_P(OptimKernels, AdamMatchesTheModel) {
  for (const Types& types : kTypes) {
    for (ListLayout layout : {ListLayout::contiguous, ListLayout::transposed, ListLayout::strided_grad}) {
      for (int variant = 0; variant < 5; ++variant) {
        AdamCall call = make_adam(variant == 3, types, layout);
        call.weight_decay = variant == 0 ? 0 : 0.05;
        call.decoupled = variant == 2;
        call.maximize = variant == 4;
        std::vector<AdamModel> models(call.params.size());
        run_steps(call, models, variant % 2 == 0, [](const AdamCall& c) { under_test().adam(c); });
      }
    }
  }
}

template <class Call>
std::vector<std::vector<char>> snapshot(const Call& call, std::initializer_list<const std::vector<Tensor>*> states) {
  std::vector<std::vector<char>> all;
  for (const auto* list : {&call.params, &call.grads, &call.shadows, &call.steps}) {
    for (const Tensor& t : *list) all.push_back(t.defined() ? bytes_of(t) : std::vector<char>());
  }
  for (const auto* list : states) {
    for (const Tensor& t : *list) all.push_back(bytes_of(t));
  }
  return all;
}

TEST_P(OptimKernels, OverflowChangesNoByte) {
  for (double flag : {1.0, 0.5, static_cast<double>(NAN)}) {
    const Types types{kFloat, kHalf, kBFloat16};
    SgdCall sgd = make_sgd(0.9, types, ListLayout::contiguous);
    AdamCall adam = make_adam(true, types, ListLayout::contiguous);
    for (const Tensor& g : sgd.grads) write(g, Values(static_cast<size_t>(g.numel()), kInfinite));
    sgd.scaling = adam.scaling = {scalar_of(0.5), scalar_of(flag)};
    const auto sgd_before = snapshot(sgd, {&sgd.momentum_buffers});
    const auto adam_before = snapshot(adam, {&adam.exp_avgs, &adam.exp_avg_sqs, &adam.max_exp_avg_sqs});
    under_test().sgd(sgd);
    under_test().adam(adam);
    EXPECT_EQ(snapshot(sgd, {&sgd.momentum_buffers}), sgd_before);
    EXPECT_EQ(snapshot(adam, {&adam.exp_avgs, &adam.exp_avg_sqs, &adam.max_exp_avg_sqs}), adam_before);
  }
}

template <class Call, class Step>
void fused_equals_plain(Call& fused, Call& plain, Step step) {
  fused.scaling = {scalar_of(1 / 3.0), scalar_of(0)};
  for (uint32_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < fused.params.size(); ++k) {
      for (const auto* call : {&fused, &plain}) {
        write(call->grads[k], random_values(call->grads[k].numel(), 10 * i + static_cast<uint32_t>(k)));
      }
    }
    under_test().unscale(plain.grads, fused.scaling.inverse_scale, scalar_of(0));
    step(fused);
    step(plain);
  }
  for (size_t k = 0; k < fused.params.size(); ++k) {
    EXPECT_TRUE(bytes_of(fused.params[k]) == bytes_of(plain.params[k])) << k;
  }
}

// A single multiply-add from the scaled gradient to the parameter would change the last bit.
TEST_P(OptimKernels, FusedUnscaleEqualsSeparateUnscaleBitForBit) {
  for (int variant = 0; variant < 6; ++variant) {
    const Types types{kFloat, kFloat, variant < 3 ? std::optional(kBFloat16) : std::nullopt};
    SgdCall fused = make_sgd(variant % 3 == 0 ? 0 : 0.9, types, ListLayout::contiguous);
    SgdCall plain = make_sgd(variant % 3 == 0 ? 0 : 0.9, types, ListLayout::contiguous);
    fused.weight_decay = plain.weight_decay = variant % 3 == 2 ? 0 : 0.05;
    fused.nesterov = plain.nesterov = variant % 3 == 2;
    fused_equals_plain(fused, plain, [](const SgdCall& c) { under_test().sgd(c); });

    AdamCall adam = make_adam(false, types, ListLayout::contiguous),
             plain_adam = make_adam(false, types, ListLayout::contiguous);
    adam.weight_decay = plain_adam.weight_decay = variant % 3 == 2 ? 0 : 0.05;
    adam.decoupled = plain_adam.decoupled = variant % 3 == 1;
    fused_equals_plain(adam, plain_adam, [](const AdamCall& c) { under_test().adam(c); });
  }
}

/// Tensors may share a step count: all tensors must read it before it is incremented. Callers pass more tensors than a
/// CUDA block has threads.
template <class Call, class Step>
void expect_shared_count(Call shared, Call own, float count, Step step) {
  shared.steps.assign(shared.params.size(), scalar_of(count));
  for (size_t k = 0; k < own.params.size(); ++k) own.steps.push_back(scalar_of(count));
  for (uint32_t i = 0; i < 2; ++i) {
    for (const Call* call : {&shared, &own}) {
      for (const Tensor& g : call->grads) write(g, random_values(g.numel(), 7 + i));
      step(*call);
    }
  }
  EXPECT_EQ(read(shared.steps[0])[0], count + 2);
  for (size_t k = 0; k < own.params.size(); ++k) {
    ASSERT_EQ(bytes_of(shared.params[k]), bytes_of(own.params[k])) << k;
  }
}

TEST_P(OptimKernels, TensorsMayShareAStepCount) {
  const auto sgd = [] {
    SgdCall call;
    call.lr = 0.1;
    call.momentum = 0.9;
    call.dampening = 0.5;  // not applied to the first step's gradient
    for (int k = 0; k < 600; ++k) {
      add_param(call, 1, kFloat, kFloat, {}, ListLayout::contiguous);
      call.momentum_buffers.push_back(add_state(1, kFloat, ListLayout::contiguous, 0));
    }
    return call;
  };
  const auto adam = [] {
    AdamCall call;
    call.lr = 0.01;
    call.beta1 = 0.9;
    call.beta2 = 0.99;
    call.eps = 1e-8;
    for (int k = 0; k < 600; ++k) {
      add_param(call, 1, kFloat, kFloat, {}, ListLayout::contiguous);
      for (auto* list : {&call.exp_avgs, &call.exp_avg_sqs})
        list->push_back(add_state(1, kFloat, ListLayout::contiguous, 0));
    }
    return call;
  };
  for (float count : {0.0f, 3.0f}) {
    expect_shared_count(sgd(), sgd(), count, [](const SgdCall& c) { under_test().sgd(c); });
    expect_shared_count(adam(), adam(), count, [](const AdamCall& c) { under_test().adam(c); });
  }
}

// Large enough for several threads, and for non-temporal stores of the shadows.
TEST_P(OptimKernels, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  std::vector<std::vector<char>> results[2];
  for (int run = 0; run < 2; ++run) {
    set_num_threads(run == 0 ? 1 : 3);
    AdamCall call;
    call.lr = 0.01;
    call.beta1 = 0.9;
    call.beta2 = 0.999;
    call.eps = 1e-8;
    for (int64_t n : {700001, 33, 0, 99999}) {
      add_param(call, n, kFloat, kFloat, n == 99999 ? kHalf : kBFloat16, ListLayout::contiguous);
      write(call.grads.back(), random_values(3 * n, 5));
      call.exp_avgs.push_back(add_state(n, kFloat, ListLayout::contiguous, 0));
      call.exp_avg_sqs.push_back(add_state(n, kFloat, ListLayout::contiguous, 0));
      call.steps.push_back(scalar_of(0));
    }
    under_test().adam(call);
    under_test().adam(call);
    results[run] = snapshot(call, {&call.exp_avgs, &call.exp_avg_sqs});
    for (size_t k = 0; k < call.params.size(); ++k) expect_shadow(call.shadows[k], call.params[k]);
  }
  set_num_threads(threads);
  EXPECT_EQ(results[0], results[1]);
}

/// Converts the f32 parameters of `call` to bf16 numbers and remainders.
template <class Call>
void split_params(Call& call) {
  call.shadows.resize(call.params.size());
  for (size_t k = 0; k < call.params.size(); ++k) {
    const Tensor p = call.params[k];
    const Tensor rounded = empty_strided(p.sizes(), p.strides(), kBFloat16);
    const Tensor remainder = empty_strided(p.sizes(), p.strides(), kShort);
    const OnHost from(p), high(rounded), low(remainder);
    for_each_offset(p, [&](int64_t at) {
      const math::SplitFloat halves = math::split_float(from.data<float>()[at]);
      std::memcpy(high.bytes() + 2 * at, &halves.rounded, 2);
      std::memcpy(low.bytes() + 2 * at, &halves.remainder, 2);
    });
    high.put();
    low.put();
    call.params[k] = rounded;
    call.shadows[k] = remainder;
  }
}

template <class Call, class Step>
void expect_split_equals_f32(Call f32, Call split, const Step& step) {
  split_params(split);
  f32.scaling = split.scaling = {scalar_of(0.25), scalar_of(0)};
  for (uint32_t i = 0; i < 8; ++i) {
    for (size_t k = 0; k < f32.params.size(); ++k) {
      const Values g = random_values(f32.grads[k].numel(), 100 * i + static_cast<uint32_t>(k));
      for (const auto* call : {&f32, &split}) write(call->grads[k], g);
    }
    step(f32);
    step(split);
    for (size_t k = 0; k < f32.params.size(); ++k) {
      const OnHost whole(f32.params[k]), high(split.params[k]), low(split.shadows[k]);
      for_each_offset(f32.params[k], [&](int64_t at) {
        math::SplitFloat halves;
        std::memcpy(&halves.rounded, high.bytes() + 2 * at, 2);
        std::memcpy(&halves.remainder, low.bytes() + 2 * at, 2);
        const float joined = math::join_float(halves), expected = whole.data<float>()[at];
        ASSERT_EQ(std::memcmp(&joined, &expected, 4), 0) << joined << ' ' << expected << " step " << i;
      });
    }
  }
}

TEST_P(OptimKernels, BFloat16WithRemainderEqualsF32) {
  for (DType grad : {kFloat, kBFloat16}) {
    for (ListLayout layout : {ListLayout::contiguous, ListLayout::transposed, ListLayout::strided_grad}) {
      const Types types{kFloat, grad, {}};
      const auto sgd = [](const SgdCall& c) { under_test().sgd(c); };
      const auto adam = [](const AdamCall& c) { under_test().adam(c); };
      expect_split_equals_f32(make_sgd(0, types, layout), make_sgd(0, types, layout), sgd);
      expect_split_equals_f32(make_sgd(0.9, types, layout), make_sgd(0.9, types, layout), sgd);
      expect_split_equals_f32(make_adam(true, types, layout), make_adam(true, types, layout), adam);
    }
  }
}

TEST_P(OptimKernels, LowPrecisionCopiesKeepNaNAndInf) {
  for (DType shadow : {kHalf, kBFloat16}) {
    SgdCall call;
    call.lr = 1;
    add_param(call, 40, kFloat, kFloat, shadow, ListLayout::contiguous);
    Values g(120, 0);
    g[0] = NAN;
    g[50] = kInfinite;
    g[119] = -kInfinite;
    write(call.grads[0], g);
    under_test().sgd(call);
    const Values s = read(call.shadows[0]);
    EXPECT_TRUE(std::isnan(s[0]));
    EXPECT_EQ(s[50], -kInfinite);
    EXPECT_EQ(s[119], kInfinite);
    expect_shadow(call.shadows[0], call.params[0]);
  }
}

TEST_P(OptimKernels, InfiniteParameterMakesNoNaNWithoutDecay) {
  SgdCall call;
  call.lr = 0.1;
  add_param(call, 20, kFloat, kFloat, {}, ListLayout::contiguous);
  write(call.params[0], Values(60, kInfinite));
  write(call.grads[0], Values(60, 1));
  under_test().sgd(call);
  EXPECT_EQ(read(call.params[0]), Values(60, kInfinite));
}

TEST_P(OptimKernels, EmptyListsAndTensors) {
  under_test().sgd(SgdCall());
  under_test().adam(AdamCall());
  AdamCall call;
  call.beta1 = call.beta2 = 0.9;
  add_param(call, 0, kFloat, kFloat, kBFloat16, ListLayout::contiguous);
  call.exp_avgs.push_back(add_state(0, kFloat, ListLayout::contiguous, 0));
  call.exp_avg_sqs.push_back(add_state(0, kFloat, ListLayout::contiguous, 0));
  call.steps.push_back(scalar_of(4));
  under_test().adam(call);
  EXPECT_EQ(read(call.steps[0])[0], 5);
}

}  // namespace
}  // namespace tandem
