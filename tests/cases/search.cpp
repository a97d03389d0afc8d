// Searches in sorted sequences, histograms and distinct elements.
#include "tandem/ops/search.h"

#include <cmath>

#include "cases/shared.h"
#include "tandem/ops/histogram.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/sort.h"

namespace tandem::testing {
namespace {

void searches(Cases& c) {
  c.push_back({.op = "searchsorted",
               .name = "isin",
               .torch = "(torch.isin(a, b), torch.isin(a, b, invert=True), torch.isin(c, d), torch.isin(d, 2.0), "
                        "torch.isin(3, a), torch.isin(c, d[:0]), torch.isin(a, c))",
               .inputs = {integers({2, 5}, 0, 6), integers({4}, 2, 9).as(kInt),
                          values({5}, {1, 2.5, NAN, HUGE_VAL, -3}), values({2, 2}, {2.5, NAN, -3, 2})},
               .run = [](In x) -> Out {
                 return {isin(x[0], x[1]), isin(x[0], x[1], false, true),    isin(x[2], x[3]), isin(x[3], 2.0),
                         isin(3, x[0]),    isin(x[2], x[3].narrow(0, 0, 0)), isin(x[0], x[2])};
               },
               .sum = 0});
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
  c.push_back(
      {.op = "searchsorted",
       .name = "bucketize",
       .torch = "(torch.bucketize(a, b), torch.bucketize(a, b, right=True, out_int32=True), "
                "torch.bucketize(c, d), torch.bucketize(3, d), torch.bucketize(e, b))",
       .inputs = {values({2, 3}, {0, 2, -3, 9, 4, 1}).laid_out(MemoryLayout::transposed), values({4}, {-1, 0, 2, 4}),
                  integers({7}, -3, 9), values({3}, {-1, 3, 5}).as(kLong), normal({0, 2})},
       .run = [](In x) -> Out {
         return {bucketize(x[0], x[1]), bucketize(x[0], x[1], true, true), bucketize(x[2], x[3]), bucketize(3, x[3]),
                 bucketize(x[4], x[1])};
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
  c.push_back({.op = "searchsorted",
               .name = "histogram",
               .torch =
                   "(*torch.histogram(a, b), *torch.histogram(a, b, weight=c), *torch.histogram(a, b, density=True), "
                   "*torch.histogram(a, 4, range=(0.0, 4.0)), *torch.histogram(d, 5), "
                   "*torch.histogram(e, 3, weight=f, density=True), *torch.histogram(a[:0], 2), "
                   "*torch.histogram(e[:1], 2))",
               .inputs = {values({8}, {0, 1, 2, 4, -1, 3.5, 0.5, nan}).constant(), values({4}, {0, 1, 3, 4}).constant(),
                          normal({8}).constant(), normal({5, 10}).constant(), normal({20}).constant(),
                          uniform({20}, 0.5, 2).constant()},
               .run = [](In x) -> Out {
                 Out out;
                 const Tensor none;
                 for (const auto& [counts, edges] :
                      {histogram(x[0], x[1]), histogram(x[0], x[1], x[2]), histogram(x[0], x[1], none, true),
                       histogram(x[0], 4, {{0.0, 4.0}}), histogram(x[3], 5), histogram(x[4], 3, {}, x[5], true),
                       x[0].narrow(0, 0, 0).histogram(2), x[4].narrow(0, 0, 1).histogram(2)}) {
                   out.push_back(counts);
                   out.push_back(edges);
                 }
                 return out;
               },
               .sum = 20,
               .no_low = "rounded elements may change interval"});
  c.push_back({.op = "searchsorted",
               .name = "histogramdd",
               .torch = "(lambda *all: tuple(t for counts, edges in all for t in (counts, *edges)))("
                        "torch.histogramdd(a, [3, 2]), torch.histogramdd(a, 2, range=(-2.0, 2.0, -1.0, 1.0)), "
                        "torch.histogramdd(a, (b, c), weight=d), torch.histogramdd(a, [2, 3], density=True))",
               .inputs = {normal({30, 2}).constant(), values({4}, {-1, 0, 0.5, 2}).constant(),
                          values({3}, {-2, 0.25, 3}).constant(), uniform({30}, 0.5, 2).constant()},
               .run = [](In x) -> Out {
                 Out out;
                 for (const auto& [counts, edges] :
                      {histogramdd(x[0], {3, 2}), histogramdd(x[0], 2, {{-2.0, 2.0, -1.0, 1.0}}),
                       histogramdd(x[0], {x[1], x[2]}, {}, x[3]), histogramdd(x[0], {2, 3}, {}, {}, true)}) {
                   out.push_back(counts);
                   out.insert(out.end(), edges.begin(), edges.end());
                 }
                 return out;
               },
               .sum = 30,
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
                        "*torch.unique(b, dim=-1, return_inverse=True, return_counts=True), "
                        "*torch.unique(c, dim=-1, return_inverse=True, return_counts=True))",
               .inputs = {integers({7, 2}, 0, 2), values({2, 5}, {1, 0, 1, 2, 1, 3, 3, 3, 1, 2}).constant(),
                          integers({2, 3, 6}, 0, 2)},
               .run = [](In x) -> Out {
                 return three({unique_dim(x[0], 0, true, true, true), unique_dim(x[0], 1, true, true, true),
                               unique_dim(x[1], -1, true, true, true), unique_dim(x[2], -1, true, true, true)});
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

Cases search_cases() {
  Cases c;
  searches(c);
  distinct(c);
  return c;
}

}  // namespace tandem::testing
