// Masks, and writing and combining by index along one dimension.
#include "tandem/ops/scatter.h"

#include <cmath>

#include "cases/cases.h"
#include "tandem/ops/masked.h"

namespace tandem::testing {
namespace {

void masks(Cases& c) {
  c.push_back({.op = "masked_fill",
               .name = "numbers",
               .torch = "(a.masked_fill(b, 2.5), a.masked_fill(c, -1e4), d.masked_fill(b, 1), "
                        "e.masked_fill(b, 7), b.masked_fill(c, True))",
               .inputs = {normal({3, 4}).laid_out(MemoryLayout::transposed), boolean({3, 4}), boolean({2, 1, 4}),
                          normal({}), integers({4}, -3, 3)},
               .run = [](In x) -> Out {
                 return {masked_fill(x[0], x[1], 2.5), x[0].masked_fill(x[2], -1e4), masked_fill(x[3], x[1], 1),
                         masked_fill(x[4], x[1], 7), masked_fill(x[1], x[2], true)};
               },
               .sum = 12});
  c.push_back({.op = "masked_fill",
               .name = "special",
               .torch = "(a.masked_fill(b, -torch.inf), a.masked_fill(b, torch.nan))",
               .inputs = {normal({7}).constant(), boolean({7})},
               .run = [](In x) -> Out {
                 return {masked_fill(x[0], x[1], -HUGE_VAL), masked_fill(x[0], x[1], NAN)};
               },
               .sum = 0});
  c.push_back({.op = "masked_fill",
               .name = "tensor",
               .torch = "(a.masked_fill(b, c), a[0].masked_fill(b, c))",
               .inputs = {normal({3, 4}), boolean({3, 4}), normal({})},
               .run = [](In x) -> Out {
                 return {masked_fill(x[0], x[1], x[2]), x[0][0].masked_fill(x[1], x[2])};
               },
               .sum = 24});
  c.push_back({.op = "masked_fill",
               .name = "in_place",
               .torch = "(a.clone().masked_fill_(b, 0), a.t().contiguous().t().masked_fill_(c, d))",
               .inputs = {normal({3, 4}), boolean({3, 4}), boolean({4}), normal({})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone(), turned = x[0].t().contiguous().t();
                 return {masked_fill_(y, x[1], 0), turned.masked_fill_(x[2], x[3])};
               },
               .sum = 12,
               .bypasses_autocast = true});
  c.push_back({.op = "index_copy",
               .name = "masked_scatter",
               .torch = "(a.masked_scatter(b, c), a.masked_scatter(d, c), a.clone().masked_scatter_(b, c.t()))",
               .inputs = {normal({3, 4}), boolean({3, 4}), normal({5, 5}), boolean({2, 1, 4})},
               .run = [](In x) -> Out {
                 return {masked_scatter(x[0], x[1], x[2]), x[0].masked_scatter(x[3], x[2]),
                         x[0].clone().masked_scatter_(x[1], x[2].t())};
               },
               .autocast_as = "index"});
}

void scattering(Cases& c) {
  const Input unique = values({2, 3}, {4, 0, 2, 1, 2, 3}).as(kLong), rows = values({2, 2}, {1, 0, 2, 1}).as(kLong);
  c.push_back({.op = "scatter",
               .name = "dims",
               .torch = "(a.scatter(1, b, c), a.scatter(0, d, c[:, :2]), a.scatter(-1, b, 2.5), "
                        "e.scatter(0, f, e), a.scatter(0, d[:0], c[:0, :2]))",
               .inputs = {normal({3, 5}), unique, normal({2, 3}), rows, normal({}), integers({}, 0, 1)},
               .run = [](In x) -> Out {
                 return {scatter(x[0], 1, x[1], x[2]), scatter(x[0], 0, x[3], x[2].slice(1, 0, 2)),
                         x[0].scatter(-1, x[1], 2.5), scatter(x[4], 0, x[5], x[4]),
                         scatter(x[0], 0, x[3].slice(0, 0, 0), x[2].slice(0, 0, 0).slice(1, 0, 2))};
               },
               .sum = 5});
  c.push_back({.op = "scatter",
               .name = "rank_3",
               .torch = "(a.scatter(1, b, c), d.scatter(1, b, d), b.scatter(1, b * 0, 7))",
               .inputs = {normal({2, 4, 3}).laid_out(MemoryLayout::transposed), integers({2, 1, 3}, 0, 4),
                          normal({2, 1, 3}), boolean({2, 4, 3})},
               .run = [](In x) -> Out {
                 return {scatter(x[0], 1, x[1], x[2]), scatter(x[3], 1, x[1], x[3]), scatter(x[1], 1, x[1].mul(0), 7)};
               }});
  c.push_back({.op = "scatter",
               .name = "in_place",
               .torch = "(a.clone().scatter_(1, b, c), a.t().contiguous().t().scatter_(1, b, -1))",
               .inputs = {normal({3, 5}), unique, normal({2, 3})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone(), turned = x[0].t().contiguous().t();
                 return {scatter_(y, 1, x[1], x[2]), turned.scatter_(1, x[1], -1)};
               },
               .bypasses_autocast = true});
  c.push_back({.op = "scatter_reduce",
               .name = "scatter",
               .torch = "(a.scatter(1, b, c, reduce='add'), a.scatter(1, b, c, reduce='multiply'), "
                        "a.scatter(1, b, 0.75, reduce='multiply'), a.clone().scatter_(1, b, c, reduce='multiply'), "
                        "a.clone().scatter_(1, b, 1.5, reduce='add'))",
               .inputs = {normal({3, 5}).constant(), integers({3, 4}, 0, 5), normal({3, 4}).constant()},
               .run = [](In x) -> Out {
                 return {scatter(x[0], 1, x[1], x[2], "add"), x[0].scatter(1, x[1], x[2], "multiply"),
                         scatter(x[0], 1, x[1], 0.75, "multiply"), x[0].clone().scatter_(1, x[1], x[2], "multiply"),
                         x[0].clone().scatter_(1, x[1], 1.5, "add")};
               },
               .sum = 5,
               .roundings = 2});
}

void reducing(Cases& c) {
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"}) {
    const std::string call = std::string(", '") + reduce + "'";
    c.push_back({.op = "scatter_reduce",
                 .name = reduce,
                 .torch = "(a.scatter_reduce(1, b, c[:3]" + call + "), a.scatter_reduce(0, d, c" + call +
                          ", include_self=False), a.clone().scatter_reduce_(-1, b, c[:3]" + call +
                          "), e.scatter_reduce(0, f, e" + call + "))",
                 .inputs = {normal({3, 5}).laid_out(MemoryLayout::transposed), integers({3, 4}, 0, 5), normal({4, 4}),
                            integers({4, 4}, 0, 3), normal({}), integers({}, 0, 1)},
                 .run = [reduce](In x) -> Out {
                   return {scatter_reduce(x[0], 1, x[1], x[2].slice(0, 0, 3), reduce),
                           x[0].scatter_reduce(0, x[3], x[2], reduce, false),
                           x[0].clone().scatter_reduce_(-1, x[1], x[2].slice(0, 0, 3), reduce),
                           scatter_reduce(x[4], 0, x[5], x[4], reduce)};
                 },
                 .sum = 6,
                 .roundings = 2,
                 .grad_roundings = 12});
    c.push_back({.op = "scatter_reduce",
                 .name = std::string("integers_") + reduce,
                 .torch = "(a.scatter_reduce(0, b, c" + call + "), a.scatter_reduce(0, b, c" + call +
                          ", include_self=False), a.clone().scatter_reduce_(0, b, c" + call +
                          "), d.scatter_reduce(0, b, e" + call + ", include_self=False))",
                 .inputs = {integers({4}, -9, 9), integers({7}, 0, 4), integers({7}, -9, 9),
                            integers({4}, -9, 9).as(kShort), integers({7}, -9, 9).as(kShort)},
                 .run = [reduce](In x) -> Out {
                   return {scatter_reduce(x[0], 0, x[1], x[2], reduce),
                           scatter_reduce(x[0], 0, x[1], x[2], reduce, false),
                           x[0].clone().scatter_reduce_(0, x[1], x[2], reduce),
                           scatter_reduce(x[3], 0, x[1], x[4], reduce, false)};
                 },
                 .sum = 0});
  }
  c.push_back({.op = "scatter_reduce",
               .name = "special",
               .torch = "(a.scatter_reduce(0, b, a, 'amax'), a.scatter_reduce(0, b, a, 'amin'), "
                        "a.scatter_reduce(0, b, a, 'prod', include_self=False))",
               .inputs = {values({5}, {1, NAN, -HUGE_VAL, HUGE_VAL, -0.0}).constant(), integers({5}, 0, 4)},
               .run = [](In x) -> Out {
                 return {scatter_reduce(x[0], 0, x[1], x[0], "amax"), scatter_reduce(x[0], 0, x[1], x[0], "amin"),
                         scatter_reduce(x[0], 0, x[1], x[0], "prod", false)};
               }});
  c.push_back({.op = "scatter_reduce",
               .name = "zeros_and_ties",
               .torch = "(a.scatter_reduce(0, b, c, 'prod'), a.scatter_reduce(0, b, c, 'amax'), "
                        "a.scatter_reduce(0, b, c, 'amin'))",
               .inputs = {values({4}, {2, 0, 3, 1}), values({7}, {0, 0, 1, 2, 2, 3, 3}).as(kLong),
                          values({7}, {0, 5, 4, 0, 0, 1, 0.5})},
               .run = [](In x) -> Out {
                 return {scatter_reduce(x[0], 0, x[1], x[2], "prod"), scatter_reduce(x[0], 0, x[1], x[2], "amax"),
                         scatter_reduce(x[0], 0, x[1], x[2], "amin")};
               },
               .sum = 3,
               .no_gradcheck = "kinks: equal extremes"});
  for (const char* reduce : {"prod", "mean", "amax", "amin"}) {
    const std::string call = std::string(", '") + reduce + "'";
    c.push_back({.op = "scatter_reduce",
                 .name = std::string("index_") + reduce,
                 .torch = "(a.index_reduce(0, b, c" + call + "), a.index_reduce(1, b[:4], d" + call +
                          ", include_self=False), a.clone().index_reduce_(0, b, c" + call + "))",
                 .inputs = {normal({4, 3}), integers({5}, 0, 3), normal({5, 3}), normal({4, 4})},
                 .run = [reduce](In x) -> Out {
                   return {index_reduce(x[0], 0, x[1], x[2], reduce),
                           x[0].index_reduce(1, x[1].slice(0, 0, 4), x[3], reduce, false),
                           x[0].clone().index_reduce_(0, x[1], x[2], reduce)};
                 },
                 .sum = 6,
                 .roundings = 2,
                 .grad_roundings = 12});
  }
}

void slices(Cases& c) {
  const Input unique = values({2}, {3, 1}).as(kLong);
  c.push_back({.op = "index_copy",
               .name = "dims",
               .torch = "(a.index_copy(0, b, c), a.index_copy(-1, b, d), a.index_copy(0, b[0], c[:1]), "
                        "e.index_copy(0, b[:1] * 0, e), a.index_copy(0, b[:0], c[:0]))",
               .inputs = {normal({4, 5}).laid_out(MemoryLayout::transposed), unique, normal({2, 5}), normal({4, 2}),
                          normal({})},
               .run = [](In x) -> Out {
                 return {index_copy(x[0], 0, x[1], x[2]), x[0].index_copy(-1, x[1], x[3]),
                         index_copy(x[0], 0, x[1][0], x[2].slice(0, 0, 1)),
                         index_copy(x[4], 0, x[1].slice(0, 0, 1).mul(0), x[4]),
                         index_copy(x[0], 0, x[1].slice(0, 0, 0), x[2].slice(0, 0, 0))};
               },
               .sum = 5});
  c.push_back({.op = "index_copy",
               .name = "in_place",
               .torch = "(a.clone().index_copy_(0, b, c), a.t().contiguous().t().index_copy_(0, b, c))",
               .inputs = {normal({4, 5}), unique, normal({2, 5})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone(), turned = x[0].t().contiguous().t();
                 return {index_copy_(y, 0, x[1], x[2]), turned.index_copy_(0, x[1], x[2])};
               },
               .bypasses_autocast = true});
  c.push_back({.op = "index_fill",
               .name = "dims",
               .torch = "(a.index_fill(0, b, 2.5), a.index_fill(-1, e, c), d.index_fill(1, b, 3), "
                        "c.index_fill(0, b[:1] * 0, 1), a.index_fill(0, b[0], -1))",
               .inputs = {normal({4, 5}).laid_out(MemoryLayout::transposed), values({2}, {-1, 1}).as(kLong), normal({}),
                          integers({3, 4}, -5, 5), unique},
               .run = [](In x) -> Out {
                 return {index_fill(x[0], 0, x[1], 2.5), x[0].index_fill(-1, x[4], x[2]), index_fill(x[3], 1, x[1], 3),
                         index_fill(x[2], 0, x[1].slice(0, 0, 1).mul(0), 1), index_fill(x[0], 0, x[1][0], -1)};
               },
               .sum = 12});
  c.push_back({.op = "index_fill",
               .name = "in_place",
               .torch = "(a.clone().index_fill_(0, b.long(), 0.5), a.clone().index_fill_(1, d, c))",
               .inputs = {normal({4, 5}), values({2}, {-1, 1}).as(kInt), normal({}), unique},
               .run = [](In x) -> Out {
                 return {x[0].clone().index_fill_(0, x[1], 0.5), x[0].clone().index_fill_(1, x[3], x[2])};
               },
               .sum = 12,
               .bypasses_autocast = true});
}

}  // namespace

Cases scatter_cases() {
  Cases c;
  masks(c);
  scattering(c);
  reducing(c);
  slices(c);
  return c;
}

}  // namespace tandem::testing
