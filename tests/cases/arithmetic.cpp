// Division with remainder, functions of two numbers, bits, and ops of three operands.
#include "tandem/ops/arithmetic.h"

#include "cases/shared.h"
#include "tandem/ops/convert.h"

namespace tandem::testing {
namespace {

using BinaryFunction = Tensor (*)(const Tensor&, const Tensor&);

/// Adds an op of two tensors: equal sizes, sizes that broadcast, and special values.
void binary(Cases& c, const std::string& op, const std::string& torch, BinaryFunction f, const Input& a, const Input& b,
            std::vector<double> special_a, std::vector<double> special_b, const std::string& prefix = "") {
  auto run = [f](In x) -> Out { return {f(x[0], x[1])}; };
  auto sized = [](Input input, std::vector<int64_t> sizes) {
    input.sizes = std::move(sizes);
    return input;
  };
  c.push_back({.op = op,
               .name = prefix + "tensors",
               .torch = torch,
               .inputs = {sized(a, {3, 11}).laid_out(MemoryLayout::transposed), sized(b, {3, 11})},
               .run = run});
  c.push_back({.op = op,
               .name = prefix + "broadcast",
               .torch = torch,
               .inputs = {sized(a, {3, 1, 4}), sized(b, {2, 1})},
               .run = run,
               .sum = 12});
  if (special_a.empty()) return;
  const auto n = static_cast<int64_t>(special_a.size());
  c.push_back({.op = op,
               .name = prefix + "special",
               .torch = torch,
               .inputs = {values({n}, std::move(special_a)), values({n}, std::move(special_b))},
               .run = run,
               .no_gradcheck = at_kinks});
}

void divisions(Cases& c) {
  const Input any = uniform({}, 0.25, 0.75), divisor = uniform({}, 1, 2), fixed = any.constant();
  const std::vector<double> a = {7, -7, 7, -7, 6, 0, 1, -1, 5.5}, b = {3, 3, -3, -3, 3, 2, 0.25, 0.5, inf};
  binary(c, "fmod", "torch.fmod(a, b)", fmod, any, divisor, a, b);
  binary(c, "remainder", "torch.remainder(a, b)", remainder, any, divisor, a, b);
  binary(c, "floor_divide", "torch.floor_divide(a, b)", floor_divide, fixed, divisor.constant(), {}, {});
  binary(
      c, "floor_divide", "torch.div(a, b, rounding_mode='floor')",
      [](const Tensor& a, const Tensor& b) { return div(a, b, "floor"); }, any, divisor, a, b, "div_");
  binary(
      c, "trunc_divide", "torch.div(a, b, rounding_mode='trunc')",
      [](const Tensor& a, const Tensor& b) { return div(a, b, "trunc"); }, any, divisor, a, b);
  c.push_back({.op = "floor_divide",
               .name = "integers",
               .torch = "(a // b, torch.fmod(a, b), torch.remainder(a, b), torch.div(a, b, rounding_mode='trunc'), "
                        "a // -3, torch.fmod(a, 3), a % -3, torch.div(a, 2, rounding_mode='floor'), c // 3)",
               .inputs = {integers({9}, -9, 10), integers({9}, 1, 5), integers({4}, 0, 9).as(kByte)},
               .run = [](In x) -> Out {
                 return {floor_divide(x[0], x[1]),
                         fmod(x[0], x[1]),
                         remainder(x[0], x[1]),
                         div(x[0], x[1], "trunc"),
                         floor_divide(x[0], -3),
                         fmod(x[0], 3),
                         x[0] % -3,
                         div(x[0], 2, "floor"),
                         floor_divide(x[2], 3)};
               },
               .sum = 0});
  c.push_back(
      {.op = "remainder",
       .name = "numbers",
       .torch = "(torch.fmod(a, 0.5), torch.remainder(a, -0.5), a % 2, torch.fmod(b, 2.5), torch.remainder(7, c))",
       .inputs = {uniform({9}, 0.625, 0.875), integers({4}, -9, 9), integers({5}, 2, 6)},
       .run = [](In x) -> Out {
         return {fmod(x[0], 0.5), remainder(x[0], -0.5), x[0] % 2, fmod(x[1], 2.5), remainder(7, x[2])};
       }});
}

void binary_functions(Cases& c) {
  const Input any = normal({}), positive = uniform({}, 0.25, 4);
  binary(c, "hypot", "torch.hypot(a, b)", hypot, any, any, {3, 0, inf, 1, -6e4}, {4, 2, 1, -inf, 200});
  binary(c, "fmax", "torch.fmax(a, b)", fmax, any, any, {1, 2, 3, nan, 1, inf, nan}, {1, 3, 2, 1, nan, -inf, nan});
  binary(c, "fmin", "torch.fmin(a, b)", fmin, any, any, {1, 2, 3, nan, 1, inf, nan}, {1, 3, 2, 1, nan, -inf, nan});
  binary(c, "copysign", "torch.copysign(a, b)", copysign, positive, any, {1, -1, 0, 2, 3}, {-1, 1, -1, 0, -4});
  const std::vector<double> edges = {0, 1, -1, 0x1p-14, -0x1p-14, 0x1p-20, 60000, -2};
  const std::vector<double> towards = {1, 2, 0, 0, -1, 0, inf, -3};
  for (DType dtype : {kHalf, kBFloat16}) {
    c.push_back({.op = "nextafter",
                 .name = dtype == kHalf ? "f16" : "bf16",
                 .torch = "(torch.nextafter(a, b).float(), torch.nextafter(b, a).float())",
                 .inputs = {values({8}, edges).as(dtype).constant(), values({8}, towards).as(dtype).constant()},
                 .run = [](In x) -> Out {
                   return {nextafter(x[0], x[1]).to(kFloat), nextafter(x[1], x[0]).to(kFloat)};
                 },
                 .sum = 0,
                 .no_low = "the next number depends on the dtype",
                 .bypasses_autocast = true});
  }
  c.push_back({.op = "nextafter",
               .name = "directions",
               .torch = "(torch.nextafter(a, b), torch.nextafter(b, a), torch.nextafter(a, c))",
               .inputs = {normal({5}), values({3, 1}, {0.5, 0, -2}), values({5}, {0, 1, inf, -inf, nan})},
               .run = [](In x) -> Out {
                 return {nextafter(x[0], x[1]), nextafter(x[1], x[0]), nextafter(x[0], x[2])};
               },
               .sum = 5,
               .no_gradcheck = "the gradient is that of the identity, as in PyTorch",
               .no_low = "the next number depends on the dtype"});
  c.push_back({.op = "frexp",
               .name = "all",
               .torch = "(*torch.frexp(a), *torch.frexp(b))",
               .inputs = {uniform({3, 5}, -8, 8),
                          values({12}, {0, -0.0, 1, -1, 0.5, 6, -0.375, inf, -inf, nan, 0x1p-24, 60000}).constant()},
               .run = [](In x) -> Out {
                 const auto [m, e] = frexp(x[0]);
                 const auto [n, f] = x[1].frexp();
                 return {m, e, n, f};
               },
               .no_low = "a rounded number may have another exponent"});
  c.push_back({.op = "frexp",
               .name = "subnormal",
               .torch = "(*torch.frexp(a), *torch.frexp(b), *(t.float() for t in torch.frexp(c)))",
               .inputs = {values({4}, {0x1p-149, -0x1.8p-130, 0x1.fffffcp-127, 0x1p-126}).as(kFloat).constant(),
                          values({3}, {0x1p-1074, 0x1.8p-1030, -0x1p1023}).as(kDouble).constant(),
                          values({3}, {0x1p-24, -0x1.8p-20, 65504}).as(kHalf).constant()},
               .run = [](In x) -> Out {
                 const auto [m, e] = frexp(x[0]);
                 const auto [n, f] = frexp(x[1]);
                 const auto [o, g] = frexp(x[2]);
                 return {m, e, n, f, o.to(kFloat), g.to(kFloat)};
               },
               .sum = 0,
               .bypasses_autocast = true});
  binary(c, "logaddexp", "torch.logaddexp(a, b)", logaddexp, any, any, {1, 100, -100, 0}, {2, 0, 100, -inf});
  binary(c, "logaddexp2", "torch.logaddexp2(a, b)", logaddexp2, any, any, {1, 100, -100, 0}, {2, 0, 100, -inf});
  binary(c, "xlogy", "torch.xlogy(a, b)", xlogy, any, positive, {0, 0, 1, 2, 3}, {2, 0, 1, 4, inf});
  c.push_back({.op = "xlogy",
               .name = "numbers",
               .torch = "(torch.xlogy(a, 3), torch.xlogy(0.5, a), torch.xlogy(b, 2), torch.copysign(a, -1.0))",
               .inputs = {uniform({9}, 0.25, 4), integers({4}, 0, 5)},
               .run = [](In x) -> Out {
                 return {xlogy(x[0], 3), xlogy(0.5, x[0]), xlogy(x[1], 2), copysign(x[0], -1.0)};
               }});
  c.push_back({.op = "heaviside",
               .name = "values",
               .torch = "(torch.heaviside(a, b), torch.heaviside(c, d))",
               .inputs = {values({4}, {-1, 0, -0.0, 2}).constant(), values({1}, {0.5}).constant(), integers({5}, -1, 2),
                          integers({5}, 3, 9)},
               .run = [](In x) -> Out {
                 return {heaviside(x[0], x[1]), heaviside(x[2], x[3])};
               },
               .sum = 0,
               .no_low = "refuses different dtypes"});
  c.push_back({.op = "gcd",
               .name = "integers",
               .torch = "(torch.gcd(a, b), torch.gcd(a, torch.zeros_like(a)))",
               .inputs = {integers({9}, -60, 60), integers({9}, -60, 60)},
               .run = [](In x) -> Out {
                 return {gcd(x[0], x[1]), gcd(x[0], x[0] * 0)};
               },
               .sum = 0});
  c.push_back({.op = "lcm",
               .name = "integers",
               .torch = "torch.lcm(a, b)",
               .inputs = {integers({9}, -9, 60), integers({9}, -60, 60)},
               .run = [](In x) -> Out { return {lcm(x[0], x[1])}; },
               .sum = 0});
  c.push_back({.op = "mul",
               .name = "ldexp",
               .torch = "(torch.ldexp(a, b), torch.ldexp(b, b))",
               .inputs = {normal({2, 5}), integers({5}, -3, 4)},
               .run = [](In x) -> Out {
                 return {ldexp(x[0], x[1]), ldexp(x[1], x[1])};
               },
               .no_low = "pow is f32 under autocast, which widens the product"});
  c.push_back(
      {.op = "mul",
       .name = "ldexp_far",
       .torch = "torch.ldexp(a, b)",
       .inputs = {values({3}, {0x1p-100, 0x1p-120, 0x1p+100}).constant(), values({3}, {180, 200, -150}).as(kInt)},
       .run = [](In x) -> Out { return {ldexp(x[0], x[1])}; },
       .no_low = "outside their range"});
  c.push_back({.op = "bitwise_and",
               .name = "rank_0_and_number",
               .torch = "(a & 6, a << 1, torch.fmod(a, 4), torch.where(b, a, 3))",
               .inputs = {values({}, {11}).as(kChar), boolean({})},
               .run = [](In x) -> Out {
                 return {bitwise_and(x[0], 6), bitwise_left_shift(x[0], 1), fmod(x[0], 4), where(x[1], x[0], 3)};
               },
               .sum = 0});
  c.push_back({.op = "pow",
               .name = "float_power",
               .torch = "(torch.float_power(a, b), torch.float_power(a, 2), torch.float_power(2, b), "
                        "torch.float_power(c, -1))",
               .inputs = {uniform({7}, 0.25, 2), normal({7}), integers({4}, 1, 9)},
               .run = [](In x) -> Out {
                 return {float_power(x[0], x[1]), float_power(x[0], 2), float_power(2, x[1]), float_power(x[2], -1)};
               },
               .bypasses_autocast = true});
  c.push_back({.op = "sub",
               .name = "rsub",
               .torch = "(torch.rsub(a, b), torch.rsub(a, b, alpha=2), torch.rsub(c, 5, alpha=3))",
               .inputs = {normal({3, 4}), normal({4}), integers({5}, -9, 9)},
               .run = [](In x) -> Out {
                 return {rsub(x[0], x[1]), rsub(x[0], x[1], 2), rsub(x[2], 5, 3)};
               }});
  c.push_back({.op = "mul",
               .name = "other_names",
               .torch = "(torch.multiply(a, b), torch.divide(a, b), torch.subtract(a, b), torch.negative(a), "
                        "torch.absolute(a), torch.greater(a, b), torch.less_equal(a, b), torch.not_equal(a, b), "
                        "torch.true_divide(a, 2), torch.clip(a, -1, 1), torch.arctan2(a, b))",
               .inputs = {normal({9}), uniform({9}, 0.25, 4)},
               .run = [](In x) -> Out {
                 return {multiply(x[0], x[1]), divide(x[0], x[1]),  subtract(x[0], x[1]),   negative(x[0]),
                         absolute(x[0]),       greater(x[0], x[1]), less_equal(x[0], x[1]), not_equal(x[0], x[1]),
                         true_divide(x[0], 2), clip(x[0], -1, 1),   arctan2(x[0], x[1])};
               },
               .no_low = "ops with different policies"});
}

void bounds(Cases& c) {
  c.push_back({.op = "maximum",
               .name = "clamp_with_tensors",
               .torch = "(torch.clamp(a, b, c), torch.clamp(a, min=b), torch.clamp(a, max=c), torch.clamp_min(a, b), "
                        "torch.clamp_max(a, c))",
               .inputs = {normal({3, 5}), uniform({5}, -1, -0.25), uniform({3, 1}, 0.25, 1)},
               .run = [](In x) -> Out {
                 return {clamp(x[0], x[1], x[2]), clamp(x[0], x[1]), clamp(x[0], std::optional<Tensor>(), x[2]),
                         clamp_min(x[0], x[1]), clamp_max(x[0], x[2])};
               },
               .sum = 25});
  c.push_back({.op = "clamp",
               .name = "one_bound",
               .torch = "(torch.clamp_min(a, 0.25), torch.clamp_max(a, 0.25), torch.clamp_min(b, 1))",
               .inputs = {normal({9}), integers({5}, -3, 4)},
               .run = [](In x) -> Out {
                 return {clamp_min(x[0], 0.25), clamp_max(x[0], 0.25), clamp_min(x[1], 1)};
               },
               .sum = 2});
  c.push_back(
      {.op = "clamp",
       .name = "tensors",
       .torch = "torch.clamp(a, b, c)",
       .inputs = {normal({3, 5}), uniform({5}, -1, 0.5), uniform({3, 1}, 0.5, 2)},
       .run = [](In x) -> Out { return {clamp(x[0], std::optional<Tensor>(x[1]), std::optional<Tensor>(x[2]))}; },
       .sum = 5});
  c.push_back(
      {.op = "clamp",
       .name = "tensors_ties_and_nan",
       .torch = "torch.clamp(a, b, c)",
       .inputs = {values({8}, {1, 2, 3, 0, 1, nan, nan, 0}), values({8}, {1, 1, 3.5, 2, 1, 0, 1, 1}),
                  values({8}, {4, 2, 1, 1, 1, 1, 0, 1})},
       .run = [](In x) -> Out { return {clamp(x[0], std::optional<Tensor>(x[1]), std::optional<Tensor>(x[2]))}; },
       .no_gradcheck = "kinks"});
}

void bits(Cases& c) {
  auto add = [&](const std::string& op, BinaryFunction f, Tensor (*number)(const Tensor&, Scalar),
                 const std::string& name) {
    c.push_back({.op = op,
                 .name = "integers",
                 .torch = "(torch." + name + "(a, b), torch." + name + "(a, 5), torch." + name + "(c, d))",
                 .inputs = {integers({9}, -99, 99), integers({9}, -99, 99), integers({3, 1}, 0, 255).as(kByte),
                            integers({4}, 0, 255).as(kByte)},
                 .run = [=](In x) -> Out {
                   return {f(x[0], x[1]), number(x[0], 5), f(x[2], x[3])};
                 },
                 .sum = 0});
    c.push_back({.op = op,
                 .name = "bool",
                 .torch = "(torch." + name + "(a, b), torch." + name + "(a, c))",
                 .inputs = {boolean({9}), boolean({9}), integers({9}, -9, 9)},
                 .run = [=](In x) -> Out {
                   return {f(x[0], x[1]), f(x[0], x[2])};
                 },
                 .sum = 0});
  };
  add("bitwise_and", bitwise_and, bitwise_and, "bitwise_and");
  add("bitwise_or", bitwise_or, bitwise_or, "bitwise_or");
  add("bitwise_xor", bitwise_xor, bitwise_xor, "bitwise_xor");
  c.push_back({.op = "bitwise_not",
               .name = "integers_and_bool",
               .torch = "(~a, ~b, ~c)",
               .inputs = {integers({9}, -99, 99), boolean({9}), integers({9}, 0, 255).as(kByte)},
               .run = [](In x) -> Out {
                 return {~x[0], ~x[1], ~x[2]};
               },
               .sum = 0});
  c.push_back({.op = "bitwise_left_shift",
               .name = "integers",
               .torch = "(a << b, a << 3, a << 70, a << -1, c << 4)",
               .inputs = {integers({9}, -99, 99), integers({9}, 0, 9), integers({9}, 0, 255).as(kByte)},
               .run = [](In x) -> Out {
                 return {x[0] << x[1], x[0] << 3, x[0] << 70, x[0] << -1, x[2] << 4};
               },
               .sum = 0});
  c.push_back({.op = "bitwise_right_shift",
               .name = "integers",
               .torch = "(a >> b, a >> 3, a >> 70, c >> 4)",
               .inputs = {integers({9}, -99, 99), integers({9}, 0, 9), integers({9}, 0, 255).as(kByte)},
               .run = [](In x) -> Out {
                 return {x[0] >> x[1], x[0] >> 3, x[0] >> 70, x[2] >> 4};
               },
               .sum = 0});
}

void three_operands(Cases& c) {
  c.push_back({.op = "lerp",
               .name = "number",
               .torch = "(torch.lerp(a, b, 0.25), torch.lerp(a, c, 0.75), torch.lerp(a, b, 1))",
               .inputs = {normal({3, 5}), normal({3, 5}).laid_out(MemoryLayout::transposed), normal({5})},
               .run = [](In x) -> Out {
                 return {lerp(x[0], x[1], 0.25), lerp(x[0], x[2], 0.75), lerp(x[0], x[1], 1)};
               },
               .sum = 3,
               .no_low = "refuses different dtypes"});
  c.push_back(
      {.op = "lerp",
       .name = "tensor",
       .torch = "(torch.lerp(a, b, c), torch.lerp(d, d * 2, e))",
       .inputs = {normal({3, 1, 4}), normal({2, 4}), uniform({2, 1}, -0.25, 1.25), normal({7}), uniform({}, 0.25, 0.5)},
       .run = [](In x) -> Out {
         return {lerp(x[0], x[1], x[2]), lerp(x[3], x[3] * 2, x[4])};
       },
       .sum = 24,
       .no_low = "refuses different dtypes"});
  c.push_back({.op = "addcmul",
               .name = "broadcast",
               .torch = "(torch.addcmul(a, b, c, value=0.5), torch.addcmul(b, a, c))",
               .inputs = {normal({3, 1, 4}), normal({2, 1}), normal({2, 4})},
               .run = [](In x) -> Out {
                 return {addcmul(x[0], x[1], x[2], 0.5), addcmul(x[1], x[0], x[2])};
               },
               .sum = 24});
  c.push_back({.op = "addcmul",
               .name = "integers",
               .torch = "(torch.addcmul(a, b, c, value=3), torch.addcmul(d, b, c))",
               .inputs = {integers({5}, -9, 9), integers({5}, -9, 9), integers({5}, -9, 9), normal({5})},
               .run = [](In x) -> Out {
                 return {addcmul(x[0], x[1], x[2], 3), addcmul(x[3], x[1], x[2])};
               }});
  c.push_back({.op = "addcdiv",
               .name = "broadcast",
               .torch = "(torch.addcdiv(a, b, c, value=0.5), torch.addcdiv(b, a, c))",
               .inputs = {normal({3, 1, 4}), normal({2, 1}), uniform({2, 4}, 0.5, 2)},
               .run = [](In x) -> Out {
                 return {addcdiv(x[0], x[1], x[2], 0.5), addcdiv(x[1], x[0], x[2])};
               },
               .sum = 24});
}

void arithmetic_in_place(Cases& c) {
  auto add = [&](const std::string& op, const std::string& torch, std::vector<Input> inputs,
                 Callable<const Tensor&(const Tensor&, In)> f, const std::string& name = "") {
    c.push_back({.op = op,
                 .name = name + "in_place",
                 .torch = "a.clone()." + torch,
                 .inputs = std::move(inputs),
                 .run = [f](In x) -> Out { return {f(x[0].clone(), x)}; },
                 .sum = 24,
                 .roundings = 3,
                 .bypasses_autocast = true});
  };
  const Input a = uniform({3, 5}, 0.25, 0.75), b = uniform({5}, 1, 2), n = integers({3, 5}, -9, 9);
  const Input divisor = integers({5}, 1, 5);
#define METHOD(NAME) \
  add(               \
      #NAME, #NAME "_(b)", {a, b}, [](const Tensor& y, In x) -> auto& { return y.NAME##_(x[1]); })
  METHOD(fmod);
  METHOD(remainder);
  METHOD(hypot);
  METHOD(copysign);
  METHOD(nextafter);
  METHOD(xlogy);
  METHOD(atan2);
  METHOD(ge);
#undef METHOD
#define METHOD(NAME) \
  add(               \
      #NAME, #NAME "_(b)", {n, divisor}, [](const Tensor& y, In x) -> auto& { return y.NAME##_(x[1]); })
  METHOD(floor_divide);
  METHOD(bitwise_and);
  METHOD(bitwise_or);
  METHOD(bitwise_xor);
  METHOD(gcd);
  METHOD(lcm);
  METHOD(bitwise_left_shift);
  METHOD(bitwise_right_shift);
#undef METHOD
  // PyTorch keeps the history of the overwritten values.
  add(
      "logical_and", "logical_and_(b)", {a.constant(), b.constant()},
      [](const Tensor& y, In x) -> auto& { return y.logical_and_(x[1]); });
  add(
      "fmod", "fmod_(0.5)", {uniform({9}, 0.625, 0.875)}, [](const Tensor& y, In) -> auto& { return y.fmod_(0.5); },
      "number_");
  add(
      "trunc_divide", "div_(b, rounding_mode='trunc')", {n, divisor},
      [](const Tensor& y, In x) -> auto& { return y.div_(x[1], "trunc"); });
  add(
      "bitwise_not", "bitwise_not_()", {n}, [](const Tensor& y, In) -> auto& { return y.bitwise_not_(); });
  add(
      "lerp", "lerp_(b, 0.25)", {a, b}, [](const Tensor& y, In x) -> auto& { return y.lerp_(x[1], 0.25); });
  add(
      "lerp", "lerp_(b, c)", {a, b, uniform({3, 1}, 0, 1)},
      [](const Tensor& y, In x) -> auto& { return y.lerp_(x[1], x[2]); }, "tensor_");
  add(
      "addcdiv", "addcdiv_(c, b, value=0.5)", {a, b, normal({3, 1})},
      [](const Tensor& y, In x) -> auto& { return y.addcdiv_(x[2], x[1], 0.5); });
  add(
      "addcmul", "addcmul_(b, c, value=2)", {n, divisor, integers({5}, -9, 9)},
      [](const Tensor& y, In x) -> auto& { return y.addcmul_(x[1], x[2], 2); });
  add(
      "maximum", "clamp_(b, c)", {normal({3, 5}), uniform({5}, -1, -0.25), uniform({3, 1}, 0.25, 1)},
      [](const Tensor& y, In x) -> auto& { return y.clamp_(x[1], x[2]); }, "clamp_");
  add(
      "clamp", "clamp_min_(0.25).clamp_max_(0.5)", {normal({3, 5})},
      [](const Tensor& y, In) -> auto& { return y.clamp_min_(0.25).clamp_max_(0.5); }, "one_bound_");
}

}  // namespace

Cases arithmetic_cases() {
  Cases c;
  divisions(c);
  binary_functions(c);
  bounds(c);
  bits(c);
  three_operands(c);
  arithmetic_in_place(c);
  return c;
}

}  // namespace tandem::testing
