// Pooling of one and three dimensions, adaptive max pooling, indices, power-average pooling.
#include "tandem/ops/pool_nd.h"

#include <cmath>

#include "cases/shared.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

Out both(const std::tuple<Tensor, Tensor>& pair) { return {std::get<0>(pair), std::get<1>(pair)}; }

void maxima(Cases& c) {
  c.push_back({.op = "max_pool2d",
               .name = "1d",
               .torch = "(F.max_pool1d(a, 3), F.max_pool1d(a, 3, 2, 1, 2, True), F.max_pool1d(b, 2, 1))",
               .inputs = {normal({2, 3, 9}), normal({3, 5})},
               .run = [](In x) -> Out {
                 return {max_pool1d(x[0], {3}), max_pool1d(x[0], {3}, {2}, {1}, {2}, true), max_pool1d(x[1], {2}, {1})};
               },
               .sum = 4});
  c.push_back({.op = "gather",
               .name = "max_pool1d_with_indices",
               .torch = "(*F.max_pool1d(a, 3, 2, 1, return_indices=True), *F.max_pool1d(b, 2, 1, return_indices=True))",
               .inputs = {normal({2, 3, 9}), normal({3, 5})},
               .run = [](In x) -> Out {
                 Out all = both(max_pool1d_with_indices(x[0], {3}, {2}, {1}));
                 for (const Tensor& y : both(max_pool1d_with_indices(x[1], {2}, {1}))) all.push_back(y);
                 return all;
               },
               .sum = 4});
  c.push_back({.op = "gather",
               .name = "max_pool2d_with_indices",
               .torch = "(*F.max_pool2d(a, (3, 2), (2, 1), (1, 0), (1, 2), True, True), "
                        "*F.max_pool2d(b, 2, 2, return_indices=True), *F.max_pool2d(c, 2, return_indices=True))",
               .inputs = {normal({2, 3, 6, 7}).laid_out(MemoryLayout::channels_last),
                          values({1, 4, 4}, {1, 1, 2, 0, 1, 1, 2, 2, 0, 0, -1, -2, 0, 5, -1, 0}), normal({0, 2, 4, 4})},
               .run = [](In x) -> Out {
                 Out all = both(max_pool2d_with_indices(x[0], {3, 2}, {2, 1}, {1, 0}, {1, 2}, true));
                 for (const Tensor& y : both(max_pool2d_with_indices(x[1], {2}, {2}))) all.push_back(y);
                 for (const Tensor& y : both(max_pool2d_with_indices(x[2], {2}))) all.push_back(y);
                 return all;
               },
               .sum = 6,
               .no_gradcheck = "equal maxima"});
  c.push_back({.op = "max_pool3d",
               .name = "windows",
               .torch = "(F.max_pool3d(a, 2), F.max_pool3d(a, (3, 2, 1), (2, 1, 2), (1, 1, 0), (1, 2, 1), True), "
                        "F.max_pool3d(b, 2, 1))",
               .inputs = {normal({2, 2, 4, 5, 4}), normal({2, 3, 3, 3})},
               .run = [](In x) -> Out {
                 return {max_pool3d(x[0], {2}), max_pool3d(x[0], {3, 2, 1}, {2, 1, 2}, {1, 1, 0}, {1, 2, 1}, true),
                         max_pool3d(x[1], {2}, {1})};
               },
               .sum = 12});
  c.push_back(
      {.op = "max_pool3d",
       .name = "nan",
       .torch = "F.max_pool3d(a, 2)",
       .inputs = {values({1, 2, 2, 4}, {1, 2, 3, -1, 0, nan, 2, 9, 1, 1, 1, 1, -5, 2, -INFINITY, 0}).constant()},
       .run = [](In x) -> Out { return {max_pool3d(x[0], {2})}; },
       .sum = 0});
  c.push_back({.op = "gather",
               .name = "max_pool3d_with_indices",
               .torch = "F.max_pool3d(a, 2, 1, 1, return_indices=True)",
               .inputs = {normal({2, 2, 3, 4, 3})},
               .run = [](In x) -> Out { return both(max_pool3d_with_indices(x[0], {2}, {1}, {1})); },
               .sum = 8});
  c.push_back(
      {.op = "gather",
       .name = "adaptive_max_pool",
       .torch = "(*F.adaptive_max_pool1d(a, 4, True), *F.adaptive_max_pool2d(b, (3, 5), True), "
                "*F.adaptive_max_pool2d(c, 2, True))",
       .inputs = {normal({2, 3, 9}), normal({2, 3, 7, 4}).laid_out(MemoryLayout::channels_last), normal({3, 5, 6})},
       .run = [](In x) -> Out {
         Out all = both(adaptive_max_pool1d(x[0], {4}));
         for (const Tensor& y : both(adaptive_max_pool2d(x[1], {3, 5}))) all.push_back(y);
         for (const Tensor& y : both(adaptive_max_pool2d(x[2], {2}))) all.push_back(y);
         return all;
       },
       .sum = 8});
  c.push_back({.op = "adaptive_max_pool3d",
               .name = "parts",
               .torch = "F.adaptive_max_pool3d(a, (2, 3, 1), True)",
               .inputs = {normal({2, 2, 3, 4, 3})},
               .run = [](In x) -> Out {
                 return both(adaptive_max_pool3d(x[0], {2, 3, 1}));
               },
               .sum = 8});
}

void means(Cases& c) {
  c.push_back(
      {.op = "avg_pool2d",
       .name = "1d",
       .torch = "(F.avg_pool1d(a, 3), F.avg_pool1d(a, 3, 2, 1, True, False), F.avg_pool1d(b, 2, 1, 1))",
       .inputs = {normal({2, 3, 8}), normal({3, 5})},
       .run = [](In x) -> Out {
         return {avg_pool1d(x[0], {3}), avg_pool1d(x[0], {3}, {2}, {1}, true, false), avg_pool1d(x[1], {2}, {1}, {1})};
       },
       .sum = 6,
       .roundings = 2});
  c.push_back({.op = "avg_pool3d",
               .name = "windows",
               .torch = "(F.avg_pool3d(a, 2), F.avg_pool3d(a, (3, 2, 1), (2, 1, 2), (1, 1, 0), True), "
                        "F.avg_pool3d(a, 3, 2, 1, True, False), F.avg_pool3d(b, 2, 1, divisor_override=3))",
               .inputs = {normal({2, 2, 4, 5, 4}), normal({2, 3, 3, 3})},
               .run = [](In x) -> Out {
                 return {avg_pool3d(x[0], {2}), avg_pool3d(x[0], {3, 2, 1}, {2, 1, 2}, {1, 1, 0}, true),
                         avg_pool3d(x[0], {3}, {2}, {1}, true, false), avg_pool3d(x[1], {2}, {1}, {0}, false, true, 3)};
               },
               .sum = 60,
               .roundings = 2});
  c.push_back({.op = "adaptive_avg_pool2d",
               .name = "1d",
               .torch = "(F.adaptive_avg_pool1d(a, 4), F.adaptive_avg_pool1d(b, 7))",
               .inputs = {normal({2, 3, 9}), normal({3, 5})},
               .run = [](In x) -> Out {
                 return {adaptive_avg_pool1d(x[0], {4}), adaptive_avg_pool1d(x[1], {7})};
               },
               .sum = 6,
               .roundings = 2});
  c.push_back(
      {.op = "adaptive_avg_pool3d",
       .name = "parts",
       .torch = "(F.adaptive_avg_pool3d(a, (2, 3, 5)), F.adaptive_avg_pool3d(b, 1), F.adaptive_avg_pool3d(c, 2))",
       .inputs = {normal({2, 2, 4, 5, 4}), normal({2, 3, 3, 3}), normal({0, 2, 4, 4, 4})},
       .run = [](In x) -> Out {
         return {adaptive_avg_pool3d(x[0], {2, 3, 5}), adaptive_avg_pool3d(x[1], {1}), adaptive_avg_pool3d(x[2], {2})};
       },
       .sum = 60,
       .roundings = 2});
  c.push_back({.op = "pow",
               .name = "lp_pool",
               .torch = "(F.lp_pool1d(a, 2, 3, 2), F.lp_pool2d(b, 3, (2, 3), ceil_mode=True), F.lp_pool3d(c, 1.5, 2))",
               .inputs = {uniform({2, 3, 9}, 0.25, 2), uniform({2, 3, 5, 6}, 0.25, 2), uniform({2, 2, 4, 4}, 0.25, 2)},
               .run = [](In x) -> Out {
                 return {lp_pool1d(x[0], 2, {3}, {2}), lp_pool2d(x[1], 3, {2, 3}, {}, true), lp_pool3d(x[2], 1.5, {2})};
               },
               .sum = 20,
               .roundings = 6,
               .no_low = "rounded several times in the inputs' dtype"});
}

}  // namespace

Cases pool_nd_cases() {
  Cases c;
  maxima(c);
  means(c);
  return c;
}

}  // namespace tandem::testing
