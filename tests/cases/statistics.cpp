// Products, deviations, extremes over dimensions, and counts.
#include "tandem/ops/statistics.h"

#include "cases/shared.h"
#include "tandem/ops/covariance.h"

namespace tandem::testing {
namespace {

void products(Cases& c) {
  c.push_back({.op = "prod",
               .name = "dims",
               .torch = "(a.prod(), a.prod(0), a.prod(-1, keepdim=True), a.prod(1))",
               .inputs = {uniform({3, 4, 2}, 0.5, 1.5)},
               .run = [](In x) -> Out {
                 return {prod(x[0]), prod(x[0], 0), prod(x[0], -1, true), prod(x[0], 1)};
               },
               .sum = 24});
  c.push_back({.op = "prod",
               .name = "zeros",
               .torch = "(a.prod(1), a.prod(0))",
               .inputs = {values({4, 3}, {2, 0, 3, 0, 0, 5, 1, -2, 4, 0.5, 2, 2})},
               .run = [](In x) -> Out {
                 return {prod(x[0], 1), prod(x[0], 0)};
               },
               .sum = 4});
  c.push_back({.op = "prod",
               .name = "scalar_and_empty",
               .torch = "(a.prod(), a.prod(0), b.prod(), b.prod(0), b.prod(1))",
               .inputs = {normal({}), normal({0, 3})},
               .run = [](In x) -> Out {
                 return {prod(x[0]), prod(x[0], 0), prod(x[1]), prod(x[1], 0), prod(x[1], 1)};
               }});
  c.push_back({.op = "prod",
               .name = "integers",
               .torch = "(a.prod(), a.prod(0), b.prod(1), a.prod(dtype=torch.float64))",
               .inputs = {integers({3, 2}, -3, 4).as(kInt), boolean({2, 3})},
               .run = [](In x) -> Out {
                 return {prod(x[0]), prod(x[0], 0), prod(x[1], 1), prod(x[0], kDouble)};
               },
               .sum = 0,
               .bypasses_autocast = true});
}

void deviations(Cases& c) {
  c.push_back({.op = "std",
               .name = "all",
               .torch = "(torch.std(a), torch.std(a, unbiased=False))",
               .inputs = {normal({5, 7})},
               .run = [](In x) -> Out {
                 return {tandem::std(x[0]), tandem::std(x[0], false)};
               },
               .sum = 35});
  c.push_back(
      {.op = "std",
       .name = "dims",
       .torch =
           "(torch.std(a, 0), torch.std(a, (-1,), correction=0), torch.std(a, (0, 2), correction=2, keepdim=True))",
       .inputs = {normal({3, 4, 5})},
       .run = [](In x) -> Out {
         return {tandem::std(x[0], {0}), tandem::std(x[0], {-1}, 0), tandem::std(x[0], {0, 2}, 2, true)};
       },
       .sum = 15});
  c.push_back({.op = "std",
               .name = "constant",
               .torch = "torch.std(a, 1)",
               .inputs = {values({2, 2}, {1, 1, 2, 3})},
               .run = [](In x) -> Out { return {tandem::std(x[0], {1})}; },
               .no_gradcheck = "the deviation has a kink at zero"});
  c.push_back({.op = "std",
               .name = "with_mean",
               .torch = "(*torch.std_mean(a, 1), *torch.var_mean(a, 0, keepdim=True))",
               .inputs = {normal({4, 5})},
               .run = [](In x) -> Out {
                 Out out = pair(std_mean(x[0], {1}));
                 for (Tensor& t : pair(var_mean(x[0], {0}, 1, true))) out.push_back(t);
                 return out;
               },
               .sum = 5});
}

void covariances(Cases& c) {
  c.push_back({.op = "sub",
               .name = "cov",
               .torch = "(torch.cov(a), torch.cov(a, correction=0), torch.cov(a[0]), torch.corrcoef(a), "
                        "torch.corrcoef(a[1]), a.cov(), a.corrcoef())",
               .inputs = {normal({3, 8})},
               .run = [](In x) -> Out {
                 return {cov(x[0]),         cov(x[0], 0), cov(x[0][0]),   corrcoef(x[0]),
                         corrcoef(x[0][1]), x[0].cov(),   x[0].corrcoef()};
               },
               .sum = 24,
               .roundings = 10});
  c.push_back({.op = "sub",
               .name = "weighted_cov",
               .torch = "(torch.cov(a, fweights=b), torch.cov(a, aweights=c), torch.cov(a, fweights=b, aweights=c), "
                        "torch.cov(a, correction=0, aweights=c), torch.cov(a[1], correction=2, fweights=b))",
               .inputs = {normal({3, 6}), integers({6}, 1, 4), uniform({6}, 0.5, 1.5)},
               .run = [](In x) -> Out {
                 return {cov(x[0], 1, x[1]), cov(x[0], 1, {}, x[2]), cov(x[0], 1, x[1], x[2]), cov(x[0], 0, {}, x[2]),
                         cov(x[0][1], 2, x[1])};
               },
               .sum = 24,
               .roundings = 10});
  c.push_back({.op = "sub",
               .name = "cov_of_integers",
               .torch = "(torch.cov(a), torch.cov(a[:, :1], correction=0), torch.cov(a, fweights=b))",
               .inputs = {integers({2, 5}, -9, 9), integers({5}, 1, 4).as(kInt)},
               .run = [](In x) -> Out {
                 return {cov(x[0]), cov(x[0].narrow(1, 0, 1), 0), cov(x[0], 1, x[1])};
               },
               .sum = 10,
               .roundings = 4});
}

void extremes_of_dims(Cases& c) {
  c.push_back({.op = "amax",
               .name = "dims",
               .torch = "(torch.amax(a, (0, 2)), torch.amax(a, 1, keepdim=True), torch.amax(a), torch.amax(b, 0))",
               .inputs = {normal({2, 3, 4}), integers({3, 2}, -9, 9)},
               .run = [](In x) -> Out {
                 return {amax(x[0], {0, 2}), amax(x[0], {1}, true), amax(x[0]), amax(x[1], 0)};
               }});
  c.push_back({.op = "amax",
               .name = "ties_and_nan",
               .torch = "torch.amax(a, 1)",
               .inputs = {values({3, 3}, {1, 1, 0, nan, 1, nan, inf, 2, inf})},
               .run = [](In x) -> Out { return {amax(x[0], 1)}; },
               .no_gradcheck = "equal values: a kink"});
  c.push_back({.op = "amin",
               .name = "dims",
               .torch = "(torch.amin(a, (0, 2)), torch.amin(a, 1, keepdim=True), torch.amin(a), *torch.aminmax(a), "
                        "*torch.aminmax(a, dim=1, keepdim=True))",
               .inputs = {normal({2, 3, 4})},
               .run = [](In x) -> Out {
                 Out out = {amin(x[0], {0, 2}), amin(x[0], {1}, true), amin(x[0])};
                 for (Tensor& t : pair(aminmax(x[0]))) out.push_back(t);
                 for (Tensor& t : pair(aminmax(x[0], 1, true))) out.push_back(t);
                 return out;
               },
               .sum = 5});
  c.push_back({.op = "logsumexp",
               .name = "dims",
               .torch = "(torch.logsumexp(a, (0, 2)), torch.logsumexp(a, 1, keepdim=True), torch.logsumexp(b, 0))",
               .inputs = {normal({2, 3, 4}), normal({})},
               .run = [](In x) -> Out {
                 return {logsumexp(x[0], {0, 2}), logsumexp(x[0], 1, true), logsumexp(x[1], 0)};
               },
               .sum = 8,
               .roundings = 2});
  c.push_back({.op = "logsumexp",
               .name = "special",
               .torch = "(torch.logsumexp(a, 1), torch.logsumexp(b, 1), torch.logsumexp(b, 0))",
               .inputs = {values({3, 2}, {1000, 1000, -inf, 1, -1000, -1001}).constant(), normal({2, 0})},
               .run = [](In x) -> Out {
                 return {logsumexp(x[0], 1), logsumexp(x[1], 1), logsumexp(x[1], 0)};
               },
               .roundings = 2,
               .no_gradcheck = "infinities"});
}

void counts(Cases& c) {
  c.push_back({.op = "nansum",
               .name = "dims",
               .torch = "(torch.nansum(a), torch.nansum(a, 1), torch.nanmean(a), torch.nanmean(a, 0, keepdim=True), "
                        "torch.nansum(b, 0))",
               .inputs = {values({2, 3}, {1, nan, 2, nan, 0.5, 3}), integers({4}, -9, 9)},
               .run = [](In x) -> Out {
                 return {nansum(x[0]), nansum(x[0], 1), nanmean(x[0]), nanmean(x[0], 0, true), nansum(x[1], 0)};
               },
               .sum = 6,
               .no_gradcheck = "NaN among the inputs"});
  c.push_back({.op = "sum",
               .name = "count_nonzero",
               .torch = "(torch.count_nonzero(a), torch.count_nonzero(a, 1), torch.count_nonzero(b, (0,)))",
               .inputs = {values({2, 3}, {1, 0, nan, -0.0, 0, 3}), integers({3, 2}, 0, 2)},
               .run = [](In x) -> Out {
                 return {count_nonzero(x[0]), count_nonzero(x[0], 1), count_nonzero(x[1], {0})};
               },
               .sum = 0});
  c.push_back(
      {.op = "any",
       .name = "dims",
       .torch = "(a.any(0), a.any(-1, keepdim=True), torch.any(a, (0, 1)), b.any(1), c.any(0), d.any(0))",
       .inputs = {boolean({3, 4}), integers({3, 2}, 0, 2), normal({0, 3}), boolean({})},
       .run = [](In x) -> Out {
         return {any(x[0], 0), any(x[0], -1, true), any(x[0], {0, 1}), any(x[1], 1), any(x[2], 0), any(x[3], 0)};
       },
       .sum = 0});
  c.push_back(
      {.op = "all",
       .name = "dims",
       .torch = "(a.all(0), a.all(-1, keepdim=True), torch.all(a, (0, 1)), b.all(1), c.all(0), d.all(0))",
       .inputs = {boolean({3, 4}), integers({3, 2}, 0, 2), normal({0, 3}), boolean({})},
       .run = [](In x) -> Out {
         return {all(x[0], 0), all(x[0], -1, true), all(x[0], {0, 1}), all(x[1], 1), all(x[2], 0), all(x[3], 0)};
       },
       .sum = 0});
}

}  // namespace

Cases statistics_cases() {
  Cases c;
  products(c);
  deviations(c);
  covariances(c);
  extremes_of_dims(c);
  counts(c);
  return c;
}

}  // namespace tandem::testing
