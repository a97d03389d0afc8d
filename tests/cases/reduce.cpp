// Reductions.
#include "tandem/ops/reduce.h"

#include "cases/shared.h"

namespace tandem::testing {
namespace {

void reduced_sums(Cases& c) {
  c.push_back({.op = "sum",
               .name = "all",
               .torch = "torch.sum(a)",
               .inputs = {normal({7, 11})},
               .run = [](In x) -> Out { return {sum(x[0])}; },
               .sum = 77});
  c.push_back(
      {.op = "sum",
       .name = "dims",
       .torch = "(a.sum(0), a.sum(-1), a.sum(1, keepdim=True), a.sum((0, 2)), a.sum((-1, 0), keepdim=True))",
       .inputs = {normal({3, 4, 5})},
       .run = [](In x) -> Out {
         return {sum(x[0], {0}), sum(x[0], {-1}), sum(x[0], {1}, true), sum(x[0], {0, 2}), sum(x[0], {-1, 0}, true)};
       },
       .sum = 15});
  c.push_back({.op = "sum",
               .name = "layouts",
               .torch = "(a.sum(0), a.sum(1), b.sum((0, 2, 3)), b.sum(1))",
               .inputs = {normal({6, 9}).laid_out(MemoryLayout::transposed),
                          normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last)},
               .run = [](In x) -> Out {
                 return {sum(x[0], {0}), sum(x[0], {1}), sum(x[1], {0, 2, 3}), sum(x[1], {1})};
               },
               .sum = 40});
  c.push_back({.op = "sum",
               .name = "scalar_and_empty",
               .torch = "(a.sum(), b.sum(), b.sum(0), b.sum(1))",
               .inputs = {normal({}), normal({0, 3})},
               .run = [](In x) -> Out {
                 return {sum(x[0]), sum(x[1]), sum(x[1], {0}), sum(x[1], {1})};
               }});
  c.push_back({.op = "sum",
               .name = "dtype_given",
               .torch = "(a.sum(dtype=torch.float64), a.sum(1, dtype=torch.float64), b.sum(dtype=torch.float64))",
               .inputs = {normal({3, 5}), integers({4}, -3, 9)},
               .run = [](In x) -> Out {
                 return {sum(x[0], kDouble), sum(x[0], {1}, false, kDouble), sum(x[1], kDouble)};
               },
               .sum = 15,
               .bypasses_autocast = true});
  c.push_back({.op = "sum",
               .name = "integers",
               .torch = "(a.sum(), a.sum(0), b.sum(), b.sum(1))",
               .inputs = {integers({3, 4}, -9, 10).as(kInt), boolean({2, 9})},
               .run = [](In x) -> Out {
                 return {sum(x[0]), sum(x[0], {0}), sum(x[1]), sum(x[1], {1})};
               },
               .sum = 0});
  c.push_back({.op = "cumsum",
               .name = "dims",
               .torch = "(a.cumsum(0), a.cumsum(-1), b.cumsum(1), c.cumsum(0), d.cumsum(0))",
               .inputs = {normal({3, 4, 17}), normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last), normal({}),
                          normal({0, 3})},
               .run = [](In x) -> Out {
                 return {cumsum(x[0], 0), cumsum(x[0], -1), cumsum(x[1], 1), cumsum(x[2], 0), cumsum(x[3], 0)};
               },
               .sum = 17});
  c.push_back({.op = "cumsum",
               .name = "integers",
               .torch = "(a.cumsum(0), a.cumsum(1), b.cumsum(1))",
               .inputs = {integers({3, 4}, -9, 10).as(kInt), boolean({2, 9})},
               .run = [](In x) -> Out {
                 return {cumsum(x[0], 0), cumsum(x[0], 1), cumsum(x[1], 1)};
               },
               .sum = 0});
  c.push_back({.op = "cumsum",
               .name = "dtype_given",
               .torch = "(a.cumsum(1, dtype=torch.float64), b.cumsum(0, dtype=torch.float64))",
               .inputs = {normal({3, 5}), integers({4}, -3, 9)},
               .run = [](In x) -> Out {
                 return {cumsum(x[0], 1, kDouble), cumsum(x[1], 0, kDouble)};
               },
               .sum = 15,
               .bypasses_autocast = true});
  c.push_back({.op = "mean",
               .name = "all",
               .torch = "torch.mean(a)",
               .inputs = {normal({7, 11})},
               .run = [](In x) -> Out { return {mean(x[0])}; },
               .sum = 77});
  c.push_back({.op = "mean",
               .name = "dims",
               .torch = "(a.mean(0), a.mean(-1, keepdim=True), a.mean((0, 2)))",
               .inputs = {normal({3, 4, 5})},
               .run = [](In x) -> Out {
                 return {mean(x[0], {0}), mean(x[0], {-1}, true), mean(x[0], {0, 2})};
               },
               .sum = 15});
  c.push_back({.op = "mean",
               .name = "dtype_given",
               .torch = "(a.mean(dtype=torch.float64), a.mean(0, dtype=torch.float64))",
               .inputs = {normal({3, 5})},
               .run = [](In x) -> Out {
                 return {mean(x[0], kDouble), mean(x[0], {0}, false, kDouble)};
               },
               .sum = 15,
               .bypasses_autocast = true});
}

void moments(Cases& c) {
  c.push_back({.op = "var",
               .name = "all",
               .torch = "(torch.var(a), torch.var(a, unbiased=False))",
               .inputs = {normal({5, 11})},
               .run = [](In x) -> Out {
                 return {var(x[0]), var(x[0], false)};
               },
               .sum = 55});
  c.push_back(
      {.op = "var",
       .name = "dims",
       .torch =
           "(torch.var(a, 0), torch.var(a, (-1,), correction=0), torch.var(a, (0, 2), correction=2, keepdim=True))",
       .inputs = {normal({3, 4, 5})},
       .run = [](In x) -> Out {
         return {var(x[0], {0}), var(x[0], {-1}, 0), var(x[0], {0, 2}, 2, true)};
       },
       .sum = 15});
  c.push_back({.op = "var",
               .name = "far_from_zero",
               .torch = "torch.var(a, 1)",
               .inputs = {uniform({3, 64}, 1000, 1001)},
               .run = [](In x) -> Out { return {var(x[0], {1})}; },
               .sum = 4096,
               .no_gradcheck = "differences lose their digits at this distance from zero"});
  c.push_back({.op = "norm",
               .name = "two",
               .torch = "(torch.norm(a), torch.norm(a, 2, 0), torch.norm(a, 2, (0, 1), keepdim=True))",
               .inputs = {normal({5, 7})},
               .run = [](In x) -> Out {
                 return {norm(x[0]), norm(x[0], 2, {0}), norm(x[0], 2, {0, 1}, true)};
               },
               .sum = 35});
  c.push_back(
      {.op = "norm",
       .name = "others",
       .torch = "(torch.norm(a, 1), torch.norm(a, float('inf')), torch.norm(a, 3), torch.norm(a, 1, 1), "
                "torch.norm(a, float('inf'), -1, keepdim=True), torch.norm(a, 2.5, 0))",
       .inputs = {normal({4, 6})},
       .run = [](In x) -> Out {
         return {norm(x[0], 1),       norm(x[0], inf), norm(x[0], 3), norm(x[0], 1, {1}), norm(x[0], inf, {-1}, true),
                 norm(x[0], 2.5, {0})};
       },
       .sum = 24,
       .roundings = 2});
  c.push_back({.op = "norm",
               .name = "not_positive",
               .torch = "(torch.norm(a, 0), torch.norm(a, -1, 0), torch.norm(a, float('-inf'), 1))",
               .inputs = {uniform({3, 4}, 0.5, 2)},
               .run = [](In x) -> Out {
                 return {norm(x[0], 0), norm(x[0], -1, {0}), norm(x[0], -inf, {1})};
               },
               .sum = 12});
  c.push_back({.op = "norm",
               .name = "of_zeros",
               .torch = "(torch.norm(a), torch.norm(a, 1), torch.norm(a, 2, 1))",
               .inputs = {values({2, 2}, {0, 0, 0, 0})},
               .run = [](In x) -> Out {
                 return {norm(x[0]), norm(x[0], 1), norm(x[0], 2, {1})};
               },
               .no_gradcheck = "the norm has a kink at zero"});
  c.push_back({.op = "norm",
               .name = "dtype_given",
               .torch = "torch.norm(a, 2, dtype=torch.float64)",
               .inputs = {normal({9})},
               .run = [](In x) -> Out { return {norm(x[0], 2, kDouble)}; },
               .sum = 9,
               .bypasses_autocast = true});
}

void extremes(Cases& c) {
  c.push_back({.op = "max", .name = "all", .torch = "torch.max(a)", .inputs = {normal({5, 7})}, .run = [](In x) -> Out {
                 return {max(x[0])};
               }});
  c.push_back({.op = "max",
               .name = "all_ties",
               .torch = "torch.max(a)",
               .inputs = {values({2, 3}, {1, 3, 2, 3, 3, 0})},
               .run = [](In x) -> Out { return {max(x[0])}; },
               .no_gradcheck = "equal values: a kink"});
  c.push_back({.op = "max",
               .name = "dim",
               .torch = "(*torch.max(a, 0), *torch.max(a, -1, keepdim=True))",
               .inputs = {normal({4, 7})},
               .run = [](In x) -> Out {
                 const auto [v0, i0] = max(x[0], 0);
                 const auto [v1, i1] = max(x[0], -1, true);
                 return {v0, i0, v1, i1};
               }});
  c.push_back({.op = "max",
               .name = "dim_special",
               .torch = "(*torch.max(a, 1),)",
               .inputs = {values({3, 3}, {1, 3, 3, nan, 1, nan, -inf, inf, 2})},
               .run = [](In x) -> Out { return pair(max(x[0], 1)); },
               .no_gradcheck = "equal values and NaN"});
  c.push_back({.op = "max",
               .name = "transposed",
               .torch = "(*torch.max(a, 1), torch.max(a))",
               .inputs = {normal({5, 6}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out {
                 Out out = pair(max(x[0], 1));
                 out.push_back(max(x[0]));
                 return out;
               }});
  c.push_back({.op = "min", .name = "all", .torch = "torch.min(a)", .inputs = {normal({5, 7})}, .run = [](In x) -> Out {
                 return {min(x[0])};
               }});
  c.push_back({.op = "min",
               .name = "dim",
               .torch = "(*torch.min(a, 1), *torch.min(b, 0))",
               .inputs = {normal({2, 7, 3}), integers({6}, 0, 4)},
               .run = [](In x) -> Out {
                 Out out = pair(min(x[0], 1));
                 for (Tensor& t : pair(min(x[1], 0))) out.push_back(t);
                 return out;
               }});
  const Input numbers = normal({4, 6});
  c.push_back(
      {.op = "argmax",
       .name = "dims",
       .torch = "(a.argmax(), a.argmax(0), a.argmax(-1, keepdim=True), b.argmax(1), a.argmax(keepdim=True))",
       .inputs = {numbers, integers({3, 8}, 0, 4)},
       .run = [](In x) -> Out {
         return {argmax(x[0]), argmax(x[0], 0), argmax(x[0], -1, true), argmax(x[1], 1), argmax(x[0], {}, true)};
       },
       .sum = 0});
  c.push_back({.op = "argmin",
               .name = "dims",
               .torch = "(a.argmin(), a.argmin(0), a.argmin(-1, keepdim=True), b.argmin(1))",
               .inputs = {numbers.laid_out(MemoryLayout::transposed), integers({3, 8}, 0, 4)},
               .run = [](In x) -> Out {
                 return {argmin(x[0]), argmin(x[0], 0), argmin(x[0], -1, true), argmin(x[1], 1)};
               },
               .sum = 0});
  c.push_back({.op = "any",
               .name = "dtypes",
               .torch = "(a.any(), b.any(), c.any(), d.any())",
               .inputs = {boolean({7}), values({3}, {0, -0.0, 0}), integers({4}, 0, 2), normal({0})},
               .run = [](In x) -> Out {
                 return {any(x[0]), any(x[1]), any(x[2]), any(x[3])};
               },
               .sum = 0});
  c.push_back({.op = "all",
               .name = "dtypes",
               .torch = "(a.all(), b.all(), c.all(), d.all())",
               .inputs = {boolean({7}), values({3}, {1, nan, 2}), integers({4}, 1, 3), normal({0})},
               .run = [](In x) -> Out {
                 return {all(x[0]), all(x[1]), all(x[2]), all(x[3])};
               },
               .sum = 0});
}

}  // namespace

Cases reduce_cases() {
  Cases c;
  reduced_sums(c);
  moments(c);
  extremes(c);
  return c;
}

}  // namespace tandem::testing
