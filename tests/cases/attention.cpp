// Attention.
#include "tandem/ops/attention.h"

#include "cases/cases.h"

namespace tandem::testing {

Cases attention_cases() {
  Cases c;
  const char* const op = "scaled_dot_product_attention";
  c.push_back({.op = op,
               .name = "heads",
               .torch = "F.scaled_dot_product_attention(a, b, c)",
               .inputs = {normal({2, 3, 5, 4}), normal({2, 3, 7, 4}), normal({2, 3, 7, 6})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[2])}; },
               .sum = 11,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "causal_scale",
               .torch = "(F.scaled_dot_product_attention(a, b, b, is_causal=True, scale=0.75), "
                        "F.scaled_dot_product_attention(c, b, b, is_causal=True))",
               .inputs = {normal({3, 6, 4}), normal({3, 6, 4}).laid_out(MemoryLayout::transposed), normal({3, 4, 4})},
               .run = [](In x) -> Out {
                 return {scaled_dot_product_attention(x[0], x[1], x[1], {}, 0, true, 0.75),
                         scaled_dot_product_attention(x[2], x[1], x[1], {}, 0, true)};
               },
               .sum = 20,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "rank_2",
               .torch = "F.scaled_dot_product_attention(a, b, c)",
               .inputs = {normal({4, 3}), normal({5, 3}), normal({5, 2})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[2])}; },
               .sum = 8,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "broadcast",
               .torch = "F.scaled_dot_product_attention(a, b.expand(2, 3, 5, 4), c.expand(2, 3, 5, 4))",
               .inputs = {normal({2, 3, 4, 4}), normal({3, 5, 4}), normal({2, 1, 5, 4})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[2])}; },
               .sum = 24,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "rank_5",
               .torch = "F.scaled_dot_product_attention(a, b, b)",
               .inputs = {normal({2, 2, 2, 3, 4}), normal({2, 2, 2, 5, 4})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1])}; },
               .sum = 16,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "masks",
               .torch = "(F.scaled_dot_product_attention(a, b, b, d), F.scaled_dot_product_attention(a, b, b, e))",
               .inputs = {normal({2, 3, 5, 4}), normal({2, 3, 7, 4}), normal({}).constant(), boolean({5, 7}),
                          normal({2, 1, 5, 7}).constant()},
               .run = [](In x) -> Out {
                 return {scaled_dot_product_attention(x[0], x[1], x[1], x[3]),
                         scaled_dot_product_attention(x[0], x[1], x[1], x[4])};
               },
               .sum = 24,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "mask_with_gradient",
               .torch = "F.scaled_dot_product_attention(a, b, b, c)",
               .inputs = {normal({2, 4, 3}), normal({2, 5, 3}), normal({4, 5})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1], x[2])}; },
               .sum = 16,
               .roundings = 2});
  c.push_back({.op = op,
               .name = "masked_rows",
               .torch = "F.scaled_dot_product_attention(a, b, b, c != 0)",
               .inputs = {normal({2, 4, 3}), normal({2, 3, 3}),
                          values({4, 3}, {1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1}).constant()},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1], x[2].ne(0))}; },
               .sum = 12,
               .roundings = 2});
  c.push_back(
      {.op = op,
       .name = "grouped",
       .torch = "F.scaled_dot_product_attention(a, b, c, enable_gqa=True, is_causal=True)",
       .inputs = {normal({2, 6, 5, 4}), normal({2, 2, 5, 4}), normal({2, 2, 5, 3})},
       .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[2], {}, 0, true, {}, true)}; },
       .sum = 30,
       .roundings = 2});
  c.push_back({.op = op,
               .name = "blocks",
               .torch = "F.scaled_dot_product_attention(a, b, b, is_causal=True)",
               .inputs = {normal({1, 2, 101, 3}), normal({1, 2, 301, 3})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1], {}, 0, true)}; },
               .sum = 301,
               .roundings = 2,
               .no_gradcheck = "too large; the small cases are checked"});
  c.push_back({.op = op,
               .name = "dropout_of_all",
               .torch = "F.scaled_dot_product_attention(a, b, b, dropout_p=1.0)",
               .inputs = {normal({2, 4, 3}), normal({2, 5, 3})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1], {}, 1)}; },
               .sum = 5});
  c.push_back({.op = op,
               .name = "no_keys",
               .torch = "F.scaled_dot_product_attention(a, b, b)",
               .inputs = {normal({2, 4, 3}), normal({2, 0, 3})},
               .run = [](In x) -> Out { return {scaled_dot_product_attention(x[0], x[1], x[1])}; },
               .sum = 1});
  return c;
}

}  // namespace tandem::testing
