// Selecting and adding by index.
#include "tandem/ops/index.h"

#include "cases/cases.h"

namespace tandem::testing {

Cases index_cases() {
  Cases c;
  c.push_back({.op = "embedding",
               .name = "repeated",
               .torch = "F.embedding(a, b)",
               .inputs = {integers({3, 5}, 0, 6), normal({6, 4})},
               .run = [](In x) -> Out { return {embedding(x[1], x[0])}; },
               .sum = 15});
  c.push_back({.op = "embedding",
               .name = "padding",
               .torch = "F.embedding(a, b, padding_idx=2)",
               .inputs = {integers({11}, 0, 4), normal({4, 3})},
               .run = [](In x) -> Out { return {embedding(x[1], x[0], 2)}; },
               .sum = 11,
               .no_gradcheck = "the padding row counts in the result but gets no gradient"});
  c.push_back({.op = "embedding",
               .name = "no_indices",
               .torch = "F.embedding(a, b)",
               .inputs = {integers({0}, 0, 4), normal({4, 3})},
               .run = [](In x) -> Out { return {embedding(x[1], x[0])}; },
               .sum = 0});
  c.push_back({.op = "embedding",
               .name = "i32_indices",
               .torch = "F.embedding(a, b)",
               .inputs = {integers({7}, 0, 4).as(kInt), normal({4, 3})},
               .run = [](In x) -> Out { return {embedding(x[1], x[0])}; },
               .sum = 7});
  c.push_back({.op = "embedding",
               .name = "scale_grad_by_freq",
               .torch = "(F.embedding(a, b, scale_grad_by_freq=True), "
                        "F.embedding(a, b, padding_idx=1, scale_grad_by_freq=True))",
               .inputs = {integers({3, 5}, 0, 6), normal({6, 4})},
               .run = [](In x) -> Out {
                 return {embedding(x[1], x[0], -1, true), embedding(x[1], x[0], 1, true)};
               },
               .sum = 30,
               .roundings = 3,
               .no_gradcheck = "the gradient is divided by the rows' frequency"});
  c.push_back({.op = "embedding",
               .name = "renorm",
               .torch =
                   "(torch.embedding_renorm_(b.clone(), a, 1.5, 2.0), torch.embedding_renorm_(b.clone(), a, 1, 1), "
                   "torch.embedding_renorm_(b.clone(), a[:0], 1, 1))",
               .inputs = {integers({3, 4}, 0, 6), normal({7, 4}).constant()},
               .run = [](In x) -> Out {
                 const Tensor y = x[1].clone(), z = x[1].clone(), w = x[1].clone();
                 return {embedding_renorm_(y, x[0], 1.5, 2), embedding_renorm_(z, x[0], 1, 1),
                         embedding_renorm_(w, x[0].narrow(0, 0, 0), 1, 1)};
               },
               .sum = 4,
               .roundings = 3});
  c.push_back({.op = "gather",
               .name = "dims",
               .torch = "(torch.gather(a, 1, b), torch.gather(a, 0, c), torch.gather(a, -1, d))",
               .inputs = {normal({3, 5}), integers({3, 4}, 0, 5), integers({6, 5}, 0, 3), integers({2, 1}, 0, 5)},
               .run = [](In x) -> Out {
                 return {gather(x[0], 1, x[1]), gather(x[0], 0, x[2]), gather(x[0], -1, x[3])};
               },
               .sum = 12});
  c.push_back({.op = "gather",
               .name = "rank_3",
               .torch = "torch.gather(a, 1, b)",
               .inputs = {normal({2, 4, 3}).laid_out(MemoryLayout::transposed), integers({2, 5, 3}, 0, 4)},
               .run = [](In x) -> Out { return {gather(x[0], 1, x[1])}; },
               .sum = 5});
  c.push_back({.op = "scatter_add",
               .name = "dims",
               .torch = "(a.scatter_add(1, b, c), a.scatter_add(0, d, c))",
               .inputs = {normal({3, 5}), integers({3, 5}, 0, 5), normal({3, 5}), integers({3, 5}, 0, 3)},
               .run = [](In x) -> Out {
                 return {scatter_add(x[0], 1, x[1], x[2]), scatter_add(x[0], 0, x[3], x[2])};
               },
               .sum = 6});
  c.push_back({.op = "scatter_add",
               .name = "smaller_index",
               .torch = "a.scatter_add(1, b, c)",
               .inputs = {normal({3, 5}), integers({2, 4}, 0, 5), normal({3, 6}).constant()},
               .run = [](In x) -> Out { return {scatter_add(x[0], 1, x[1], x[2])}; },
               .sum = 5});
  c.push_back({.op = "scatter_add",
               .name = "in_place",
               .torch = "a.clone().scatter_add_(0, b, c)",
               .inputs = {normal({4}), integers({9}, 0, 4), normal({9})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone();
                 return {scatter_add_(y, 0, x[1], x[2])};
               },
               .sum = 10,
               .bypasses_autocast = true});
  c.push_back({.op = "index_select",
               .name = "dims",
               .torch = "(a.index_select(0, b), a.index_select(-1, c))",
               .inputs = {normal({3, 5}), integers({7}, 0, 3), integers({4}, 0, 5)},
               .run = [](In x) -> Out {
                 return {index_select(x[0], 0, x[1]), index_select(x[0], -1, x[2])};
               },
               .sum = 7});
  c.push_back({.op = "index_add",
               .name = "dims",
               .torch = "(a.index_add(0, b, c), a.index_add(1, d, e, alpha=2.5))",
               .inputs = {normal({3, 5}), integers({7}, 0, 3), normal({7, 5}), integers({4}, 0, 5), normal({3, 4})},
               .run = [](In x) -> Out {
                 return {index_add(x[0], 0, x[1], x[2]), index_add(x[0], 1, x[3], x[4], 2.5)};
               },
               .sum = 8,
               .roundings = 2});
  c.push_back({.op = "index_add",
               .name = "in_place",
               .torch = "a.clone().index_add_(0, b, c, alpha=-0.5)",
               .inputs = {normal({3, 2}), integers({7}, 0, 3), normal({7, 2})},
               .run = [](In x) -> Out {
                 const Tensor y = x[0].clone();
                 return {index_add_(y, 0, x[1], x[2], -0.5)};
               },
               .sum = 8,
               .roundings = 2,
               .bypasses_autocast = true});
  return c;
}

}  // namespace tandem::testing
