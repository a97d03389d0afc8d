// 2-d pooling.
#include "tandem/ops/pool.h"

#include "cases/shared.h"

namespace tandem::testing {
namespace {

void pool(Cases& c, const std::string& op, const std::string& name, const std::string& torch, Input x,
          Callable<Tensor(const Tensor&)> f) {
  c.push_back({.op = op,
               .name = name,
               .torch = torch,
               .inputs = {std::move(x)},
               .run = [f](In x) -> Out { return {f(x[0])}; },
               .sum = 9});
}

}  // namespace

Cases pool_cases() {
  Cases c;
  const Input image = normal({2, 3, 6, 7});
  const Input channels_last = normal({2, 5, 4, 6}).laid_out(MemoryLayout::channels_last);

  pool(c, "max_pool2d", "plain", "F.max_pool2d(a, 2)", image, [](const Tensor& x) { return max_pool2d(x, {2}); });
  pool(c, "max_pool2d", "options", "F.max_pool2d(a, (3, 2), stride=(2, 1), padding=(1, 1))", image,
       [](const Tensor& x) {
         return max_pool2d(x, {3, 2}, {2, 1}, {1, 1});
       });
  pool(c, "max_pool2d", "dilation", "F.max_pool2d(a, 2, stride=1, dilation=2)", image,
       [](const Tensor& x) { return max_pool2d(x, {2}, {1}, {0}, {2}); });
  pool(c, "max_pool2d", "ceil_mode", "F.max_pool2d(a, 3, stride=2, ceil_mode=True)", image,
       [](const Tensor& x) { return max_pool2d(x, {3}, {2}, {0}, {1}, true); });
  pool(c, "max_pool2d", "overlapping", "F.max_pool2d(a, 3, stride=1)", image,
       [](const Tensor& x) { return max_pool2d(x, {3}, {1}); });
  pool(c, "max_pool2d", "channels_last", "F.max_pool2d(a, 2, padding=1)", channels_last,
       [](const Tensor& x) { return max_pool2d(x, {2}, {}, {1}); });
  pool(c, "max_pool2d", "transposed", "F.max_pool2d(a, 2)", normal({1, 2, 4, 6}).laid_out(MemoryLayout::transposed),
       [](const Tensor& x) { return max_pool2d(x, {2}); });
  pool(c, "max_pool2d", "unbatched", "F.max_pool2d(a, 2)", normal({3, 4, 5}),
       [](const Tensor& x) { return max_pool2d(x, {2}); });
  pool(c, "max_pool2d", "large_window", "F.max_pool2d(a, 17, stride=1)", normal({1, 1, 18, 18}),
       [](const Tensor& x) { return max_pool2d(x, {17}, {1}); });
  pool(c, "max_pool2d", "ties_and_nan", "F.max_pool2d(a, 2)",
       values({1, 1, 2, 8}, {1, 1, 2, 3, nan, 1, -inf, -inf, 1, 1, 3, 1, 2, 5, -inf, -inf}),
       [](const Tensor& x) { return max_pool2d(x, {2}); });
  c.back().no_gradcheck = "equal values and NaN";

  pool(c, "avg_pool2d", "plain", "F.avg_pool2d(a, 2)", image, [](const Tensor& x) { return avg_pool2d(x, {2}); });
  pool(c, "avg_pool2d", "options", "F.avg_pool2d(a, (3, 2), stride=(2, 1), padding=(1, 1))", image,
       [](const Tensor& x) {
         return avg_pool2d(x, {3, 2}, {2, 1}, {1, 1});
       });
  pool(c, "avg_pool2d", "padding_not_counted", "F.avg_pool2d(a, 3, stride=2, padding=1, count_include_pad=False)",
       image, [](const Tensor& x) { return avg_pool2d(x, {3}, {2}, {1}, false, false); });
  pool(c, "avg_pool2d", "ceil_mode", "F.avg_pool2d(a, 3, stride=2, padding=1, ceil_mode=True)", normal({1, 2, 6, 7}),
       [](const Tensor& x) { return avg_pool2d(x, {3}, {2}, {1}, true); });
  pool(c, "avg_pool2d", "ceil_mode_padding_not_counted",
       "F.avg_pool2d(a, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False)", normal({1, 2, 6, 7}),
       [](const Tensor& x) { return avg_pool2d(x, {3}, {2}, {1}, true, false); });
  pool(c, "avg_pool2d", "divisor", "F.avg_pool2d(a, 2, divisor_override=3)", normal({1, 2, 4, 4}),
       [](const Tensor& x) { return avg_pool2d(x, {2}, {}, {0}, false, true, 3); });
  pool(c, "avg_pool2d", "channels_last", "F.avg_pool2d(a, 2)", channels_last,
       [](const Tensor& x) { return avg_pool2d(x, {2}); });
  pool(c, "avg_pool2d", "unbatched", "F.avg_pool2d(a, 2)", normal({3, 4, 5}),
       [](const Tensor& x) { return avg_pool2d(x, {2}); });

  pool(c, "adaptive_avg_pool2d", "uneven", "F.adaptive_avg_pool2d(a, (4, 3))", image, [](const Tensor& x) {
    return adaptive_avg_pool2d(x, {4, 3});
  });
  pool(c, "adaptive_avg_pool2d", "global", "F.adaptive_avg_pool2d(a, 1)", image,
       [](const Tensor& x) { return adaptive_avg_pool2d(x, {1}); });
  c.back().sum = 42;
  pool(c, "adaptive_avg_pool2d", "larger_than_input", "F.adaptive_avg_pool2d(a, (7, 5))", normal({1, 2, 3, 4}),
       [](const Tensor& x) {
         return adaptive_avg_pool2d(x, {7, 5});
       });
  pool(c, "adaptive_avg_pool2d", "channels_last", "F.adaptive_avg_pool2d(a, 2)", channels_last,
       [](const Tensor& x) { return adaptive_avg_pool2d(x, {2}); });
  pool(c, "adaptive_avg_pool2d", "unbatched", "F.adaptive_avg_pool2d(a, 2)", normal({3, 4, 5}),
       [](const Tensor& x) { return adaptive_avg_pool2d(x, {2}); });
  return c;
}

}  // namespace tandem::testing
