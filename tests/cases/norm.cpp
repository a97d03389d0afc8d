// Layer and batch normalisation, and layer normalisation of sums.
#include "cases/cases.h"
#include "tandem/ops/add_layer_norm.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/norm_layers.h"

namespace tandem::testing {
namespace {

void layer_norms(Cases& c) {
  c.push_back({.op = "layer_norm",
               .name = "rows",
               .torch = "F.layer_norm(a, (19,), b, c)",
               .inputs = {normal({5, 19}), normal({19}), normal({19})},
               .run = [](In x) -> Out { return {layer_norm(x[0], {19}, x[1], x[2])}; },
               .sum = 40});
  c.push_back({.op = "layer_norm",
               .name = "f32_parameters",
               .torch = "F.layer_norm(a, (19,), b, c)",
               .inputs = {normal({5, 19}), normal({19}).parameter(), normal({19}).parameter()},
               .run = [](In x) -> Out { return {layer_norm(x[0], {19}, x[1], x[2])}; },
               .sum = 40});
  c.push_back({.op = "layer_norm",
               .name = "two_dims",
               .torch = "F.layer_norm(a, (3, 4), b, c)",
               .inputs = {normal({2, 2, 3, 4}), normal({3, 4}), normal({3, 4})},
               .run = [](In x) -> Out {
                 return {layer_norm(x[0], {3, 4}, x[1], x[2])};
               },
               .sum = 24});
  c.push_back({.op = "layer_norm",
               .name = "no_parameters",
               .torch = "F.layer_norm(a, (7,), eps=0.125)",
               .inputs = {normal({3, 7})},
               .run = [](In x) -> Out { return {layer_norm(x[0], {7}, {}, {}, 0.125)}; },
               .sum = 14});
  c.push_back({.op = "layer_norm",
               .name = "weight_only",
               .torch = "F.layer_norm(a, (7,), b)",
               .inputs = {normal({3, 7}), normal({7})},
               .run = [](In x) -> Out { return {layer_norm(x[0], {7}, x[1])}; },
               .sum = 14});
  c.push_back({.op = "layer_norm",
               .name = "transposed",
               .torch = "F.layer_norm(a, (6,), b, c)",
               .inputs = {normal({5, 6}).laid_out(MemoryLayout::transposed), normal({6}), normal({6})},
               .run = [](In x) -> Out { return {layer_norm(x[0], {6}, x[1], x[2])}; },
               .sum = 16});
  c.push_back({.op = "layer_norm",
               .name = "no_rows",
               .torch = "F.layer_norm(a, (6,), b, c)",
               .inputs = {normal({0, 6}), normal({6}), normal({6})},
               .run = [](In x) -> Out { return {layer_norm(x[0], {6}, x[1], x[2])}; }});
}

/// A case of the tensors x, residual and up to two parameters, over their last dimensions `shape`.
void add_layer_norm_case(Cases& c, const char* name, const char* torch, std::vector<Input> inputs,
                         std::vector<int64_t> shape, int64_t sum, double eps = 1e-5) {
  const auto parameter = [](In x, size_t i) { return i < x.size() ? x[i] : Tensor(); };
  c.push_back({.op = "add_layer_norm",
               .name = name,
               .torch = torch,
               .inputs = std::move(inputs),
               .run = [=](In x) -> Out {
                 const auto [y, total] = add_layer_norm(x[0], x[1], shape, parameter(x, 2), parameter(x, 3), eps);
                 return {y, total};
               },
               .sum = sum,
               .roundings = 2,
               .apart = [=](In x) -> Out {
                 const Tensor total = add(x[0], x[1]);
                 return {layer_norm(total, shape, parameter(x, 2), parameter(x, 3), eps), total};
               }});
}

void add_layer_norms(Cases& c) {
  const char* const affine = "(F.layer_norm(a + b, (19,), c, d), a + b)";
  add_layer_norm_case(c, "rows", affine, {normal({5, 19}), normal({5, 19}), normal({19}), normal({19})}, {19}, 40);
  add_layer_norm_case(c, "f32_parameters", affine,
                      {normal({5, 19}), normal({5, 19}), normal({19}).parameter(), normal({19}).parameter()}, {19}, 40);
  add_layer_norm_case(
      c, "f32_residual", affine,
      {normal({5, 19}), normal({5, 19}).parameter(), normal({19}).parameter(), normal({19}).parameter()}, {19}, 40);
  add_layer_norm_case(c, "two_dims", "(F.layer_norm(a + b, (3, 4), c, d), a + b)",
                      {normal({2, 2, 3, 4}), normal({2, 2, 3, 4}), normal({3, 4}), normal({3, 4})}, {3, 4}, 24);
  add_layer_norm_case(c, "no_parameters", "(F.layer_norm(a + b, (7,), eps=0.125), a + b)",
                      {normal({3, 7}), normal({3, 7})}, {7}, 14, 0.125);
  add_layer_norm_case(c, "transposed", "(F.layer_norm(a + b, (6,), c, d), a + b)",
                      {normal({5, 6}).laid_out(MemoryLayout::transposed), normal({5, 6}).laid_out(MemoryLayout::gaps),
                       normal({6}), normal({6})},
                      {6}, 16);
  add_layer_norm_case(c, "no_rows", "(F.layer_norm(a + b, (6,), c, d), a + b)",
                      {normal({0, 6}), normal({0, 6}), normal({6}), normal({6})}, {6}, 1);
}

void batch_norms(Cases& c) {
  // Clones the running statistics, so that the inputs stay unchanged, and returns the clones as outputs.
  const auto train = [](In x) -> Out {
    const Tensor mean = clone(x[3]), var = clone(x[4]);
    const Tensor y = batch_norm(x[0], x[1], x[2], mean, var, true, 0.25, 1e-3);
    return {mean, var, y};
  };
  const std::string train_torch = "(m := d.clone(), v := e.clone(), F.batch_norm(a, m, v, b, c, True, 0.25, 1e-3))";
  const auto statistics = [](int64_t n) {
    return std::vector<Input>{normal({n}).constant(), uniform({n}, 0.5, 2).constant()};
  };
  auto with_statistics = [&](std::vector<Input> inputs, int64_t n) {
    for (const Input& i : statistics(n)) inputs.push_back(i);
    return inputs;
  };
  c.push_back({.op = "batch_norm",
               .name = "train",
               .torch = train_torch,
               .inputs = with_statistics({normal({4, 3, 2, 3}), normal({3}), normal({3})}, 3),
               .run = train,
               .sum = 48});
  c.push_back({.op = "batch_norm",
               .name = "train_channels_last",
               .torch = train_torch,
               .inputs = with_statistics(
                   {normal({3, 5, 2, 2}).laid_out(MemoryLayout::channels_last), normal({5}), normal({5})}, 5),
               .run = train,
               .sum = 24});
  c.push_back({.op = "batch_norm",
               .name = "train_f32_parameters",
               .torch = train_torch,
               .inputs = {normal({4, 3, 2, 3}), normal({3}).parameter(), normal({3}).parameter(),
                          normal({3}).constant().parameter(), uniform({3}, 0.5, 2).constant().parameter()},
               .run = train,
               .sum = 48});
  c.push_back({.op = "batch_norm",
               .name = "train_rank_2",
               .torch = train_torch,
               .inputs = with_statistics({normal({9, 4}), normal({4}), normal({4})}, 4),
               .run = train,
               .sum = 18});
  c.push_back({.op = "batch_norm",
               .name = "train_rank_3",
               .torch = train_torch,
               .inputs = with_statistics({normal({2, 4, 5}), normal({4}), normal({4})}, 4),
               .run = train,
               .sum = 20});
  c.push_back({.op = "batch_norm",
               .name = "train_no_parameters",
               .torch = "F.batch_norm(a, None, None, training=True)",
               .inputs = {normal({4, 3, 2, 2})},
               .run = [](In x) -> Out { return {batch_norm(x[0], {}, {}, {}, {}, true)}; },
               .sum = 32});
  c.push_back({.op = "batch_norm",
               .name = "inference",
               .torch = "F.batch_norm(a, d, e, b, c, False, 0.1, 1e-3)",
               .inputs = with_statistics({normal({2, 3, 2, 3}), normal({3}), normal({3})}, 3),
               .run = [](In x) -> Out { return {batch_norm(x[0], x[1], x[2], x[3], x[4], false, 0.1, 1e-3)}; },
               .sum = 12});
  c.push_back({.op = "batch_norm",
               .name = "inference_channels_last",
               .torch = "F.batch_norm(a, b, c)",
               .inputs = with_statistics({normal({2, 3, 2, 2}).laid_out(MemoryLayout::channels_last)}, 3),
               .run = [](In x) -> Out { return {batch_norm(x[0], {}, {}, x[1], x[2], false)}; },
               .sum = 8});
}

}  // namespace

Cases norm_cases() {
  Cases c;
  layer_norms(c);
  add_layer_norms(c);
  batch_norms(c);
  return c;
}

}  // namespace tandem::testing
