// Views, joins, copies and conversions: values are moved, not changed.
#include "tandem/ops/shape.h"

#include "cases/cases.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/indexing.h"

namespace tandem::testing {
namespace {

void moved(Cases& cases, const std::string& op, const std::string& name, const std::string& torch,
           std::vector<Input> inputs, Callable<Out(In)> run) {
  cases.push_back(
      {.op = op, .name = name, .torch = torch, .inputs = std::move(inputs), .run = std::move(run), .sum = 0});
}

void sizes_of(Cases& c) {
  moved(c, "view", "split_and_join", "(a.view(4, -1), a.view(2, 3, 2, 2), a.view(-1))", {normal({2, 12})},
        [](In x) -> Out {
          return {view(x[0], {4, -1}), view(x[0], {2, 3, 2, 2}), view(x[0], {-1})};
        });
  moved(c, "view", "of_transposed", "a.view(3, 2, 2)", {normal({3, 4}).laid_out(MemoryLayout::transposed)},
        [](In x) -> Out {
          return {view(x[0], {3, 2, 2})};
        });
  moved(c, "view", "scalar_and_empty", "(a.view(1, 1), b.view(0, 6))", {normal({}), normal({2, 0, 3})},
        [](In x) -> Out {
          return {view(x[0], {1, 1}), view(x[1], {0, 6})};
        });
  moved(c, "reshape", "view", "a.reshape(3, 4)", {normal({2, 6})}, [](In x) -> Out { return {reshape(x[0], {3, 4})}; });
  moved(c, "reshape", "copy", "(a.reshape(-1), a.reshape(2, 6))", {normal({4, 3}).laid_out(MemoryLayout::transposed)},
        [](In x) -> Out {
          return {reshape(x[0], {-1}), reshape(x[0], {2, 6})};
        });
  moved(c, "reshape", "flatten", "(torch.flatten(a), torch.flatten(a, 1), torch.flatten(a, -2, -1), torch.flatten(b))",
        {normal({2, 3, 4}), normal({})}, [](In x) -> Out {
          return {flatten(x[0]), flatten(x[0], 1), flatten(x[0], -2, -1), flatten(x[1])};
        });
  moved(c, "transpose", "dims", "(a.transpose(0, 2), a.transpose(-1, -2), b.t(), c.t(), d.t())",
        {normal({2, 3, 4}), normal({3, 5}), normal({4}), normal({})}, [](In x) -> Out {
          return {transpose(x[0], 0, 2), transpose(x[0], -1, -2), t(x[1]), t(x[2]), t(x[3])};
        });
  moved(c, "permute", "dims", "(a.permute(2, 0, 1), a.permute(-1, 1, 0))", {normal({2, 3, 4})}, [](In x) -> Out {
    return {permute(x[0], {2, 0, 1}), permute(x[0], {-1, 1, 0})};
  });
  moved(c, "squeeze", "dims", "(a.squeeze(), a.squeeze(0), a.squeeze(-2), a.squeeze(1))", {normal({1, 3, 1, 2})},
        [](In x) -> Out {
          return {squeeze(x[0]), squeeze(x[0], 0), squeeze(x[0], -2), squeeze(x[0], 1)};
        });
  moved(c, "unsqueeze", "dims", "(a.unsqueeze(0), a.unsqueeze(-1), a.unsqueeze(1), b.unsqueeze(0))",
        {normal({2, 3}), normal({})}, [](In x) -> Out {
          return {unsqueeze(x[0], 0), unsqueeze(x[0], -1), unsqueeze(x[0], 1), unsqueeze(x[1], 0)};
        });
  c.push_back({.op = "expand",
               .name = "dims",
               .torch = "(a.expand(4, 3), a.expand(2, -1, 3), b.expand(5))",
               .inputs = {normal({4, 1}), normal({})},
               .run = [](In x) -> Out {
                 return {expand(x[0], {4, 3}), expand(x[0], {2, -1, 3}), expand(x[1], {5})};
               },
               .sum = 9});
}

void parts(Cases& c) {
  moved(c, "select", "dims", "(a.select(0, 1), a.select(-1, -2), a.select(1, 0), a[1])", {normal({3, 2, 4})},
        [](In x) -> Out {
          return {select(x[0], 0, 1), select(x[0], -1, -2), select(x[0], 1, 0), x[0][1]};
        });
  moved(c, "slice", "bounds", "(a[1:4], a[:, ::2], a[:, -3:-1], a[3:1], a[:100], a.narrow(1, 2, 3), a[:, 1::3])",
        {normal({5, 6})}, [](In x) -> Out {
          return {slice(x[0], 0, 1, 4),    slice(x[0], 1, {}, {}, 2), slice(x[0], 1, -3, -1),   slice(x[0], 0, 3, 1),
                  slice(x[0], 0, {}, 100), narrow(x[0], 1, 2, 3),     slice(x[0], -1, 1, {}, 3)};
        });
  moved(c, "slice", "overlapping_uses", "(a[:3], a[2:])", {normal({5})}, [](In x) -> Out {
    return {slice(x[0], 0, {}, 3), slice(x[0], 0, 2)};
  });
  moved(c, "slice", "chunk", "(*a.chunk(3), *a.chunk(2, -1))", {normal({7, 4})}, [](In x) -> Out {
    Out parts = chunk(x[0], 3);
    for (Tensor& part : chunk(x[0], 2, -1)) parts.push_back(part);
    return parts;
  });
  moved(c, "slice", "index", "(a[1, :, None, 1:3], a[..., -1], a[None], a[0, ..., ::2])", {normal({2, 3, 5})},
        [](In x) -> Out {
          using namespace tandem::indexing;
          return {x[0].index({1, Slice(), None, Slice(1, 3)}), x[0].index({Ellipsis, -1}), x[0].index({None}),
                  x[0].index({0, Ellipsis, Slice(None, None, 2)})};
        });
  c.push_back({.op = "as_strided",
               .name = "overlapping_windows",
               .torch = "a.as_strided((4, 3), (2, 1), 1)",
               .inputs = {normal({10})},
               .run = [](In x) -> Out {
                 return {as_strided(x[0], {4, 3}, {2, 1}, 1)};
               },
               .sum = 2});
  moved(c, "as_strided", "diagonal", "a.as_strided((4,), (5,), 0)", {normal({4, 4})},
        [](In x) -> Out { return {as_strided(x[0], {4}, {5}, 0)}; });
  const Callable<Out(In)> scatter = [](In x) -> Out { return {as_strided_scatter(x[0], x[1], {3}, {5}, 1)}; };
  moved(c, "as_strided_scatter", "diagonal", "torch.as_strided_scatter(a, b, (3,), (5,), 1)",
        {normal({4, 4}).constant(), normal({3})}, scatter);
  moved(c, "as_strided_scatter", "both_gradients", "", {normal({4, 4}), normal({3})}, scatter);
  c.back().no_golden = "PyTorch 2.15 gives the first input the gradient of just those elements that were overwritten";
}

void concatenations(Cases& c) {
  moved(c, "cat", "dims", "(torch.cat([a, b]), torch.cat([a, c, a], dim=-1))",
        {normal({2, 3}), normal({4, 3}), normal({2, 1}).laid_out(MemoryLayout::gaps)}, [](In x) -> Out {
          return {cat(Out{x[0], x[1]}), cat(Out{x[0], x[2], x[0]}, -1)};
        });
  moved(c, "cat", "empty_part", "torch.cat([a, b, c], dim=1)", {normal({2, 3}), normal({2, 0}), normal({2, 2})},
        [](In x) -> Out {
          return {cat(Out{x[0], x[1], x[2]}, 1)};
        });
  moved(c, "cat", "channels_last", "torch.cat([a, b], dim=1)",
        {normal({2, 3, 2, 2}).laid_out(MemoryLayout::channels_last),
         normal({2, 1, 2, 2}).laid_out(MemoryLayout::channels_last)},
        [](In x) -> Out {
          return {cat(Out{x[0], x[1]}, 1)};
        });
  moved(c, "cat", "promotes", "torch.cat([a, b])", {normal({3}), normal({2}).as(kDouble)}, [](In x) -> Out {
    return {cat(Out{x[0], x[1]})};
  });
  moved(c, "cat", "integers", "(torch.cat([a, b]), torch.cat([a, c]))",
        {integers({3}, 0, 9), integers({2}, 0, 9).as(kInt), normal({2})}, [](In x) -> Out {
          return {cat(Out{x[0], x[1]}), cat(Out{x[0], x[2]})};
        });
  moved(c, "stack", "dims", "(torch.stack([a, b]), torch.stack([a, b, a], dim=1), torch.stack([b, a], dim=-1))",
        {normal({2, 3}), normal({2, 3}).laid_out(MemoryLayout::transposed)}, [](In x) -> Out {
          return {stack(Out{x[0], x[1]}), stack(Out{x[0], x[1], x[0]}, 1), stack(Out{x[1], x[0]}, -1)};
        });
  moved(c, "stack", "scalars", "torch.stack([a, b])", {normal({}), normal({})}, [](In x) -> Out {
    return {stack(Out{x[0], x[1]})};
  });
}

void copies(Cases& c) {
  moved(c, "clone", "layouts", "(a.clone(), b.clone(), c.clone())",
        {normal({3, 4}), normal({3, 4}).laid_out(MemoryLayout::transposed),
         normal({2, 3, 2, 2}).laid_out(MemoryLayout::channels_last)},
        [](In x) -> Out {
          return {clone(x[0]), clone(x[1]), clone(x[2])};
        });
  moved(c, "contiguous", "layouts", "(a.contiguous(), b.contiguous(memory_format=torch.channels_last))",
        {normal({3, 4}).laid_out(MemoryLayout::transposed), normal({2, 3, 2, 2})}, [](In x) -> Out {
          return {contiguous(x[0]), contiguous(x[1], kChannelsLast)};
        });
  moved(c, "detach", "of_leaf", "a.detach()", {normal({3})}, [](In x) -> Out { return {x[0].detach()}; });
  c.back().no_gradcheck = "detach cuts the graph";
  c.push_back(
      {.op = "to",
       .name = "dtypes",
       .torch = "(a.to(torch.float64), b.to(torch.float32), b.to(torch.int64), a > 0, (a > 0).to(torch.float32))",
       .inputs = {normal({7}), uniform({5}, 0, 8).constant()},
       .run = [](In x) -> Out {
         return {to(x[0], kDouble), to(x[1], kFloat), to(x[1], kLong), x[0] > 0, to(x[0] > 0, kFloat)};
       },
       .sum = 0});
  c.push_back({.op = "to",
               .name = "half_and_back",
               .torch = "(a.to(torch.float32).to(torch.float16), a.to(torch.float32).to(torch.bfloat16))",
               .inputs = {values({10}, {1, 0.1, 65504, 65519, 65520, -70000, 6e-8, 2e-8, 3e-8, 1e-5})},
               .run = [](In x) -> Out {
                 return {to(to(x[0], kFloat), kHalf), to(to(x[0], kFloat), kBFloat16)};
               },
               .sum = 0,
               .no_gradcheck = "rounds to 16 bits",
               .no_low = "the inputs do not fit"});
  c.push_back({.op = "copy",
               .name = "in_place",
               .torch = "(a.clone().copy_(b), a.clone().copy_(c), torch.zeros(2, 3).copy_(d))",
               .inputs = {normal({2, 3}), normal({3}), normal({2, 3}).as(kDouble), normal({2, 3}).constant()},
               .run = [](In x) -> Out {
                 return {x[0].clone().copy_(x[1]), x[0].clone().copy_(x[2]),
                         empty({2, 3}, x[3].options().dtype(kFloat)).copy_(x[3])};
               },
               .sum = 2,
               .bypasses_autocast = true});
}

}  // namespace

Cases shape_cases() {
  Cases c;
  sizes_of(c);
  parts(c);
  concatenations(c);
  copies(c);
  return c;
}

}  // namespace tandem::testing
