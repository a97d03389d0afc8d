// Comparisons, logic, and tests for NaN and infinities.
#include "cases/shared.h"
#include "tandem/ops/elementwise.h"

namespace tandem::testing {
namespace {

/// Covers equal and unequal numbers, zeros of both signs, NaN and inf; then scalars, broadcasting and integers.
void comparison(Cases& cases, const std::string& op, const std::string& sign,
                Tensor (*tensors)(const Tensor&, const Tensor&), Tensor (*number)(const Tensor&, Scalar)) {
  auto run = [tensors](In x) -> Out { return {tensors(x[0], x[1])}; };
  cases.push_back({.op = op,
                   .name = "special",
                   .torch = "a " + sign + " b",
                   .inputs = {values({9}, {0, 1, 2, 2, nan, inf, inf, -inf, nan}),
                              values({9}, {-0.0, 2, 1, 2, nan, inf, -inf, 1, 0})},
                   .run = run,
                   .sum = 0});
  cases.push_back({.op = op,
                   .name = "broadcast",
                   .torch = "a " + sign + " b",
                   .inputs = {integers({3, 1, 5}, 0, 3), integers({4, 1}, 0, 3).as(kInt)},
                   .run = run,
                   .sum = 0});
  cases.push_back({.op = op,
                   .name = "mixed_dtypes",
                   .torch = "a " + sign + " b",
                   .inputs = {values({4}, {0, 1, 1.5, -1}), integers({4}, 0, 2)},
                   .run = run,
                   .sum = 0});
  cases.push_back({.op = op,
                   .name = "number",
                   .torch = "(a " + sign + " 0.25, b " + sign + " 1, b " + sign + " 0.5)",
                   .inputs = {values({5, 3}, {0.25, 1, 0.5, -1, 0.25, nan, 2, 3, 0.25, 0, -0.0, inf, 1, 1, 1})
                                  .laid_out(MemoryLayout::transposed),
                              integers({7}, 0, 3)},
                   .run = [number](In x) -> Out {
                     return {number(x[0], 0.25), number(x[1], 1), number(x[1], 0.5)};
                   },
                   .sum = 0});
}

void logic(Cases& cases, const std::string& op, Tensor (*f)(const Tensor&, const Tensor&)) {
  cases.push_back({.op = op,
                   .name = "dtypes",
                   .torch = "(torch." + op + "(a, b), torch." + op + "(c, d), torch." + op + "(a, c))",
                   .inputs = {boolean({2, 9}), boolean({9}), integers({2, 9}, -1, 2),
                              values({9}, {0, 1, -0.0, nan, inf, 0, 0, 2, 1})},
                   .run = [f](In x) -> Out {
                     return {f(x[0], x[1]), f(x[2], x[3]), f(x[0], x[2])};
                   },
                   .sum = 0});
}

void test(Cases& cases, const std::string& op, Tensor (*f)(const Tensor&)) {
  auto run = [f](In x) -> Out { return {f(x[0])}; };
  cases.push_back({.op = op,
                   .name = "special",
                   .torch = "torch." + op + "(a)",
                   .inputs = {values({6}, {0, -0.0, inf, -inf, nan, 60000})},
                   .run = run,
                   .sum = 0});
  cases.push_back({.op = op,
                   .name = "integers",
                   .torch = "torch." + op + "(a)",
                   .inputs = {integers({4}, -1, 2)},
                   .run = run,
                   .sum = 0});
}

}  // namespace

Cases comparison_cases() {
  Cases c;
  comparison(c, "eq", "==", eq, eq);
  comparison(c, "ne", "!=", ne, ne);
  comparison(c, "lt", "<", lt, lt);
  comparison(c, "le", "<=", le, le);
  comparison(c, "gt", ">", gt, gt);
  comparison(c, "ge", ">=", ge, ge);
  logic(c, "logical_and", logical_and);
  logic(c, "logical_or", logical_or);
  logic(c, "logical_xor", logical_xor);
  test(c, "isfinite", isfinite);
  test(c, "isnan", isnan);
  test(c, "isinf", isinf);
  test(c, "logical_not", logical_not);
  c.push_back({.op = "logical_not",
               .name = "bool",
               .torch = "torch.logical_not(a)",
               .inputs = {boolean({11})},
               .run = [](In x) -> Out { return {logical_not(x[0])}; },
               .sum = 0});
  return c;
}

}  // namespace tandem::testing
