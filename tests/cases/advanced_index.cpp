// Index tensors and masks: index, index_put and what is composed of them.
#include "tandem/ops/advanced_index.h"

#include "cases/cases.h"
#include "tandem/ops/masked.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;

void reading(Cases& c) {
  c.push_back({.op = "index",
               .name = "tensors",
               .torch = "(a[b], a[:, c], a[b, c], a[b, :, d], a[..., d], a[:, b, d])",
               .inputs = {normal({4, 5, 6}), integers({3}, -4, 4), integers({2, 3}, -5, 5), integers({3}, -6, 6)},
               .run = [](In x) -> Out {
                 return {index(x[0], {x[1]}),          x[0].index({Slice(), x[2]}),
                         index(x[0], {x[1], x[2]}),    index(x[0], {x[1], std::nullopt, x[3]}),
                         x[0].index({Ellipsis, x[3]}), index(x[0], {Tensor(), x[1], x[3]})};
               },
               .sum = 12});
  c.push_back(
      {.op = "index",
       .name = "mixed",
       .torch =
           "(a[1, b], a[b, 1:4, c], a[b, None, :, c], a[::2, :, c], a[0, :, c], a[b, -1], a[None, b], a[1:, b, 1])",
       .inputs = {normal({4, 5, 6}), integers({3}, -4, 4), integers({3}, -6, 6).as(kInt)},
       .run = [](In x) -> Out {
         return {x[0].index({1, x[1]}),
                 x[0].index({x[1], Slice(1, 4), x[2]}),
                 x[0].index({x[1], None, Slice(), x[2]}),
                 x[0].index({Slice(None, None, 2), Slice(), x[2]}),
                 x[0].index({0, Slice(), x[2]}),
                 x[0].index({x[1], -1}),
                 x[0].index({None, x[1]}),
                 x[0].index({Slice(1, None), x[1], 1})};
       },
       .sum = 12});
  c.push_back({.op = "index",
               .name = "masks",
               .torch = "(a[b], a[c], a[:, d], a[c, 2], a[1, d], a[b, 1:3], a[None, c], a[..., d[:3]], a[c, None])",
               .inputs = {normal({4, 5, 3}), boolean({4, 5}), boolean({4}), boolean({5})},
               .run = [](In x) -> Out {
                 return {x[0].index({x[1]}),          index(x[0], {x[2]}),
                         x[0].index({Slice(), x[3]}), x[0].index({x[2], 2}),
                         x[0].index({1, x[3]}),       x[0].index({x[1], Slice(1, 3)}),
                         x[0].index({None, x[2]}),    x[0].index({"...", x[3].slice(0, 0, 3)}),
                         x[0].index({x[2], None})};
               },
               .sum = 8});
  c.push_back(
      {.op = "index",
       .name = "layouts",
       .torch = "(a[b], a[:, b], d[b, :, b], d[:, :, b], a[c.t()], a.expand(2, 3, 4)[1, b])",
       .inputs = {normal({3, 4}).laid_out(MemoryLayout::transposed), integers({5}, -3, 3), boolean({4, 3}),
                  normal({3, 4, 3}).laid_out(MemoryLayout::gaps)},
       .run = [](In x) -> Out {
         return {index(x[0], {x[1]}),          x[0].index({Slice(), x[1]}), x[3].index({x[1], Slice(), x[1]}),
                 x[3].index({Ellipsis, x[1]}), index(x[0], {x[2].t()}),     x[0].expand({2, 3, 4}).index({1, x[1]})};
       },
       .sum = 12});
  c.push_back({.op = "index",
               .name = "empty",
               .torch = "(a[b], a[:, b], d[b], a[c], a[b, b], d[:, b])",
               .inputs = {normal({3, 4}), integers({0}, 0, 1), values({3, 4}, std::vector<double>(12, 0)).as(kBool),
                          normal({0, 3})},
               .run = [](In x) -> Out {
                 return {index(x[0], {x[1]}), x[0].index({Slice(), x[1]}), index(x[3], {x[1]}),
                         index(x[0], {x[2]}), index(x[0], {x[1], x[1]}),   x[3].index({Slice(), x[1]})};
               },
               .sum = 0});
  c.push_back({.op = "index",
               .name = "booleans",
               .torch = "(a[True], a[False], a[True, b], a[torch.tensor(True), 1], c[True], c[torch.tensor(False)])",
               .inputs = {normal({3, 4}), integers({2}, 0, 3), normal({})},
               .run = [](In x) -> Out {
                 return {x[0].index({true}),       x[0].index({false}),
                         x[0].index({true, x[1]}), x[0].index({tensor(true), 1}),
                         x[2].index({true}),       x[2].index({tensor(false)})};
               },
               .sum = 5});
  c.push_back({.op = "index",
               .name = "other_dtypes",
               .torch = "(a[c], b[c], b[b], a[a])",
               .inputs = {integers({4, 3}, 0, 4), boolean({4, 3}), integers({2, 3}, 0, 4)},
               .run = [](In x) -> Out {
                 return {index(x[0], {x[2]}), index(x[1], {x[2]}), index(x[1], {x[1]}), index(x[0], {x[0]})};
               },
               .sum = 0});
}

void selecting(Cases& c) {
  c.push_back({.op = "index",
               .name = "take",
               .torch = "(a.take(b), a.take(c), d.take(c[:1] * 0))",
               .inputs = {normal({3, 4}).laid_out(MemoryLayout::transposed), integers({2, 5}, -12, 12),
                          integers({4}, 0, 12), normal({})},
               .run = [](In x) -> Out {
                 return {take(x[0], x[1]), x[0].take(x[2]), take(x[3], x[2].slice(0, 0, 1).mul(0))};
               },
               .sum = 14});
  c.push_back({.op = "gather",
               .name = "take_along_dim",
               .torch = "(torch.take_along_dim(a, b, 1), torch.take_along_dim(a, c, 0), torch.take_along_dim(a, b))",
               .inputs = {normal({3, 4}), integers({3, 2}, 0, 3), integers({2, 1}, 0, 3)},
               .run = [](In x) -> Out {
                 return {take_along_dim(x[0], x[1], 1), x[0].take_along_dim(x[2], 0), take_along_dim(x[0], x[1])};
               },
               .sum = 14});
  c.push_back({.op = "index_select",
               .name = "masked_select",
               .torch = "(a.masked_select(b), a.masked_select(c), d.masked_select(b), e.masked_select(b))",
               .inputs = {normal({3, 4}).laid_out(MemoryLayout::transposed), boolean({3, 4}), boolean({2, 3, 1}),
                          normal({4}), normal({})},
               .run = [](In x) -> Out {
                 return {masked_select(x[0], x[1]), x[0].masked_select(x[2]), masked_select(x[3], x[1]),
                         masked_select(x[4], x[1])};
               },
               .sum = 14});
  const double nan = NAN;
  c.push_back({.op = "index",
               .name = "nonzero",
               .torch = "(a.nonzero(), a.argwhere(), *torch.where(a), b.t().nonzero(), c.nonzero(), d.nonzero(), "
                        "*torch.where(c), e.nonzero())",
               .inputs = {values({2, 3}, {0, 1, nan, -0.0, -2, 0}), boolean({5, 4}), values({}, {1}), values({}, {0}),
                          normal({0, 3})},
               .run = [](In x) -> Out {
                 const auto columns = where(x[0]), number = where(x[2]);
                 return {nonzero(x[0]),  argwhere(x[0]), columns[0], columns[1],   x[1].t().nonzero(),
                         x[2].nonzero(), nonzero(x[3]),  number[0],  nonzero(x[4])};
               },
               .sum = 0});
  c.push_back({.op = "where",
               .name = "two_numbers",
               .torch = "(torch.where(a, 1, 2), torch.where(a, 1.5, 2), torch.where(a, True, False), "
                        "torch.where(a, True, 3))",
               .inputs = {boolean({3, 4})},
               .run = [](In x) -> Out {
                 return {where(x[0], 1, 2), where(x[0], 1.5, 2), where(x[0], true, false), where(x[0], true, 3)};
               },
               .sum = 0});
  c.push_back({.op = "scatter",
               .name = "one_hot",
               .torch = "(F.one_hot(a), F.one_hot(a, 7), F.one_hot(b, 3), F.one_hot(c, 4))",
               .inputs = {integers({2, 3}, 0, 5), integers({}, 0, 3), integers({0}, 0, 1)},
               .run = [](In x) -> Out {
                 return {one_hot(x[0]), one_hot(x[0], 7), one_hot(x[1], 3), one_hot(x[2], 4)};
               },
               .sum = 0});
}

void writing(Cases& c) {
  const Input unique = values({3}, {2, -4, 1}).as(kLong), columns = values({3}, {0, -1, 3}).as(kLong);
  c.push_back({.op = "index_put",
               .name = "assign",
               .torch = "(a.index_put((b,), d), a.index_put((b, c), e), a.index_put((b,), f), "
                        "a.t().index_put((c, b), e), a.index_put((b.view(3, 1), c), d[:, :3]))",
               .inputs = {normal({4, 5}), unique, columns, normal({3, 5}), normal({3}), normal({})},
               .run = [](In x) -> Out {
                 return {index_put(x[0], {x[1]}, x[3]), x[0].index_put({x[1], x[2]}, x[4]),
                         index_put(x[0], {x[1]}, x[5]), index_put(x[0].t(), {x[2], x[1]}, x[4]),
                         index_put(x[0], {x[1].view({3, 1}), x[2]}, x[3].slice(1, 0, 3))};
               },
               .sum = 15});
  c.push_back(
      {.op = "index_put",
       .name = "accumulate",
       .torch = "(a.index_put((b,), d, accumulate=True), a.index_put((b, c), e, accumulate=True), "
                "a.index_put((b,), e[0, 0], accumulate=True))",
       .inputs = {normal({3, 4}), integers({2, 6}, -3, 3), integers({6}, -4, 4), normal({6, 4}), normal({2, 6})},
       .run = [](In x) -> Out {
         return {index_put(x[0], {x[1]}, x[3], true), index_put(x[0], {x[1], x[2]}, x[4], true),
                 index_put(x[0], {x[1]}, x[4][0][0], true)};
       },
       .sum = 13});
  c.push_back(
      {.op = "index_put",
       .name = "masks",
       .torch = "(a.index_put((b,), c), a.index_put((d,), e), a.index_put((b,), torch.full_like(c, 2.5)), "
                "a.index_put((d,), e[:1], accumulate=True))",
       .inputs = {normal({3, 4}), boolean({3, 4}), normal({}), values({3}, {1, 0, 1}).as(kBool), normal({2, 4})},
       .run = [](In x) -> Out {
         return {index_put(x[0], {x[1]}, x[2]), index_put(x[0], {x[3]}, x[4]), index_put(x[0], {x[1]}, 2.5),
                 index_put(x[0], {x[3]}, x[4].slice(0, 0, 1), true)};
       },
       .sum = 14});
  c.push_back({.op = "index_put",
               .name = "in_place",
               .torch = "(a.clone().index_put_((b, c), d), a.clone().index_put_((b,), d, accumulate=True), "
                        "a.t().contiguous().t().index_put_((b,), d))",
               .inputs = {normal({4, 3}), unique, values({3}, {0, -1, 1}).as(kLong), normal({3})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone(), sum = x[0].clone(), turned = x[0].t().contiguous().t();
                 return {y.index_put_({x[1], x[2]}, x[3]), index_put_(sum, {x[1]}, x[3], true),
                         turned.index_put_({x[1]}, x[3])};
               },
               .sum = 12,
               .bypasses_autocast = true});
  c.push_back(
      {.op = "index_put",
       .name = "in_place_part",
       .torch = "(lambda x: (x.__setitem__((slice(1, 3), b), c), x.__setitem__((0, d), 2.5), x)[-1])(a.clone())",
       .inputs = {normal({4, 5}), columns, normal({2, 3}), boolean({5})},
       .run = [](In x) -> Out {
         const Tensor y = x[0].clone();
         y.index_put_({Slice(1, 3), x[1]}, x[2]);
         y.index_put_({0, x[3]}, 2.5);
         return {y};
       },
       .sum = 6,
       .bypasses_autocast = true});
  c.push_back({.op = "index_put",
               .name = "integers",
               .torch = "(a.index_put((b,), c), a.index_put((b,), c, accumulate=True), d.index_put((b,), d[:3]))",
               .inputs = {integers({4, 3}, -9, 9), unique, integers({3}, -9, 9), boolean({4, 3})},
               .run = [](In x) -> Out {
                 return {index_put(x[0], {x[1]}, x[2]), index_put(x[0], {x[1]}, x[2], true),
                         index_put(x[3], {x[1]}, x[3].slice(0, 0, 3))};
               },
               .sum = 0});
  c.push_back(
      {.op = "index_put",
       .name = "put",
       .torch = "(a.put(b, c), a.put(d, e, accumulate=True), a.clone().put_(b, c), "
                "a.t().contiguous().t().put_(d, e, accumulate=True))",
       .inputs = {normal({3, 4}), values({3}, {0, -1, 5}).as(kLong), normal({3}), integers({2, 4}, -12, 12),
                  normal({8})},
       .run = [](In x) -> Out {
         const Tensor y = x[0].clone(), sum = x[0].t().contiguous().t();
         return {put(x[0], x[1], x[2]), x[0].put(x[3], x[4], true), put_(y, x[1], x[2]), sum.put_(x[3], x[4], true)};
       },
       .sum = 9,
       .autocast_as = "index"});
}

}  // namespace

Cases advanced_index_cases() {
  Cases c;
  reading(c);
  selecting(c);
  writing(c);
  return c;
}

}  // namespace tandem::testing
