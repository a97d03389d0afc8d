// Sorting and scans.
#include "tandem/ops/sort.h"

#include "cases/shared.h"
#include "tandem/ops/gradient.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"

namespace tandem::testing {
namespace {

const char* const kSelects = "the selected element changes at equal values";

/// Both results of each pair, one after another.
Out flat(std::initializer_list<std::tuple<Tensor, Tensor>> pairs) {
  Out out;
  for (const auto& [values, indices] : pairs) {
    out.push_back(values);
    out.push_back(indices);
  }
  return out;
}

void scans(Cases& c) {
  c.push_back(
      {.op = "cumprod",
       .name = "dims",
       .torch = "(a.cumprod(0), a.cumprod(-1), b.cumprod(1), c.cumprod(0), d.cumprod(0))",
       .inputs = {uniform({3, 4, 6}, 0.5, 1.5), uniform({2, 3, 4, 5}, -1.5, 1.5).laid_out(MemoryLayout::channels_last),
                  normal({}), normal({0, 3})},
       .run = [](In x) -> Out {
         return {cumprod(x[0], 0), cumprod(x[0], -1), cumprod(x[1], 1), cumprod(x[2], 0), cumprod(x[3], 0)};
       },
       .sum = 6,
       .roundings = 6});
  c.push_back({.op = "cumprod",
               .name = "zeros",
               .torch = "(a.cumprod(1), b.cumprod(0))",
               .inputs = {values({4, 5}, {2, 0, 3, -1, 2, 1, 2, 3, 4, 0, 0, 2, 0, 3, 1, 1, -1, 2, -2, 0.5}),
                          values({3}, {0, 0, 2})},
               .run = [](In x) -> Out {
                 return {cumprod(x[0], 1), cumprod(x[1], 0)};
               },
               .sum = 5,
               .roundings = 5});
  c.push_back({.op = "cumprod",
               .name = "integers",
               .torch = "(a.cumprod(0), a.cumprod(1), b.cumprod(1))",
               .inputs = {integers({3, 4}, -9, 10).as(kInt), boolean({2, 9})},
               .run = [](In x) -> Out {
                 return {cumprod(x[0], 0), cumprod(x[0], 1), cumprod(x[1], 1)};
               },
               .sum = 0});
  c.push_back({.op = "cumprod",
               .name = "dtype_given",
               .torch = "(a.cumprod(1, dtype=torch.float64), b.cumprod(0, dtype=torch.float64))",
               .inputs = {uniform({3, 5}, 0.5, 2), integers({4}, -3, 9)},
               .run = [](In x) -> Out {
                 return {cumprod(x[0], 1, kDouble), cumprod(x[1], 0, kDouble)};
               },
               .sum = 5,
               .roundings = 5,
               .bypasses_autocast = true});
  c.push_back({.op = "cumprod",
               .name = "in_place",
               .torch = "(a.clone().cumprod_(1), b.clone().cumprod_(0))",
               .inputs = {uniform({3, 5}, 0.5, 2), integers({4}, -3, 9).as(kInt)},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone(), n = x[1].clone();
                 return {y.cumprod_(1), n.cumprod_(0)};
               },
               .sum = 5,
               .roundings = 5,
               .bypasses_autocast = true});
  c.push_back(
      {.op = "cumsum",
       .name = "in_place",
       .torch = "(a.clone().cumsum_(1), b.clone().cumsum_(-2), c.clone().cumsum_(0))",
       .inputs = {normal({3, 5}), normal({4, 3}).laid_out(MemoryLayout::transposed), integers({4}, -3, 9).as(kInt)},
       .run = [](In x) -> Out {
         const Tensor y = x[0].clone(), z = x[1].clone(), n = x[2].clone();
         return {y.cumsum_(1), z.cumsum_(-2), n.cumsum_(0)};
       },
       .sum = 5,
       .bypasses_autocast = true});
  c.push_back({.op = "cummax",
               .name = "dims",
               .torch = "(*a.cummax(0), *a.cummax(-1), *b.cummax(1), *c.cummax(0), *d.cummax(1))",
               .inputs = {normal({3, 4, 6}), integers({2, 9}, 0, 4), normal({}), normal({0, 3})},
               .run = [](In x) -> Out {
                 return flat({cummax(x[0], 0), cummax(x[0], -1), cummax(x[1], 1), cummax(x[2], 0), cummax(x[3], 1)});
               },
               .sum = 6});
  c.push_back({.op = "cummax",
               .name = "special",
               .torch = "torch.cummax(a, 0)",
               .inputs = {values({9}, {-inf, -1, -1, 0, -0.0, nan, 3, nan, inf})},
               .run = [](In x) -> Out { return flat({cummax(x[0], 0)}); },
               .sum = 2,
               .no_gradcheck = kSelects});
  c.push_back({.op = "cummin",
               .name = "dims",
               .torch = "(*a.cummin(0), *a.cummin(-1), *b.cummin(1), *c.cummin(0))",
               .inputs = {normal({5, 7}).laid_out(MemoryLayout::transposed), integers({2, 9}, 0, 4).as(kInt),
                          values({6}, {3, 1, 1, nan, -inf, nan})},
               .run = [](In x) -> Out {
                 return flat({cummin(x[0], 0), cummin(x[0], -1), cummin(x[1], 1), cummin(x[2], 0)});
               },
               .sum = 7,
               .no_gradcheck = kSelects});
  c.push_back({.op = "logcumsumexp",
               .name = "dims",
               .torch = "(a.logcumsumexp(0), a.logcumsumexp(-1), b.logcumsumexp(1), c.logcumsumexp(0), "
                        "d.logcumsumexp(0))",
               .inputs = {normal({3, 4, 6}), normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last), normal({}),
                          normal({0, 3})},
               .run = [](In x) -> Out {
                 return {logcumsumexp(x[0], 0), logcumsumexp(x[0], -1), logcumsumexp(x[1], 1), logcumsumexp(x[2], 0),
                         logcumsumexp(x[3], 0)};
               },
               .sum = 12,
               .roundings = 2});
  c.push_back({.op = "logcumsumexp",
               .name = "large",
               .torch = "a.logcumsumexp(1)",
               .inputs = {values({2, 4}, {-1000, 200, 100, 1000, 1000, -1000, 1000, 0})},
               .run = [](In x) -> Out { return {logcumsumexp(x[0], 1)}; },
               .sum = 4096,  // the rounding errors of y, up to 1000 eps, are factors of the gradient
               .roundings = 2,
               .no_gradcheck = "differences lose their digits at this distance from zero",
               .no_low = "y has no fractions in f16 at this distance from zero"});
  c.push_back({.op = "logcumsumexp",
               .name = "infinite",
               .torch = "a.logcumsumexp(1)",
               .inputs = {values({3, 4}, {-inf, -inf, 1, 2, -inf, inf, 1, inf, 1, nan, 2, inf}).constant()},
               .run = [](In x) -> Out { return {logcumsumexp(x[0], 1)}; },
               .sum = 4,
               .roundings = 2});
  c.push_back({.op = "sub",
               .name = "diff",
               .torch = "(torch.diff(a), torch.diff(a, 2, 0), torch.diff(a, 1, 1, prepend=b, append=b), torch.diff(c), "
                        "torch.diff(a, 9), torch.diff(d), torch.diff(a, 0, 1, prepend=b))",
               .inputs = {normal({4, 5}), normal({4, 2}), boolean({7}), integers({6}, -9, 9)},
               .run = [](In x) -> Out {
                 return {diff(x[0]),    diff(x[0], 2, 0), diff(x[0], 1, 1, x[1], x[1]), diff(x[2]),
                         diff(x[0], 9), diff(x[3]),       diff(x[0], 0, 1, x[1])};
               },
               .sum = 4,
               .roundings = 2,
               .autocast_as = "sub"});
  c.push_back({.op = "cumsum",
               .name = "trapezoid",
               .torch = "(torch.trapezoid(a), torch.trapezoid(a, dx=0.5, dim=0), torch.trapezoid(a, b), "
                        "torch.trapezoid(a, c, dim=0), torch.trapezoid(d.float()), torch.trapezoid(e))",
               .inputs = {normal({4, 5}).as(kDouble), normal({5}).as(kDouble), normal({4, 5}).as(kDouble),
                          integers({6}, -9, 9), normal({0}).as(kDouble).constant()},
               .run = [](In x) -> Out {
                 return {trapezoid(x[0]),          trapezoid(x[0], 0.5, 0),    trapezoid(x[0], x[1]),
                         trapezoid(x[0], x[2], 0), trapezoid(x[3].to(kFloat)), trapezoid(x[4])};
               },
               .sum = 10});
  c.push_back({.op = "cumsum",
               .name = "cumulative_trapezoid",
               .torch = "(torch.cumulative_trapezoid(a), torch.cumulative_trapezoid(a, dx=2, dim=0), "
                        "torch.cumulative_trapezoid(a, b), torch.cumulative_trapezoid(a, c, dim=0))",
               .inputs = {normal({4, 5}).as(kDouble), normal({5}).as(kDouble), normal({4, 5}).as(kDouble)},
               .run = [](In x) -> Out {
                 return {cumulative_trapezoid(x[0]), cumulative_trapezoid(x[0], 2, 0), cumulative_trapezoid(x[0], x[1]),
                         cumulative_trapezoid(x[0], x[2], 0)};
               },
               .sum = 10});
  c.push_back({.op = "cumprod",
               .name = "vander",
               .torch = "(torch.linalg.vander(a).flip(1), torch.linalg.vander(a, N=5).flip(1), "
                        "torch.linalg.vander(a, N=3), torch.vander(b), torch.vander(b, 1), torch.vander(b, 0))",
               .inputs = {uniform({3}, 0.5, 2), integers({3}, -2, 4).as(kInt)},
               .run = [](In x) -> Out {
                 return {vander(x[0]), vander(x[0], 5), vander(x[0], 3, true),
                         vander(x[1]), vander(x[1], 1), vander(x[1], 0)};
               },
               .sum = 8,
               .roundings = 4});
  c.push_back({.op = "cumprod",
               .name = "linalg_vander",
               .torch = "(torch.linalg.vander(a), torch.linalg.vander(b, N=4), torch.linalg.vander(a[0, 0], N=3))",
               .inputs = {uniform({2, 3}, 0.5, 2), integers({2, 2, 1}, -2, 4).as(kInt)},
               .run = [](In x) -> Out {
                 return {linalg_vander(x[0]), linalg_vander(x[1], 4), linalg_vander(x[0][0][0], 3)};
               },
               .sum = 8,
               .roundings = 4});
}

Out all_of(std::initializer_list<std::vector<Tensor>> lists) {
  Out all;
  for (const std::vector<Tensor>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

void gradients(Cases& c) {
  c.push_back({.op = "sub",
               .name = "gradient",
               .torch = "(*torch.gradient(a), *torch.gradient(a, spacing=2, dim=1), *torch.gradient(a, edge_order=2), "
                        "*torch.gradient(a, spacing=0.5, dim=(1, 0)), *torch.gradient(a, spacing=(0.5, 3.0)), "
                        "*torch.gradient(a, dim=(-1,), edge_order=2), *torch.gradient(b), "
                        "*torch.gradient(a, spacing=(0.5, 3.0), dim=(-1, 0), edge_order=2))",
               .inputs = {normal({4, 5}), integers({5}, -9, 9)},
               .run = [](In x) -> Out {
                 return all_of({gradient(x[0]), gradient(x[0], Scalar(2), 1),
                                gradient(x[0], std::nullopt, std::nullopt, 2), gradient(x[0], 0.5, {1, 0}),
                                gradient(x[0], {Scalar(0.5), Scalar(3.0)}), gradient(x[0], {-1}, 2), gradient(x[1]),
                                gradient(x[0], {Scalar(0.5), Scalar(3.0)}, {-1, 0}, 2)});
               },
               .sum = 6,
               .roundings = 6});
  c.push_back({.op = "sub",
               .name = "gradient_at_points",
               .torch = "(*torch.gradient(a, spacing=(b, c)), *torch.gradient(a, spacing=(b, c), edge_order=2), "
                        "*torch.gradient(a, spacing=(c,), dim=1), *torch.gradient(a, spacing=(c, b), dim=(1, 0)), "
                        "*torch.gradient(d, spacing=(e,), edge_order=2))",
               .inputs = {normal({4, 5}), values({4}, {-1, 0, 2, 2.5}), values({5}, {3, 2, 0.5, 0, -4}),
                          values({4}, {0, 1e6, 3e6, -5e5}).as(kInt), values({4}, {0, 10000, 20000, 40000}).as(kInt)},
               .run = [](In x) -> Out {
                 return all_of({gradient(x[0], {x[1], x[2]}), gradient(x[0], {x[1], x[2]}, std::nullopt, 2),
                                gradient(x[0], TensorList{x[2]}, 1), gradient(x[0], {x[2], x[1]}, {1, 0}),
                                gradient(x[3], TensorList{x[4]}, std::nullopt, 2)});
               },
               .sum = 12,
               .roundings = 10});
}

void sorts(Cases& c) {
  c.push_back({.op = "sort",
               .name = "dims",
               .torch = "(*a.sort(0), *a.sort(-1), *a.sort(1, descending=True), *b.sort(1), *c.sort(), *d.sort(0), "
                        "*torch.sort(d, stable=True, dim=1))",
               .inputs = {normal({3, 4, 6}), normal({2, 3, 4, 5}).laid_out(MemoryLayout::channels_last), normal({}),
                          normal({0, 3})},
               .run = [](In x) -> Out {
                 return flat({sort(x[0], 0), sort(x[0], -1), sort(x[0], 1, true), sort(x[1], 1), sort(x[2]),
                              sort(x[3], 0), sort(x[3], std::optional<bool>(true), 1)});
               },
               .sum = 3});
  c.push_back({.op = "sort",
               .name = "equal_elements",
               .torch = "(*a.sort(stable=True, dim=1), *a.sort(stable=True, dim=1, descending=True), "
                        "*b.sort(stable=True, dim=0), *c.sort(stable=True), *d.sort(stable=True, descending=True))",
               .inputs = {integers({2, 40}, -3, 4), integers({9, 2}, -3, 4).as(kInt), boolean({11}),
                          integers({9}, 0, 4).as(kByte)},
               .run = [](In x) -> Out {
                 return flat({sort(x[0], 1), sort(x[0], 1, true), sort(x[1], 0), sort(x[2]), sort(x[3], -1, true)});
               },
               .sum = 0});
  c.push_back({.op = "sort",
               .name = "special",
               .torch = "(*a.sort(stable=True), *a.sort(stable=True, descending=True))",
               .inputs = {values({12}, {1, nan, -0.0, inf, 0, -inf, nan, -1, 0, -0.0, 6e4, -6e4})},
               .run = [](In x) -> Out {
                 return flat({sort(x[0]), sort(x[0], -1, true)});
               },
               .sum = 2,
               .no_gradcheck = kSelects});
  c.push_back({.op = "sort",
               .name = "long_rows",
               .torch = "(*a.sort(), *b.sort(stable=True, descending=True))",
               .inputs = {normal({2, 300}), integers({700}, -100, 100)},
               .run = [](In x) -> Out {
                 return flat({sort(x[0]), sort(x[1], -1, true)});
               },
               .no_gradcheck = "too many elements"});
  c.push_back(
      {.op = "sort",
       .name = "argsort_and_msort",
       .torch = "(torch.argsort(a), torch.argsort(a, 0, True), torch.argsort(b, dim=0, stable=True), torch.msort(a))",
       .inputs = {normal({4, 5}), integers({9}, 0, 3)},
       .run = [](In x) -> Out {
         return {argsort(x[0]), argsort(x[0], 0, true), argsort(x[1], true, 0), msort(x[0])};
       }});
  c.push_back(
      {.op = "topk",
       .name = "dims",
       .torch = "(*a.topk(2), *a.topk(3, 0), *a.topk(2, 1, largest=False), *b.topk(1), *c.topk(0, 1), "
                "*d.topk(3, 0), torch.topk(a, 4, 1, False, False)[0].sort(1)[0])",
       .inputs = {normal({4, 5, 3}), normal({}), normal({2, 3}), normal({6, 4}).laid_out(MemoryLayout::transposed)},
       .run = [](In x) -> Out {
         Out y = flat({topk(x[0], 2), topk(x[0], 3, 0), topk(x[0], 2, 1, false), topk(x[1], 1), topk(x[2], 0, 1),
                       topk(x[3], 3, 0)});
         // Without `sorted`, any order is right.
         y.push_back(std::get<0>(sort(std::get<0>(topk(x[0], 4, 1, false, false)), 1)));
         return y;
       },
       .sum = 4});
  c.push_back({.op = "topk",
               .name = "special",
               .torch = "(*a.topk(2), a.topk(5)[0], a.topk(5, largest=False)[0], b.topk(4)[0])",
               .inputs = {values({7}, {1, nan, -2, inf, 0, -inf, 3}), integers({30}, -9, 9)},
               .run = [](In x) -> Out {
                 Out out = flat({topk(x[0], 2)});
                 for (const Tensor& k : {x[0], x[0], x[1]})
                   out.push_back(std::get<0>(topk(k, k.is_same(x[1]) ? 4 : 5)));
                 out[3] = std::get<0>(topk(x[0], 5, -1, false));
                 return out;
               },
               .sum = 3,
               .no_gradcheck = kSelects});
  c.push_back({.op = "topk",
               .name = "one_row",
               .torch = "(*a.topk(20), *a.topk(250, largest=False))",
               .inputs = {normal({600})},
               .run = [](In x) -> Out {
                 return flat({topk(x[0], 20), topk(x[0], 250, -1, false)});
               },
               .sum = 2,
               .no_gradcheck = "too many elements",
               .no_low = "equal elements in f16 leave more than one right answer"});
  c.push_back({.op = "kthvalue",
               .name = "dims",
               .torch = "(*a.kthvalue(2), *a.kthvalue(1, 0), *a.kthvalue(4, 1, True), *b.kthvalue(1))",
               .inputs = {normal({3, 4, 5}), normal({})},
               .run = [](In x) -> Out {
                 return flat({kthvalue(x[0], 2), kthvalue(x[0], 1, 0), kthvalue(x[0], 4, 1, true), kthvalue(x[1], 1)});
               },
               .sum = 4});
  c.push_back({.op = "kthvalue",
               .name = "special",
               .torch = "(*a.kthvalue(5), a.kthvalue(6)[0], a.kthvalue(1)[0], b.kthvalue(9)[0])",
               .inputs = {values({7}, {1, nan, -2, inf, 0, nan, 3}).constant(), integers({30}, -9, 9)},
               .run = [](In x) -> Out {
                 Out out = flat({kthvalue(x[0], 5)});
                 out.push_back(std::get<0>(kthvalue(x[0], 6)));
                 out.push_back(std::get<0>(kthvalue(x[0], 1)));
                 out.push_back(std::get<0>(kthvalue(x[1], 9)));
                 return out;
               },
               .sum = 0});
}

void medians(Cases& c) {
  c.push_back({.op = "median",
               .name = "all",
               .torch = "(a.median(), b.median(), c.median(), d.median(), e.median())",
               .inputs = {normal({4, 5}), normal({3, 3}).laid_out(MemoryLayout::transposed),
                          values({6}, {1, 2, 2, 2, 3, 0}), integers({8}, -9, 9), normal({})},
               .run = [](In x) -> Out {
                 return {median(x[0]), median(x[1]), median(x[2]), median(x[3]), median(x[4])};
               },
               .no_gradcheck = "equal elements share the gradient"});
  c.push_back({.op = "median",
               .name = "dims",
               .torch = "(*a.median(0), *a.median(-1), *a.median(1, True), *b.median(0))",
               .inputs = {normal({3, 4, 5}), normal({})},
               .run = [](In x) -> Out {
                 return flat({median(x[0], 0), median(x[0], -1), median(x[0], 1, true), median(x[1], 0)});
               },
               .sum = 3});
  c.push_back({.op = "median",
               .name = "nan",
               .torch = "(*a.median(1), a.median(), b.median(), c.median(), *b.median(0))",
               .inputs = {values({2, 4}, {1, nan, 2, nan, 5, 4, 3, 9}), values({3}, {3, 2, 1}), normal({0})},
               .run = [](In x) -> Out {
                 Out out = flat({median(x[0], 1)});
                 for (const Tensor& t : x) out.push_back(median(t));
                 for (const Tensor& t : flat({median(x[1], 0)})) out.push_back(t);
                 return out;
               },
               .sum = 3,
               .no_gradcheck = "NaN has no derivative"});
  c.push_back({.op = "nanmedian",
               .name = "dims",
               .torch = "(*a.nanmedian(1), a.nanmedian(), *b.nanmedian(0), b.nanmedian(), *c.nanmedian(0, True), "
                        "d.nanmedian(0)[0])",
               .inputs = {values({3, 4}, {1, nan, 2, nan, 5, 4, 3, 9, nan, nan, nan, 7}), values({1}, {nan}),
                          normal({3, 4}), integers({4, 2}, 0, 9)},
               .run = [](In x) -> Out {
                 Out out = flat({nanmedian(x[0], 1)});
                 out.push_back(nanmedian(x[0]));
                 for (const Tensor& t : flat({nanmedian(x[1], 0)})) out.push_back(t);
                 out.push_back(nanmedian(x[1]));
                 for (const Tensor& t : flat({nanmedian(x[2], 0, true)})) out.push_back(t);
                 out.push_back(std::get<0>(nanmedian(x[3], 0)));
                 return out;
               },
               .sum = 3,
               .no_gradcheck = "NaN has no derivative"});
  c.push_back({.op = "sort",
               .name = "mode",
               .torch = "(*a.mode(), *a.mode(0, True), *b.mode(0), *c.mode(0), d.mode(0)[0])",
               .inputs = {integers({4, 9}, 0, 4), values({7}, {2, 1, 2, 1, -1, 3, 3}), normal({}), normal({5, 3})},
               .run = [](In x) -> Out {
                 Out out = flat({mode(x[0]), mode(x[0], 0, true), mode(x[1], 0), mode(x[2], 0)});
                 out.push_back(std::get<0>(mode(x[3], 0)));
                 return out;
               },
               .no_gradcheck = kSelects});
}

void quantiles(Cases& c) {
  const Input levels = values({5}, {0, 0.25, 0.5, 0.625, 1});
  for (const char* rule : {"linear", "lower", "higher", "midpoint", "nearest"}) {
    const std::string how = std::string(", interpolation='") + rule + "')";
    for (bool ignore : {false, true}) {
      const std::string op = ignore ? "nanquantile" : "quantile", call = "torch." + op;
      c.push_back({.op = op,
                   .name = rule,
                   .torch = "(" + call + "(a, 0.25" + how + ", " + call + "(a, b, 1" + how + ", " + call +
                            "(a, b, 0, True" + how + ", " + call + "(a, 0.625, 1" + how + ")",
                   .inputs = {normal({4, 8}), levels.constant()},
                   .run = [rule, ignore](In x) -> Out {
                     if (ignore) {
                       return {nanquantile(x[0], 0.25, {}, false, rule), nanquantile(x[0], x[1], 1, false, rule),
                               nanquantile(x[0], x[1], 0, true, rule), nanquantile(x[0], 0.625, 1, false, rule)};
                     }
                     return {quantile(x[0], 0.25, {}, false, rule), quantile(x[0], x[1], 1, false, rule),
                             quantile(x[0], x[1], 0, true, rule), quantile(x[0], 0.625, 1, false, rule)};
                   },
                   .sum = 20});
    }
  }
  c.push_back({.op = "quantile",
               .name = "gradient_of_q",
               .torch = "(torch.quantile(a, b, 1), torch.quantile(a, c, 0, keepdim=True), torch.quantile(d, b))",
               .inputs = {normal({3, 7}), uniform({4}, 0.125, 0.875), values({}, {0.3}), normal({2, 3, 2})},
               .run = [](In x) -> Out {
                 return {quantile(x[0], x[1], 1), quantile(x[0], x[2], 0, true), quantile(x[3], x[1])};
               },
               .sum = 60,
               .no_low = "the fraction of a rank has few digits in f16"});
  c.push_back(
      {.op = "quantile",
       .name = "nan",
       .torch = "(torch.quantile(a, 0.25, dim=1), torch.nanquantile(a, 0.25, dim=1), torch.nanquantile(a, b, dim=0))",
       .inputs = {values({3, 4}, {1, nan, 2, 4, 5, 4, 3, 9, nan, nan, nan, nan}).constant(),
                  values({2}, {0.5, 1}).constant()},
       .run = [](In x) -> Out {
         return {quantile(x[0], 0.25, 1), nanquantile(x[0], 0.25, 1), nanquantile(x[0], x[1], 0)};
       },
       .sum = 2});
}

}  // namespace

Cases sort_cases() {
  Cases c;
  scans(c);
  gradients(c);
  sorts(c);
  medians(c);
  quantiles(c);
  return c;
}

}  // namespace tandem::testing
