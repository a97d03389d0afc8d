// Arithmetic and activations.
#include "tandem/ops/elementwise.h"
#include "tandem/ops/activation.h"

#include <cmath>

#include "cases/shared.h"
#include "tandem/ops/convert.h"

namespace tandem::testing {
namespace {

/// Makes an input of the given sizes for a unary op.
using Draw = Input (*)(std::vector<int64_t> sizes);
Input around_zero(std::vector<int64_t> sizes) { return normal(std::move(sizes)); }
Input positive(std::vector<int64_t> sizes) { return uniform(std::move(sizes), 0.25, 4); }
Input away_from_zero(std::vector<int64_t> sizes) { return uniform(std::move(sizes), -4, -0.25); }

/// Adds the variants that every unary op has; `torch` is an expression over `a`.
void unary(Cases& cases, const std::string& op, const std::string& torch, Tensor (*f)(const Tensor&), Draw draw,
           std::vector<double> special, const std::string& prefix = "") {
  auto run = [f](In x) -> Out { return {f(x[0])}; };
  cases.push_back({.op = op, .name = prefix + "vector", .torch = torch, .inputs = {draw({67})}, .run = run});
  cases.push_back({.op = op,
                   .name = prefix + "transposed",
                   .torch = torch,
                   .inputs = {draw({5, 9}).laid_out(MemoryLayout::transposed)},
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

/// Adds strides, ranks and sizes that the elementwise loop must handle; testing them with one op is enough.
void geometries(Cases& cases, const std::string& op, const std::string& torch, Tensor (*f)(const Tensor&)) {
  auto run = [f](In x) -> Out { return {f(x[0])}; };
  cases.push_back({.op = op, .name = "scalar", .torch = torch, .inputs = {normal({})}, .run = run});
  cases.push_back({.op = op, .name = "empty", .torch = torch, .inputs = {normal({2, 0, 3})}, .run = run});
  cases.push_back(
      {.op = op, .name = "gaps", .torch = torch, .inputs = {normal({3, 11}).laid_out(MemoryLayout::gaps)}, .run = run});
  cases.push_back({.op = op,
                   .name = "channels_last",
                   .torch = torch,
                   .inputs = {normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last)},
                   .run = run});
}

void unary_ops(Cases& c) {
  unary(c, "neg", "torch.neg(a)", neg, around_zero, {0, -0.0, inf, -inf, nan});
  unary(c, "abs", "torch.abs(a)", abs, around_zero, {0, -0.0, inf, -inf, nan});
  unary(c, "sign", "torch.sign(a)", sign, around_zero, {0, -0.0, inf, -inf, 2, -2});
  unary(c, "square", "torch.square(a)", square, around_zero, {0, -0.0, inf, nan, -200});
  unary(c, "reciprocal", "torch.reciprocal(a)", reciprocal, away_from_zero, {1, -2, 0, inf, -inf, nan});
  unary(c, "sqrt", "torch.sqrt(a)", sqrt, positive, {0, 4, inf, -1, nan, 9});
  unary(c, "rsqrt", "torch.rsqrt(a)", rsqrt, positive, {0, 4, inf, -1, nan, 0.25});
  unary(c, "exp", "torch.exp(a)", exp, around_zero, {0, 1, -1, 88, 100, -87, -90, -104, inf, -inf, nan});
  unary(c, "expm1", "torch.expm1(a)", expm1, around_zero, {0, -0.0, 1e-4, -1e-4, 20, -20, 100, inf, -inf, nan});
  unary(c, "log", "torch.log(a)", log, positive, {1, 0, -1, inf, nan, 0.5, 60000});
  unary(c, "log1p", "torch.log1p(a)", log1p, positive, {0, -0.0, 1e-4, -1e-4, -1, -2, inf, nan, 60000});
  unary(c, "sin", "torch.sin(a)", sin, around_zero, {0, -0.0, 100, -1000, 30000, inf, nan});
  unary(c, "cos", "torch.cos(a)", cos, around_zero, {0, -0.0, 100, -1000, 30000, inf, nan});
  unary(c, "erf", "torch.erf(a)", erf, around_zero, {0, -0.0, 1e-4, 3, -3, 10, -10, inf, -inf, nan});
  unary(c, "floor", "torch.floor(a)", floor, around_zero, {0.5, -0.5, 2, -2, inf, -inf, nan});
  unary(c, "ceil", "torch.ceil(a)", ceil, around_zero, {0.5, -0.5, 2, -2, inf, -inf, nan});
  unary(c, "round", "torch.round(a)", round, around_zero, {0.5, 1.5, 2.5, -0.5, -1.5, inf, nan});
  unary(c, "relu", "torch.relu(a)", relu, around_zero, {0, -0.0, inf, -inf, nan, 1, -1});
  unary(c, "sigmoid", "torch.sigmoid(a)", sigmoid, around_zero, {0, 20, -20, 88, -88, 100, -100, inf, -inf, nan});
  unary(c, "tanh", "torch.tanh(a)", tanh, around_zero, {0, -0.0, 1e-4, 9, -9, 50, -50, inf, -inf, nan});
  unary(c, "gelu", "F.gelu(a)", [](const Tensor& x) { return gelu(x); }, around_zero,
        {0, -0.0, 5, -5, 13, -13, 40, -40});
  unary(
      c, "gelu", "F.gelu(a, approximate='tanh')", [](const Tensor& x) { return gelu(x, "tanh"); }, around_zero,
      {0, -0.0, 5, -5, 13, -13, 40, -40}, "tanh_");
  unary(c, "softsign", "F.softsign(a)", softsign, around_zero, {0, -0.0, 1, -1, 1e4, -6e4, nan});
  unary(c, "softplus", "F.softplus(a)", [](const Tensor& x) { return softplus(x); }, around_zero,
        {0, 15, 25, -25, 90, -90, inf, -inf, nan});
  unary(c, "logsigmoid", "F.logsigmoid(a)", logsigmoid, around_zero, {0, 15, 25, -25, 90, -90});
  geometries(c, "exp", "torch.exp(a)", exp);
  geometries(c, "relu", "torch.relu(a)", relu);
  geometries(c, "tanh", "torch.tanh(a)", tanh);

  c.push_back({.op = "exp",
               .name = "integers",
               .torch = "torch.exp(a)",
               .inputs = {integers({6}, -3, 4)},
               .run = [](In x) -> Out { return {exp(x[0])}; }});
  c.push_back({.op = "abs",
               .name = "integers",
               .torch = "(torch.abs(a), torch.neg(a), torch.sign(a), torch.square(a), torch.relu(a))",
               .inputs = {integers({9}, -4, 5)},
               .run = [](In x) -> Out {
                 return {abs(x[0]), neg(x[0]), sign(x[0]), square(x[0]), relu(x[0])};
               },
               .sum = 0});
}

void addition(Cases& c) {
  c.push_back({.op = "add",
               .name = "tensors",
               .torch = "a + b",
               .inputs = {normal({67}), normal({67})},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "broadcast_alpha",
               .torch = "torch.add(a, b, alpha=2.5)",
               .inputs = {normal({3, 1, 4}), normal({2, 1})},
               .run = [](In x) -> Out { return {add(x[0], x[1], 2.5)}; }});
  c.push_back({.op = "add",
               .name = "bias",
               .torch = "a + b",
               .inputs = {normal({6, 19}), normal({19})},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "layouts",
               .torch = "a + b",
               .inputs = {normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last), normal({2, 3, 4, 5})},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "same_tensor_twice",
               .torch = "a + a",
               .inputs = {normal({4, 3}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out { return {x[0] + x[0]}; }});
  c.push_back({.op = "add",
               .name = "zero_dim",
               .torch = "a + b",
               .inputs = {normal({2, 3}), normal({})},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "zero_dim_f64_does_not_widen",
               .torch = "a + b",
               .inputs = {normal({2, 3}), normal({}).as(kDouble)},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "f64_widens",
               .torch = "a + b",
               .inputs = {normal({2, 3}), normal({3}).as(kDouble)},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "integer_tensor",
               .torch = "a + b",
               .inputs = {normal({2, 3}), integers({2, 3}, -5, 6)},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "add",
               .name = "integers",
               .torch = "(a + b, a + 1, a + 0.5, torch.add(a, b, alpha=3), c + a, c + c)",
               .inputs = {integers({5}, -9, 10), integers({5}, -9, 10).as(kInt), boolean({5})},
               .run = [](In x) -> Out {
                 return {x[0] + x[1], x[0] + 1, x[0] + 0.5, add(x[0], x[1], 3), x[2] + x[0], x[2] + x[2]};
               },
               .sum = 0});
  c.push_back(
      {.op = "add", .name = "number", .torch = "(a + 0.5, 2 + a)", .inputs = {normal({37})}, .run = [](In x) -> Out {
         return {x[0] + 0.5, 2 + x[0]};
       }});
  c.push_back({.op = "add",
               .name = "empty_broadcast",
               .torch = "a + b",
               .inputs = {normal({0, 3}), normal({3})},
               .run = [](In x) -> Out { return {x[0] + x[1]}; }});
  c.push_back({.op = "sub",
               .name = "broadcast_alpha",
               .torch = "torch.sub(a, b, alpha=0.5)",
               .inputs = {normal({5, 3}), normal({5, 1})},
               .run = [](In x) -> Out { return {sub(x[0], x[1], 0.5)}; }});
  c.push_back({.op = "sub",
               .name = "number",
               .torch = "(a - 0.75, 1.5 - a, torch.rsub(a, 2))",
               .inputs = {normal({37})},
               .run = [](In x) -> Out {
                 return {x[0] - 0.75, 1.5 - x[0], rsub(x[0], 2)};
               }});
  c.push_back({.op = "sub",
               .name = "integers",
               .torch = "(a - b, a - 3, 3 - a, a - 0.5)",
               .inputs = {integers({5}, -9, 10), integers({5}, -9, 10)},
               .run = [](In x) -> Out {
                 return {x[0] - x[1], x[0] - 3, 3 - x[0], x[0] - 0.5};
               },
               .sum = 0});
}

void multiplication(Cases& c) {
  c.push_back({.op = "mul",
               .name = "tensors",
               .torch = "a * b",
               .inputs = {normal({67}), normal({67})},
               .run = [](In x) -> Out { return {x[0] * x[1]}; }});
  c.push_back({.op = "mul",
               .name = "broadcast",
               .torch = "a * b",
               .inputs = {normal({3, 1, 4}), normal({2, 1})},
               .run = [](In x) -> Out { return {x[0] * x[1]}; }});
  c.push_back(
      {.op = "mul", .name = "same_tensor_twice", .torch = "a * a", .inputs = {normal({7})}, .run = [](In x) -> Out {
         return {x[0] * x[0]};
       }});
  c.push_back(
      {.op = "mul", .name = "number", .torch = "(a * 0.3, -2 * a)", .inputs = {normal({37})}, .run = [](In x) -> Out {
         return {x[0] * 0.3, -2 * x[0]};
       }});
  c.push_back({.op = "mul",
               .name = "bool_mask",
               .torch = "a * b",
               .inputs = {normal({2, 9}), boolean({2, 9})},
               .run = [](In x) -> Out { return {x[0] * x[1]}; }});
  c.push_back({.op = "mul",
               .name = "integers",
               .torch = "(a * b, a * 3, a * 0.5, a * c)",
               .inputs = {integers({5}, -9, 10), integers({5}, -9, 10), boolean({5})},
               .run = [](In x) -> Out {
                 return {x[0] * x[1], x[0] * 3, x[0] * 0.5, x[0] * x[2]};
               },
               .sum = 0});
  c.push_back({.op = "div",
               .name = "tensors",
               .torch = "a / b",
               .inputs = {normal({67}), uniform({67}, 0.5, 2)},
               .run = [](In x) -> Out { return {x[0] / x[1]}; }});
  c.push_back({.op = "div",
               .name = "broadcast",
               .torch = "a / b",
               .inputs = {normal({4}), uniform({3, 1}, -2, -0.5)},
               .run = [](In x) -> Out { return {x[0] / x[1]}; }});
  c.push_back({.op = "div", .name = "number", .torch = "a / 3", .inputs = {normal({37})}, .run = [](In x) -> Out {
                 return {x[0] / 3};
               }});
  c.push_back({.op = "div",
               .name = "integers",
               .torch = "(a / b, a / 4)",
               .inputs = {integers({6}, -9, 10), integers({6}, 1, 10)},
               .run = [](In x) -> Out {
                 return {x[0] / x[1], x[0] / 4};
               }});
  c.push_back({.op = "div",
               .name = "by_zero",
               .torch = "a / b",
               .inputs = {values({4}, {1, -1, 0, inf}), values({4}, {0, 0, 0, inf})},
               .run = [](In x) -> Out { return {x[0] / x[1]}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "reciprocal",
               .name = "of_number",
               .torch = "3 / a",
               .inputs = {uniform({11}, 0.5, 2)},
               .run = [](In x) -> Out { return {3 / x[0]}; },
               .roundings = 2});
}

void powers(Cases& c) {
  c.push_back({.op = "pow",
               .name = "tensors",
               .torch = "a ** b",
               .inputs = {uniform({3, 11}, 0.25, 2), normal({11})},
               .run = [](In x) -> Out { return {pow(x[0], x[1])}; }});
  c.push_back({.op = "pow",
               .name = "exponent_numbers",
               .torch = "(a ** 2, a ** 0.5, a ** -1, a ** 3, a ** 1.7, a ** 1, a ** 0, a ** -0.5)",
               .inputs = {uniform({19}, 0.25, 2)},
               .run = [](In x) -> Out {
                 return {pow(x[0], 2),   pow(x[0], 0.5), pow(x[0], -1), pow(x[0], 3),
                         pow(x[0], 1.7), pow(x[0], 1),   pow(x[0], 0),  pow(x[0], -0.5)};
               }});
  c.push_back({.op = "pow",
               .name = "negative_base",
               .torch = "(a ** 2, a ** 3, a ** -2)",
               .inputs = {uniform({9}, -2, -0.5)},
               .run = [](In x) -> Out {
                 return {pow(x[0], 2), pow(x[0], 3), pow(x[0], -2)};
               }});
  c.push_back({.op = "pow",
               .name = "base_number",
               .torch = "(2 ** a, 0.5 ** a)",
               .inputs = {normal({19})},
               .run = [](In x) -> Out {
                 return {pow(2, x[0]), pow(0.5, x[0])};
               }});
  c.push_back({.op = "pow",
               .name = "base_zero",
               .torch = "torch.pow(0, a)",
               .inputs = {values({5}, {2, 0.5, 0, -1, nan})},
               .run = [](In x) -> Out { return {pow(0, x[0])}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "pow",
               .name = "special",
               .torch = "a ** b",
               .inputs = {values({9}, {0, 0, 0, 0, 2, -2, -2, 1, inf}), values({9}, {0, 1, 2, -1, 0, 2, 3, inf, -1})},
               .run = [](In x) -> Out { return {pow(x[0], x[1])}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "pow",
               .name = "integers",
               .torch = "(a ** b, a ** 2, a ** 0.5, 2 ** b)",
               .inputs = {integers({6}, 1, 6), integers({6}, 0, 5)},
               .run = [](In x) -> Out {
                 return {pow(x[0], x[1]), pow(x[0], 2), pow(x[0], 0.5), pow(2, x[1])};
               }});
  c.push_back({.op = "atan2",
               .name = "broadcast",
               .torch = "torch.atan2(a, b)",
               .inputs = {normal({3, 11}), normal({3, 1})},
               .run = [](In x) -> Out { return {atan2(x[0], x[1])}; }});
  c.push_back({.op = "atan2",
               .name = "axes",
               .torch = "torch.atan2(a, b)",
               .inputs = {values({7}, {0, 0, 1, -1, inf, 2, 0}), values({7}, {1, -1, 0, 0, inf, -inf, 0})},
               .run = [](In x) -> Out { return {atan2(x[0], x[1])}; },
               .no_gradcheck = at_kinks});
}

void choices(Cases& c) {
  c.push_back({.op = "clamp",
               .name = "bounds",
               .torch = "(torch.clamp(a, -0.5, 1), torch.clamp(a, min=0.25), torch.clamp(a, max=0.25))",
               .inputs = {normal({41})},
               .run = [](In x) -> Out {
                 return {clamp(x[0], -0.5, 1), clamp(x[0], 0.25), clamp(x[0], {}, 0.25)};
               }});
  c.push_back({.op = "clamp",
               .name = "special",
               .torch = "torch.clamp(a, -1, 1)",
               .inputs = {values({7}, {-1, 1, 0, inf, -inf, nan, 2})},
               .run = [](In x) -> Out { return {clamp(x[0], -1, 1)}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "clamp",
               .name = "integers",
               .torch = "torch.clamp(a, -2, 3)",
               .inputs = {integers({9}, -5, 6)},
               .run = [](In x) -> Out { return {clamp(x[0], -2, 3)}; },
               .sum = 0});
  c.push_back({.op = "maximum",
               .name = "broadcast",
               .torch = "torch.maximum(a, b)",
               .inputs = {normal({4, 7}), normal({7})},
               .run = [](In x) -> Out { return {maximum(x[0], x[1])}; },
               .sum = 4});
  c.push_back({.op = "maximum",
               .name = "ties_and_nan",
               .torch = "torch.maximum(a, b)",
               .inputs = {values({6}, {1, 2, 3, nan, 1, inf}), values({6}, {1, 3, 2, 1, nan, -inf})},
               .run = [](In x) -> Out { return {maximum(x[0], x[1])}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "minimum",
               .name = "broadcast",
               .torch = "torch.minimum(a, b)",
               .inputs = {normal({4, 7}), normal({4, 1})},
               .run = [](In x) -> Out { return {minimum(x[0], x[1])}; },
               .sum = 7});
  c.push_back({.op = "minimum",
               .name = "ties_and_nan",
               .torch = "torch.minimum(a, b)",
               .inputs = {values({6}, {1, 2, 3, nan, 1, inf}), values({6}, {1, 3, 2, 1, nan, -inf})},
               .run = [](In x) -> Out { return {minimum(x[0], x[1])}; },
               .no_gradcheck = at_kinks});
  c.push_back({.op = "where",
               .name = "tensors",
               .torch = "torch.where(a, b, c)",
               .inputs = {boolean({3, 7}), normal({3, 7}), normal({3, 7}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out { return {where(x[0], x[1], x[2])}; },
               .sum = 0});
  c.push_back({.op = "where",
               .name = "broadcast",
               .torch = "torch.where(a, b, c)",
               .inputs = {boolean({3, 1}), normal({7}), normal({})},
               .run = [](In x) -> Out { return {where(x[0], x[1], x[2])}; },
               .sum = 21});
  c.push_back({.op = "where",
               .name = "numbers",
               .torch = "(torch.where(a, b, 0.5), torch.where(a, -2.0, b))",
               .inputs = {boolean({9}), normal({9})},
               .run = [](In x) -> Out {
                 return {where(x[0], x[1], 0.5), where(x[0], -2.0, x[1])};
               },
               .sum = 0});
  c.push_back({.op = "where",
               .name = "blocks_nan_gradients",
               .torch = "torch.where(a > 0, torch.sqrt(torch.where(a > 0, a, 1.0)), 0.0)",
               .inputs = {values({4}, {-1, 4, 0, 9})},
               .run = [](In x) -> Out { return {where(x[0] > 0, sqrt(where(x[0] > 0, x[0], 1.0)), 0.0)}; },
               .no_gradcheck = at_kinks});
}

}  // namespace

Cases elementwise_cases() {
  Cases c;
  unary_ops(c);
  addition(c);
  multiplication(c);
  powers(c);
  choices(c);
  return c;
}

}  // namespace tandem::testing
