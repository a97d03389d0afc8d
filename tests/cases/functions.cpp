// Functions of one number, and activations.
#include <cmath>

#include "cases/shared.h"
#include "tandem/ops/activation.h"
#include "tandem/ops/activation_in_place.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/math_functions.h"

namespace tandem::testing {
namespace {

/// Adds an op of one tensor: ordinary numbers, a transposed matrix, and special values.
void function_of_one(Cases& cases, const std::string& op, const std::string& torch, Callable<Tensor(const Tensor&)> f,
                     const Input& draw, std::vector<double> special, const std::string& prefix = "") {
  auto run = [f](In x) -> Out { return {f(x[0])}; };
  auto sized = [&](std::vector<int64_t> sizes) {
    Input input = draw;
    input.sizes = std::move(sizes);
    return input;
  };
  cases.push_back({.op = op, .name = prefix + "vector", .torch = torch, .inputs = {sized({35})}, .run = run});
  cases.push_back({.op = op,
                   .name = prefix + "transposed",
                   .torch = torch,
                   .inputs = {sized({3, 5}).laid_out(MemoryLayout::transposed)},
                   .run = run});
  if (special.empty()) return;
  const auto n = static_cast<int64_t>(special.size());
  cases.push_back({.op = op,
                   .name = prefix + "special",
                   .torch = torch,
                   .inputs = {values({n}, std::move(special))},
                   .run = run,
                   .no_gradcheck = at_kinks});
}

using Function = Tensor (*)(const Tensor&);

void functions(Cases& c) {
  const Input any = normal({}), inside = uniform({}, -0.75, 0.75), above_one = uniform({}, 1.25, 4);
  const Input above_zero = uniform({}, 0.25, 4), probability = uniform({}, 0.125, 0.875);
  function_of_one(c, "tan", "torch.tan(a)", tan, inside, {0, -0.0, 1, -1.5, 3, 100, -1000, inf, nan});
  function_of_one(c, "asin", "torch.asin(a)", asin, inside, {0, -0.0, 1, -1, 0.5, 2, nan});
  function_of_one(c, "acos", "torch.acos(a)", acos, inside, {0, -0.0, 1, -1, 0.5, 2, nan});
  function_of_one(c, "atan", "torch.atan(a)", atan, any, {0, -0.0, 1, -1, 1e4, inf, -inf, nan});
  function_of_one(c, "sinh", "torch.sinh(a)", sinh, any, {0, -0.0, 1e-4, 10, -10, 100, inf, -inf, nan});
  function_of_one(c, "cosh", "torch.cosh(a)", cosh, any, {0, -0.0, 1e-4, 10, -10, 100, inf, -inf, nan});
  function_of_one(c, "asinh", "torch.asinh(a)", asinh, any, {0, -0.0, 1e-4, 100, -1000, inf, -inf, nan});
  function_of_one(c, "acosh", "torch.acosh(a)", acosh, above_one, {1, 1.5, 1000, 0, -2, inf, nan});
  function_of_one(c, "atanh", "torch.atanh(a)", atanh, inside, {0, -0.0, 1e-4, 1, -1, 2, nan});
  function_of_one(c, "log2", "torch.log2(a)", log2, above_zero, {1, 8, 0, -1, inf, nan, 60000});
  function_of_one(c, "log10", "torch.log10(a)", log10, above_zero, {1, 1000, 0, -1, inf, nan, 60000});
  function_of_one(c, "exp2", "torch.exp2(a)", exp2, any, {0, 3, -3, 127, -126, 200, -200, inf, -inf, nan});
  function_of_one(c, "erfc", "torch.erfc(a)", erfc, any, {0, -0.0, 3, -3, 5, 12, -10, inf, -inf, nan});
  function_of_one(c, "erfinv", "torch.erfinv(a)", erfinv, inside, {0, 0.5, 1, -1, 2, 0.99, nan});
  function_of_one(c, "lgamma", "torch.lgamma(a)", lgamma, above_zero, {1, 2, 0, -1, -0.5, 100, inf, nan});
  function_of_one(c, "digamma", "torch.digamma(a)", digamma, above_zero, {1, 20, 0, -0.5, 1e4, inf, nan});
  function_of_one(c, "i0", "torch.i0(a)", i0, any, {0, -0.0, 1e-3, -3, 8, 9, -20, 60, inf, nan});
  function_of_one(c, "special_i1", "torch.special.i1(a)", special_i1, any, {0, 1e-3, -3, 8, 9, -10, nan});
  function_of_one(c, "sinc", "torch.sinc(a)", sinc, above_zero, {0, 0.5, -0.5, 1.25, -2.75, 0x1p-10, -0.046875});
  function_of_one(c, "logit", "torch.logit(a)", [](const Tensor& x) { return logit(x); }, probability,
                  {0, 1, 0.5, -1, 2, nan});
  function_of_one(
      c, "logit", "torch.logit(a, eps=0.25)", [](const Tensor& x) { return logit(x, 0.25); }, uniform({}, 0.375, 0.625),
      {0, 1, 0.5, -1, 2, 0.3125, nan}, "eps_");
  function_of_one(c, "trunc", "torch.trunc(a)", trunc, any, {0.5, -0.5, 2.5, -2.5, inf, -inf, nan});
  function_of_one(c, "frac", "torch.frac(a)", frac, uniform({}, 1.125, 1.875), {0.5, -0.5, 2.75, -2.75, 3});
  function_of_one(c, "round_decimals", "torch.round(a, decimals=1)", [](const Tensor& x) { return round(x, 1); },
                  uniform({}, 1.0625, 1.125), {0.5, -1.25, 12.5, inf, nan});
  function_of_one(
      c, "round_decimals", "torch.round(a, decimals=-2)", [](const Tensor& x) { return round(x, -2); },
      uniform({}, 110, 140), {50, 150, 449, -1250}, "hundreds_");
  function_of_one(c, "nan_to_num", "torch.nan_to_num(a, posinf=100, neginf=-50)",
                  [](const Tensor& x) { return nan_to_num(x, {}, 100, -50); }, any, {nan, inf, -inf, 2, -0.0});
  function_of_one(
      c, "nan_to_num", "torch.nan_to_num(a, nan=3, posinf=7, neginf=8)",
      [](const Tensor& x) { return nan_to_num(x, 3, 7, 8); }, any, {nan, inf, -inf, 2, -0.0}, "replaced_");
  const std::vector<double> signs = {0, 0.5, 1, -1, inf, -inf};
  for (const auto& [name, f] : {std::pair{"signbit", Function(signbit)}, std::pair{"isposinf", Function(isposinf)},
                                std::pair{"isneginf", Function(isneginf)}}) {
    c.push_back({.op = name,
                 .name = "floats_and_integers",
                 .torch = std::string("(torch.") + name + "(a), torch." + name + "(b))",
                 .inputs = {values({6}, signs), integers({6}, -3, 4)},
                 .run = [f = f](In x) -> Out {
                   return {f(x[0]), f(x[1])};
                 },
                 .sum = 0});
  }
  for (Case& row : c) {
    if (row.op == "digamma") row.no_gradgradcheck = "the second derivative is not implemented";
  }
  c.push_back({.op = "trunc",
               .name = "integers",
               .torch = "(torch.trunc(a), torch.nan_to_num(a), torch.positive(a), torch.isreal(a))",
               .inputs = {integers({9}, -4, 5)},
               .run = [](In x) -> Out {
                 return {trunc(x[0]), nan_to_num(x[0]), positive(x[0]), isreal(x[0])};
               },
               .sum = 0});
  c.push_back({.op = "mul",
               .name = "degrees",
               .torch = "(torch.deg2rad(a), torch.rad2deg(a), torch.deg2rad(b))",
               .inputs = {normal({9}), integers({5}, -180, 180)},
               .run = [](In x) -> Out {
                 return {deg2rad(x[0]), rad2deg(x[0]), deg2rad(x[1])};
               }});
  c.push_back({.op = "asin",
               .name = "other_names",
               .torch = "(torch.arcsin(a), torch.arccos(a), torch.arctan(a), torch.arcsinh(a), torch.arctanh(a))",
               .inputs = {uniform({7}, -0.75, 0.75)},
               .run = [](In x) -> Out {
                 return {arcsin(x[0]), arccos(x[0]), arctan(x[0]), arcsinh(x[0]), arctanh(x[0])};
               },
               .no_low = "ops with different policies"});
}

void activations(Cases& c) {
  const Input any = normal({});
  function_of_one(c, "silu", "F.silu(a)", silu, any, {0, -0.0, 20, -20, 100, -100, nan});
  function_of_one(c, "mish", "F.mish(a)", mish, any, {0, -0.0, 20, -20, 100, -100, nan});
  function_of_one(c, "selu", "F.selu(a)", selu, any, {0, -0.0, 20, -20, inf, -inf, nan});
  function_of_one(c, "hardsigmoid", "F.hardsigmoid(a)", hardsigmoid, any, {-3, 3, 0, nan, inf, -inf, -4, 4});
  function_of_one(c, "hardswish", "F.hardswish(a)", hardswish, any, {-3, 3, 0, nan, inf, -4, 4});
  function_of_one(c, "tanhshrink", "F.tanhshrink(a)", tanhshrink, any, {0, 0.25, 20, -20, inf, -inf, nan});
  const std::vector<double> numbers = {0, -0.0, 0.5, -0.5, 1, -1, 20, -20, inf, -inf};
  const std::vector<double> ends = {0, -0.0, 0.5, -0.5, 1, -1, 20, -20, inf, -inf, nan};
  function_of_one(
      c, "elu", "F.elu(a)", [](const Tensor& x) { return elu(x); }, any, ends);
  function_of_one(
      c, "elu", "F.elu(a, 0.5)", [](const Tensor& x) { return elu(x, 0.5); }, any, ends, "alpha_");
  function_of_one(
      c, "elu", "torch.ops.aten.elu(a, 0.5, 2, 1.5)", [](const Tensor& x) { return elu(x, 0.5, 2, 1.5); }, any, {},
      "scaled_");
  function_of_one(
      c, "celu", "F.celu(a)", [](const Tensor& x) { return celu(x); }, any, ends);
  function_of_one(
      c, "celu", "F.celu(a, 0.75)", [](const Tensor& x) { return celu(x, 0.75); }, any, {}, "alpha_");
  function_of_one(
      c, "leaky_relu", "F.leaky_relu(a)", [](const Tensor& x) { return leaky_relu(x); }, any, ends);
  function_of_one(
      c, "leaky_relu", "F.leaky_relu(a, 0.25)", [](const Tensor& x) { return leaky_relu(x, 0.25); }, any, ends,
      "slope_");
  function_of_one(
      c, "leaky_relu", "F.rrelu(a, 0.25, 0.5)", [](const Tensor& x) { return rrelu(x, 0.25, 0.5); }, any, {}, "rrelu_");
  function_of_one(
      c, "hardtanh", "F.hardtanh(a)", [](const Tensor& x) { return hardtanh(x); }, any, numbers);
  function_of_one(
      c, "hardtanh", "F.hardtanh(a, -2, 0.5)", [](const Tensor& x) { return hardtanh(x, -2, 0.5); }, any, {}, "to_");
  function_of_one(c, "hardtanh", "F.relu6(a)", relu6, uniform({}, -4, 9), {0, 6, 7}, "relu6_");
  function_of_one(
      c, "hardshrink", "F.hardshrink(a)", [](const Tensor& x) { return hardshrink(x); }, any, numbers);
  function_of_one(
      c, "softshrink", "F.softshrink(a, 0.25)", [](const Tensor& x) { return softshrink(x, 0.25); }, any, numbers);
  function_of_one(
      c, "threshold", "F.threshold(a, 0.25, -3)", [](const Tensor& x) { return threshold(x, 0.25, -3); }, any, ends);
  function_of_one(
      c, "softplus", "F.softplus(a, 2, 1)", [](const Tensor& x) { return softplus(x, 2, 1); }, any,
      {0, 0.25, 0.5, 1, 20, -20, inf, -inf, nan}, "beta_");
  c.push_back({.op = "threshold",
               .name = "integers",
               .torch = "(F.threshold(a, 0, 5), F.hardtanh(a), F.relu6(a))",
               .inputs = {integers({9}, -4, 5)},
               .run = [](In x) -> Out {
                 return {threshold(x[0], 0, 5), hardtanh(x[0]), relu6(x[0])};
               },
               .sum = 0});
  c.push_back({.op = "prelu",
               .name = "one_weight",
               .torch = "F.prelu(a, b)",
               .inputs = {normal({3, 7}), values({1}, {0.25}).parameter()},
               .run = [](In x) -> Out { return {prelu(x[0], x[1])}; },
               .sum = 21});
  c.push_back({.op = "prelu",
               .name = "channels",
               .torch = "F.prelu(a, b)",
               .inputs = {normal({2, 3, 2, 2}).laid_out(MemoryLayout::channels_last), normal({3}).parameter()},
               .run = [](In x) -> Out { return {prelu(x[0], x[1])}; },
               .sum = 8});
  c.push_back({.op = "prelu",
               .name = "ranks",
               .torch = "(F.prelu(a, c), F.prelu(b, d))",
               .inputs = {normal({}), normal({3}), normal({}), normal({1})},
               .run = [](In x) -> Out {
                 return {prelu(x[0], x[2]), prelu(x[1], x[3])};
               }});
  c.push_back({.op = "sigmoid",
               .name = "glu",
               .torch = "(F.glu(a), F.glu(a, 0))",
               .inputs = {normal({4, 6})},
               .run = [](In x) -> Out {
                 return {glu(x[0]), glu(x[0], 0)};
               },
               .roundings = 2});
  c.push_back({.op = "softmax",
               .name = "softmin",
               .torch = "(F.softmin(a, 1), F.softmin(a, 0))",
               .inputs = {normal({4, 6})},
               .run = [](In x) -> Out {
                 return {softmin(x[0], 1), softmin(x[0], 0)};
               },
               .sum = 6});
}

void functions_in_place(Cases& c) {
  auto add = [&](const std::string& op, const std::string& torch, const Input& input,
                 Callable<const Tensor&(const Tensor&)> f, std::string name = "in_place") {
    c.push_back({.op = op,
                 .name = std::move(name),
                 .torch = torch,
                 .inputs = {input},
                 .run = [f](In x) -> Out { return {f(x[0].clone())}; },
                 .roundings = 2,
                 .bypasses_autocast = true});
  };
  const Input any = normal({3, 5}), inside = uniform({3, 5}, -0.75, 0.75), positive = uniform({3, 5}, 1.25, 4);
#define METHOD(NAME, INPUT) \
  add(                      \
      #NAME, "a.clone()." #NAME "_()", INPUT, [](const Tensor& x) -> auto& { return x.NAME##_(); })
  METHOD(tan, inside);
  METHOD(asin, inside);
  METHOD(acos, inside);
  METHOD(atan, any);
  METHOD(sinh, any);
  METHOD(cosh, any);
  // PyTorch has no derivative of these three in place.
  add(
      "asinh", "torch.asinh(a)", any, [](const Tensor& x) -> auto& { return x.asinh_(); });
  add(
      "acosh", "torch.acosh(a)", positive, [](const Tensor& x) -> auto& { return x.acosh_(); });
  add(
      "atanh", "torch.atanh(a)", inside, [](const Tensor& x) -> auto& { return x.atanh_(); });
  METHOD(log2, positive);
  METHOD(log10, positive);
  METHOD(exp2, any);
  METHOD(erfc, any);
  METHOD(erfinv, inside);
  METHOD(lgamma, positive);
  METHOD(digamma, positive);
  c.back().no_gradgradcheck = "the second derivative is not implemented";
  METHOD(sinc, positive);
  METHOD(trunc, any);
  METHOD(frac, positive);
  METHOD(sign, any);
  METHOD(square, any);
  METHOD(expm1, any);
  METHOD(log1p, positive);
  METHOD(sin, any);
  METHOD(cos, any);
  METHOD(erf, any);
  METHOD(floor, any);
  METHOD(ceil, any);
  METHOD(round, any);
  METHOD(logical_not, any.constant());  // PyTorch keeps the history of the overwritten values
#undef METHOD
#define FUNCTION(NAME) \
  add(                 \
      #NAME, "F." #NAME "(a.clone(), inplace=True)", any, [](const Tensor& x) -> auto& { return NAME##_(x); })
  FUNCTION(silu);
  FUNCTION(mish);
  FUNCTION(selu);
  FUNCTION(elu);
  FUNCTION(celu);
  FUNCTION(leaky_relu);
  FUNCTION(hardtanh);
  FUNCTION(hardsigmoid);
  FUNCTION(hardswish);
#undef FUNCTION
  add(
      "logit", "a.clone().logit_(0.25)", uniform({9}, 0.375, 0.625),
      [](const Tensor& x) -> auto& { return x.logit_(0.25); });
  add(
      "nan_to_num", "a.clone().nan_to_num_(nan=2)", any, [](const Tensor& x) -> auto& { return x.nan_to_num_(2); });
  add(
      "round_decimals", "a.clone().round_(decimals=1)", uniform({9}, 1.0625, 1.125),
      [](const Tensor& x) -> auto& { return x.round_(1); });
  add(
      "threshold", "F.threshold(a.clone(), 0.25, 1, inplace=True)", any,
      [](const Tensor& x) -> auto& { return threshold_(x, 0.25, 1); });
  add(
      "hardtanh", "F.relu6(a.clone(), inplace=True)", any, [](const Tensor& x) -> auto& { return relu6_(x); },
      "relu6_in_place");
  add(
      "mul", "a.clone().deg2rad_().rad2deg_()", any, [](const Tensor& x) -> auto& { return x.deg2rad_().rad2deg_(); },
      "degrees_in_place");
}

}  // namespace

Cases functions_cases() {
  Cases c;
  functions(c);
  activations(c);
  functions_in_place(c);
  return c;
}

}  // namespace tandem::testing
