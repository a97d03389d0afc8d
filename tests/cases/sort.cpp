// Sorting, scans and search.
#include "tandem/ops/sort.h"

#include <cmath>

#include "cases/cases.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/scan.h"
#include "tandem/ops/search.h"

namespace tandem::testing {
namespace {

const double inf = HUGE_VAL, nan = NAN;
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
  c.push_back({.op = "cumprod",
               .name = "dims",
               .torch = "(a.cumprod(0), a.cumprod(-1), b.cumprod(1), c.cumprod(0), d.cumprod(0))",
               .inputs = {uniform({3, 4, 6}, 0.5, 1.5),
                          uniform({2, 3, 4, 5}, -1.5, 1.5).laid_out(Layout::channels_last), normal({}), normal({0, 3})},
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
  c.push_back({.op = "cumsum",
               .name = "in_place",
               .torch = "(a.clone().cumsum_(1), b.clone().cumsum_(-2), c.clone().cumsum_(0))",
               .inputs = {normal({3, 5}), normal({4, 3}).laid_out(Layout::transposed), integers({4}, -3, 9).as(kInt)},
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
               .inputs = {normal({5, 7}).laid_out(Layout::transposed), integers({2, 9}, 0, 4).as(kInt),
                          values({6}, {3, 1, 1, nan, -inf, nan})},
               .run = [](In x) -> Out {
                 return flat({cummin(x[0], 0), cummin(x[0], -1), cummin(x[1], 1), cummin(x[2], 0)});
               },
               .sum = 7,
               .no_gradcheck = kSelects});
  c.push_back(
      {.op = "logcumsumexp",
       .name = "dims",
       .torch = "(a.logcumsumexp(0), a.logcumsumexp(-1), b.logcumsumexp(1), c.logcumsumexp(0), "
                "d.logcumsumexp(0))",
       .inputs = {normal({3, 4, 6}), normal({2, 3, 4, 5}).laid_out(Layout::channels_last), normal({}), normal({0, 3})},
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
                        "torch.diff(a, 9), torch.diff(d))",
               .inputs = {normal({4, 5}), normal({4, 2}), boolean({7}), integers({6}, -9, 9)},
               .run = [](In x) -> Out {
                 return {diff(x[0]), diff(x[0], 2, 0), diff(x[0], 1, 1, x[1], x[1]),
                         diff(x[2]), diff(x[0], 9),    diff(x[3])};
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
}

void sorts(Cases& c) {
  c.push_back(
      {.op = "sort",
       .name = "dims",
       .torch = "(*a.sort(0), *a.sort(-1), *a.sort(1, descending=True), *b.sort(1), *c.sort(), *d.sort(0), "
                "*torch.sort(d, stable=True, dim=1))",
       .inputs = {normal({3, 4, 6}), normal({2, 3, 4, 5}).laid_out(Layout::channels_last), normal({}), normal({0, 3})},
       .run = [](In x) -> Out {
         return flat({sort(x[0], 0), sort(x[0], -1), sort(x[0], 1, true), sort(x[1], 1), sort(x[2]), sort(x[3], 0),
                      sort(x[3], std::optional<bool>(true), 1)});
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
  c.push_back({.op = "topk",
               .name = "dims",
               .torch = "(*a.topk(2), *a.topk(3, 0), *a.topk(2, 1, largest=False), *b.topk(1), *c.topk(0, 1), "
                        "*d.topk(3, 0), torch.topk(a, 4, 1, False, False)[0].sort(1)[0])",
               .inputs = {normal({4, 5, 3}), normal({}), normal({2, 3}), normal({6, 4}).laid_out(Layout::transposed)},
               .run = [](In x) -> Out {
                 Out y = flat({topk(x[0], 2), topk(x[0], 3, 0), topk(x[0], 2, 1, false), topk(x[1], 1),
                               topk(x[2], 0, 1), topk(x[3], 3, 0)});
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
               .inputs = {normal({4, 5}), normal({3, 3}).laid_out(Layout::transposed), values({6}, {1, 2, 2, 2, 3, 0}),
                          integers({8}, -9, 9), normal({})},
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

void searches(Cases& c) {
  c.push_back({.op = "searchsorted",
               .name = "sequences",
               .torch = "(torch.searchsorted(a, b), torch.searchsorted(a, b, right=True), torch.searchsorted(c, d), "
                        "torch.searchsorted(c, d, side='right', out_int32=True), torch.searchsorted(a, 2.5), "
                        "torch.searchsorted(e, b, sorter=torch.argsort(e)), torch.searchsorted(f, b))",
               .inputs = {values({6}, {-1, 0, 0, 1, 2.5, 4}), values({2, 4}, {0, 2.5, -3, nan, 9, 4, 1, 0.5}),
                          values({2, 3}, {1, 2, 3, 4, 5, 6}), values({2, 2}, {2, 4, 5, 9}), values({4}, {3, 1, 2, -4}),
                          normal({0})},
               .run = [](In x) -> Out {
                 return {searchsorted(x[0], x[1]), searchsorted(x[0], x[1], false, true),
                         searchsorted(x[2], x[3]), searchsorted(x[2], x[3], true, false, "right"),
                         searchsorted(x[0], 2.5),  searchsorted(x[4], x[1], false, false, {}, argsort(x[4])),
                         searchsorted(x[5], x[1])};
               },
               .sum = 0});
  c.push_back({.op = "searchsorted",
               .name = "bucketize",
               .torch = "(torch.bucketize(a, b), torch.bucketize(a, b, right=True, out_int32=True), "
                        "torch.bucketize(c, d), torch.bucketize(3, d), torch.bucketize(e, b))",
               .inputs = {values({2, 3}, {0, 2, -3, 9, 4, 1}).laid_out(Layout::transposed), values({4}, {-1, 0, 2, 4}),
                          integers({7}, -3, 9), values({3}, {-1, 3, 5}).as(kLong), normal({0, 2})},
               .run = [](In x) -> Out {
                 return {bucketize(x[0], x[1]), bucketize(x[0], x[1], true, true), bucketize(x[2], x[3]),
                         bucketize(3, x[3]), bucketize(x[4], x[1])};
               },
               .sum = 0});
  c.push_back({.op = "searchsorted",
               .name = "histc",
               .torch = "(torch.histc(a, 4, 0, 4), torch.histc(a, 5), torch.histc(b, 3), torch.histc(c, 2), "
                        "torch.histc(d, 10, -2, 2))",
               .inputs = {values({7}, {0, 1, 2, 4, -1, 3.5, 0.5}).constant(), values({2}, {3, 3}).constant(),
                          normal({0}).constant(), normal({50}).constant()},
               .run = [](In x) -> Out {
                 return {histc(x[0], 4, 0, 4), histc(x[0], 5), histc(x[1], 3), histc(x[2], 2), histc(x[3], 10, -2, 2)};
               },
               .sum = 0,
               .no_low = "rounded elements may change interval"});
  c.push_back(
      {.op = "scatter_add",
       .name = "bincount",
       .torch = "(torch.bincount(a), torch.bincount(a, minlength=12), torch.bincount(a, b), "
                "torch.bincount(a, c), torch.bincount(d, minlength=2), torch.bincount(d))",
       .inputs = {integers({20}, 0, 9), normal({20}).as(kFloat).constant(), integers({20}, -4, 4), integers({0}, 0, 4)},
       .run = [](In x) -> Out {
         return {bincount(x[0]),       bincount(x[0], {}, 12), bincount(x[0], x[1]),
                 bincount(x[0], x[2]), bincount(x[3], {}, 2),  bincount(x[3])};
       },
       .sum = 20,
       .autocast_as = "sort"});
}

Out three(std::initializer_list<std::tuple<Tensor, Tensor, Tensor>> all) {
  Out out;
  for (const auto& [values, inverse, counts] : all) {
    out.push_back(values);
    out.push_back(inverse);
    out.push_back(counts);
  }
  return out;
}

void distinct(Cases& c) {
  c.push_back({.op = "sort",
               .name = "unique",
               .torch =
                   "(*torch._unique2(a, True, True, True), *torch._unique2(b, True, True, True), "
                   "*torch._unique2(c), *torch._unique2(d, True, True, True), *torch._unique2(e, True, True, True))",
               .inputs = {integers({5, 4}, -3, 4), values({6}, {2, -1, 0.5, 2, -1, inf}).constant(), boolean({5}),
                          normal({0, 2}).constant(), normal({}).constant()},
               .run = [](In x) -> Out {
                 return three({_unique2(x[0], true, true, true), _unique2(x[1], true, true, true), _unique2(x[2]),
                               _unique2(x[3], true, true, true), _unique2(x[4], true, true, true)});
               },
               .sum = 0});
  c.push_back({.op = "sort",
               .name = "unique_dim",
               .torch = "(*torch.unique(a, dim=0, return_inverse=True, return_counts=True), "
                        "*torch.unique(a, dim=1, return_inverse=True, return_counts=True), "
                        "*torch.unique(b, dim=-1, return_inverse=True, return_counts=True))",
               .inputs = {integers({7, 2}, 0, 2), values({2, 5}, {1, 0, 1, 2, 1, 3, 3, 3, 1, 2}).constant()},
               .run = [](In x) -> Out {
                 return three({unique_dim(x[0], 0, true, true, true), unique_dim(x[0], 1, true, true, true),
                               unique_dim(x[1], -1, true, true, true)});
               },
               .sum = 0});
  c.push_back({.op = "sort",
               .name = "unique_consecutive",
               .torch = "(*torch.unique_consecutive(a, True, True), *torch.unique_consecutive(b, True, True), "
                        "*torch.unique_consecutive(c, True, True, dim=0))",
               .inputs = {integers({30}, 0, 2), values({2, 3}, {1, 1, 2, 2, 2, 1}).constant(), integers({9, 2}, 0, 2)},
               .run = [](In x) -> Out {
                 return three({unique_consecutive(x[0], true, true), unique_consecutive(x[1], true, true),
                               unique_consecutive(x[2], true, true, 0)});
               },
               .sum = 0});
}

}  // namespace

Cases sort_cases() {
  Cases c;
  scans(c);
  sorts(c);
  medians(c);
  quantiles(c);
  searches(c);
  distinct(c);
  return c;
}

}  // namespace tandem::testing
