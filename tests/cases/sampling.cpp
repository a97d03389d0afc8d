// Bags of embeddings, sampling at the positions of a grid, unpooling and fractional pooling.
#include <cmath>

#include "cases/cases.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

Out both_of(const std::tuple<Tensor, Tensor>& pair) { return {std::get<0>(pair), std::get<1>(pair)}; }

void bags(Cases& c) {
  c.push_back({.op = "embedding_bag",
               .name = "sum",
               .torch = "(F.embedding_bag(a, d, b, mode='sum'), F.embedding_bag(c, d, mode='sum'))",
               .inputs = {integers({7}, 0, 5), values({4}, {0, 2, 2, 6}).as(kLong), integers({2, 3}, 0, 5).as(kInt),
                          normal({5, 3})},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[3], x[0], x[1], BagMode::Sum), embedding_bag(x[3], x[2], {}, BagMode::Sum)};
               },
               .sum = 14});
  c.push_back({.op = "embedding_bag",
               .name = "mean",
               .torch = "(F.embedding_bag(a, c, b), F.embedding_bag(a, c, b, padding_idx=2, include_last_offset=True))",
               .inputs = {integers({7}, 0, 5), values({4}, {0, 2, 2, 7}).as(kLong), normal({5, 3})},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[2], x[0], x[1]), embedding_bag(x[2], x[0], x[1], BagMode::Mean, {}, true, 2)};
               },
               .sum = 14,
               .no_gradcheck = "the padding row gets no gradient"});
  c.push_back({.op = "embedding_bag",
               .name = "max",
               .torch = "(F.embedding_bag(a, c, b, mode='max'), F.embedding_bag(a, c, b, mode='max', padding_idx=1))",
               .inputs = {integers({7}, 0, 5), values({3}, {0, 3, 3}).as(kLong), normal({5, 3})},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[2], x[0], x[1], BagMode::Max),
                         embedding_bag(x[2], x[0], x[1], BagMode::Max, {}, false, 1)};
               },
               .sum = 8});
  c.push_back({.op = "embedding_bag",
               .name = "weighted",
               .torch = "(F.embedding_bag(a, d, b, mode='sum', per_sample_weights=c), "
                        "F.embedding_bag(a.view(2, 3), d, mode='sum', per_sample_weights=c.view(2, 3), padding_idx=1))",
               .inputs = {integers({6}, 0, 4), values({3}, {0, 2, 5}).as(kLong), normal({6}), normal({4, 3})},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[3], x[0], x[1], BagMode::Sum, x[2]),
                         embedding_bag(x[3], x[0].view({2, 3}), {}, BagMode::Sum, x[2].view({2, 3}), false, 1)};
               },
               .sum = 12,
               .roundings = 2});
  c.push_back({.op = "embedding_bag",
               .name = "scale_grad_by_freq",
               .torch = "(F.embedding_bag(a, d, b, scale_grad_by_freq=True), F.embedding_bag(a, d, b, mode='sum', "
                        "per_sample_weights=c, padding_idx=1, scale_grad_by_freq=True))",
               .inputs = {integers({6}, 0, 4), values({3}, {0, 2, 5}).as(kLong), normal({6}), normal({4, 3})},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[3], x[0], x[1], BagMode::Mean, {}, false, -1, true),
                         embedding_bag(x[3], x[0], x[1], BagMode::Sum, x[2], false, 1, true)};
               },
               .sum = 12,
               .roundings = 4,
               .no_gradcheck = "the gradient is divided by the rows' frequency"});
  c.push_back({.op = "embedding_bag",
               .name = "strides",
               .torch = "(F.embedding_bag(a, b, mode='sum'), F.embedding_bag(a[:0], b), F.embedding_bag(a, b[:, :0]))",
               .inputs = {integers({2, 3}, 0, 4), normal({4, 5}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out {
                 return {embedding_bag(x[1], x[0], {}, BagMode::Sum), embedding_bag(x[1], x[0].narrow(0, 0, 0)),
                         embedding_bag(x[1].narrow(1, 0, 0), x[0])};
               },
               .sum = 6});
}

void grids(Cases& c) {
  const char* const ways[] = {"linear", "nearest", "cubic"};
  const char* const modes[] = {"bilinear", "nearest", "bicubic"};
  const char* const beyond[] = {"zeros", "border", "reflection"};
  for (int64_t way = 0; way < 3; ++way) {
    for (int64_t padding = 0; padding < 3; ++padding) {
      const std::string options = std::string("mode='") + modes[way] + "', padding_mode='" + beyond[padding] + "'";
      c.push_back(
          {.op = "grid_sampler",
           .name = std::string(ways[way]) + "_" + beyond[padding],
           .torch = "(F.grid_sample(a, b, " + options + ", align_corners=False), F.grid_sample(a, b, " + options +
                    ", align_corners=True))",
           .inputs = {normal({2, 2, 3, 4}), uniform({2, 1, 3, 2}, -1.5, 1.5)},
           .run = [way, padding](In x) -> Out {
             return {grid_sampler(x[0], x[1], way, padding, false), grid_sampler(x[0], x[1], way, padding, true)};
           },
           .sum = 32,
           .roundings = 2,
           .no_low = way == 1 ? "the nearest element jumps with the rounding of the grid" : ""});
    }
  }
  for (int64_t padding = 0; padding < 3; ++padding) {
    c.push_back(
        {.op = "grid_sampler",
         .name = std::string("volume_") + beyond[padding],
         .torch = std::string("F.grid_sample(a, b, padding_mode='") + beyond[padding] + "', align_corners=False)",
         .inputs = {normal({1, 2, 2, 3, 2}), uniform({1, 2, 1, 2, 3}, -1.5, 1.5)},
         .run = [padding](In x) -> Out { return {grid_sampler(x[0], x[1], 0, padding, false)}; },
         .sum = 32,
         .roundings = 2});
  }
  c.push_back({.op = "grid_sampler",
               .name = "strides",
               .torch = "(F.grid_sample(a, b, align_corners=True), F.grid_sample(c, d, mode='nearest', "
                        "align_corners=True))",
               .inputs = {normal({1, 3, 3, 4}).laid_out(MemoryLayout::channels_last), uniform({1, 2, 3, 2}, -1, 1),
                          normal({1, 1, 2, 2, 2}), values({1, 1, 1, 2, 3}, {-0.75, 0.5, 0.25, 3.5, 0.5, 0.5})},
               .run = [](In x) -> Out {
                 return {grid_sampler(x[0], x[1], 0, 0, true), grid_sampler(x[2], x[3], 1, 0, true)};
               },
               .sum = 16,
               .roundings = 2});
  c.push_back({.op = "bmm",
               .name = "affine_grid",
               .torch = "(F.affine_grid(a, (2, 3, 2, 3), align_corners=False), F.affine_grid(a, (2, 3, 1, 3), "
                        "align_corners=True), F.affine_grid(b, (1, 1, 2, 2, 3), align_corners=False))",
               .inputs = {normal({2, 2, 3}), normal({1, 3, 4})},
               .run = [](In x) -> Out {
                 return {affine_grid_generator(x[0], {2, 3, 2, 3}, false),
                         affine_grid_generator(x[0], {2, 3, 1, 3}, true),
                         affine_grid_generator(x[1], {1, 1, 2, 2, 3}, false)};
               },
               .sum = 12,
               .roundings = 3});
}

void unpooling(Cases& c) {
  c.push_back({.op = "max_unpool2d",
               .name = "planes",
               .torch = "(F.max_unpool2d(a, b, 2), F.max_unpool2d(a[0], b[0], 2, output_size=(5, 4)))",
               .inputs = {normal({2, 1, 2, 2}), values({2, 1, 2, 2}, {1, 2, 9, 15, 0, 7, 8, 10}).as(kLong)},
               .run = [](In x) -> Out {
                 return {max_unpool2d(x[0], x[1], {4, 4}), max_unpool2d(x[0].select(0, 0), x[1].select(0, 0), {5, 4})};
               },
               .sum = 2});
  c.push_back({.op = "max_unpool3d",
               .name = "volumes",
               .torch = "F.max_unpool3d(a, b, 2)",
               .inputs = {normal({1, 2, 1, 2, 1}), values({1, 2, 1, 2, 1}, {3, 12, 0, 15}).as(kLong)},
               .run = [](In x) -> Out {
                 return {max_unpool3d(x[0], x[1], {2, 4, 2})};
               },
               .sum = 2});
  c.push_back({.op = "fractional_max_pool2d",
               .name = "planes",
               .torch = "(*F.fractional_max_pool2d_with_indices(a, 2, output_size=3, _random_samples=b), "
                        "*F.fractional_max_pool2d_with_indices(a[0], (1, 3), output_size=(4, 2), "
                        "_random_samples=b[:1]))",
               .inputs = {normal({2, 2, 6, 7}), uniform({2, 2, 2}, 0, 1).constant()},
               .run = [](In x) -> Out {
                 Out all = both_of(fractional_max_pool2d(x[0], {2}, {3}, x[1]));
                 for (const Tensor& y :
                      both_of(fractional_max_pool2d(x[0].select(0, 0), {1, 3}, {4, 2}, x[1].narrow(0, 0, 1)))) {
                   all.push_back(y);
                 }
                 return all;
               },
               .sum = 6,
               .no_low = "the windows depend on the rounding of the samples"});
  c.push_back({.op = "fractional_max_pool3d",
               .name = "volumes",
               .torch = "F.fractional_max_pool3d_with_indices(a, (2, 1, 2), output_size=(2, 3, 2), _random_samples=b)",
               .inputs = {normal({1, 2, 4, 5, 4}), uniform({1, 2, 3}, 0, 1).constant()},
               .run = [](In x) -> Out {
                 return both_of(fractional_max_pool3d(x[0], {2, 1, 2}, {2, 3, 2}, x[1]));
               },
               .sum = 6,
               .no_low = "the windows depend on the rounding of the samples"});
}

}  // namespace

Cases sampling_cases() {
  Cases c;
  bags(c);
  grids(c);
  unpooling(c);
  return c;
}

}  // namespace tandem::testing
