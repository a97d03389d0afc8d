// softmax and log_softmax.
#include "tandem/ops/softmax.h"

#include "cases/shared.h"

namespace tandem::testing {
namespace {

void variants(Cases& c, const std::string& op, const std::string& torch,
              Tensor (*f)(const Tensor&, int64_t, std::optional<DType>)) {
  auto along = [f](int64_t dim) { return [f, dim](In x) -> Out { return {f(x[0], dim, {})}; }; };
  auto expression = [&](const std::string& rest) { return torch + "(a, " + rest + ")"; };
  c.push_back(
      {.op = op, .name = "rows", .torch = expression("1"), .inputs = {normal({5, 19})}, .run = along(1), .sum = 19});
  c.push_back(
      {.op = op, .name = "columns", .torch = expression("0"), .inputs = {normal({7, 5})}, .run = along(0), .sum = 7});
  c.push_back({.op = op,
               .name = "middle",
               .torch = expression("-2"),
               .inputs = {normal({2, 6, 4})},
               .run = along(-2),
               .sum = 6});
  c.push_back({.op = op,
               .name = "transposed",
               .torch = expression("1"),
               .inputs = {normal({5, 6}).laid_out(MemoryLayout::transposed)},
               .run = along(1),
               .sum = 6});
  c.push_back({.op = op,
               .name = "channels_last",
               .torch = expression("1"),
               .inputs = {normal({2, 5, 2, 3}).laid_out(MemoryLayout::channels_last)},
               .run = along(1),
               .sum = 5});
  c.push_back({.op = op, .name = "scalar", .torch = expression("0"), .inputs = {normal({})}, .run = along(0)});
  c.push_back({.op = op, .name = "no_rows", .torch = expression("1"), .inputs = {normal({0, 3})}, .run = along(1)});
  c.push_back({.op = op,
               .name = "far_apart",
               .torch = expression("1"),
               .inputs = {values({3, 3}, {1000, 999, -1000, -30000, -30000, -30001, 0, 200, -inf})},
               .run = along(1),
               .sum = 3,
               .no_gradcheck = "contains inf"});
  c.push_back({.op = op,
               .name = "dtype_given",
               .torch = expression("1, dtype=torch.float64"),
               .inputs = {normal({3, 5})},
               .run = [f](In x) -> Out { return {f(x[0], 1, kDouble)}; },
               .sum = 5,
               .bypasses_autocast = true});
}

}  // namespace

Cases softmax_cases() {
  Cases c;
  variants(c, "softmax", "torch.softmax", softmax);
  variants(c, "log_softmax", "torch.log_softmax", log_softmax);
  return c;
}

}  // namespace tandem::testing
