// Padding: values are copied, and gradients are summed over the copies.
#include "tandem/ops/pad.h"

#include "cases/cases.h"

namespace tandem::testing {
namespace {

void padded(Cases& cases, const std::string& op, const std::string& name, const std::string& torch,
            std::vector<Input> inputs, Callable<Out(In)> run, int64_t sum) {
  cases.push_back(
      {.op = op, .name = name, .torch = torch, .inputs = std::move(inputs), .run = std::move(run), .sum = sum});
}

}  // namespace

Cases pad_cases() {
  Cases c;
  padded(
      c, "constant_pad_nd", "ranks",
      "(F.pad(a, (1, 2)), F.pad(b, (1, 0, 0, 2), value=2.5), F.pad(b, (0, 1)), F.pad(d, (1, 1, 0, 0, 2, 1)), "
      "F.pad(e, ()))",
      {normal({3}), normal({2, 3}), normal({}), normal({2, 1, 3}).laid_out(MemoryLayout::transposed), normal({})},
      [](In x) -> Out {
        return {pad(x[0], {1, 2}), pad(x[1], {1, 0, 0, 2}, "constant", 2.5), pad(x[1], {0, 1}),
                constant_pad_nd(x[3], {1, 1, 0, 0, 2, 1}), pad(x[4], {})};
      },
      0);
  padded(
      c, "constant_pad_nd", "crops",
      "(F.pad(a, (-1, 2)), F.pad(a, (-1, -1, 1, -1), value=3), F.pad(b, (2, 0)), F.pad(a, (-2, -2)))",
      {normal({3, 4}), normal({2, 0})},
      [](In x) -> Out {
        return {pad(x[0], {-1, 2}), constant_pad_nd(x[0], {-1, -1, 1, -1}, 3), pad(x[1], {2, 0}), pad(x[0], {-2, -2})};
      },
      0);
  padded(
      c, "constant_pad_nd", "integers", "(F.pad(a, (1, 1), value=7), F.pad(b, (1, 1), value=1))",
      {integers({4}, -9, 9), boolean({3})},
      [](In x) -> Out {
        return {constant_pad_nd(x[0], {1, 1}, 7), constant_pad_nd(x[1], {1, 1}, true)};
      },
      0);
  padded(
      c, "constant_pad_nd", "channels_last", "F.pad(a, (1, 2, 0, 1))",
      {normal({2, 3, 2, 3}).laid_out(MemoryLayout::channels_last)},
      [](In x) -> Out {
        return {pad(x[0], {1, 2, 0, 1})};
      },
      0);
  padded(
      c, "reflection_pad1d", "sizes",
      "(F.pad(a, (2, 1), mode='reflect'), F.pad(b, (3, 3), mode='reflect'), F.pad(a, (-1, 2), mode='reflect'))",
      {normal({2, 4}), normal({2, 3, 4}).laid_out(MemoryLayout::transposed)},
      [](In x) -> Out {
        return {pad(x[0], {2, 1}, PadMode::Reflect), reflection_pad1d(x[1], {3, 3}), reflection_pad1d(x[0], {-1, 2})};
      },
      9);
  padded(
      c, "reflection_pad2d", "sizes",
      "(F.pad(a, (2, 1, 1, 0), mode='reflect'), F.pad(b, (3, 3, 2, 2), mode='reflect'), "
      "F.pad(c, (1, 1, 1, 2), mode='reflect'))",
      {normal({2, 3, 4}), normal({2, 1, 3, 4}), normal({2, 3, 3, 2}).laid_out(MemoryLayout::channels_last)},
      [](In x) -> Out {
        return {pad(x[0], {2, 1, 1, 0}, "reflect"), reflection_pad2d(x[1], {3, 3, 2, 2}),
                reflection_pad2d(x[2], {1, 1, 1, 2})};
      },
      18);
  padded(
      c, "reflection_pad3d", "sizes",
      "(F.pad(a, (1, 1, 0, 1, 1, 0), mode='reflect'), F.pad(b, (1, 1, 1, 1, 1, 1), mode='reflect'))",
      {normal({1, 2, 2, 3}), normal({2, 1, 2, 3, 2})},
      [](In x) -> Out {
        return {pad(x[0], {1, 1, 0, 1, 1, 0}, "reflect"), reflection_pad3d(x[1], {1, 1, 1, 1, 1, 1})};
      },
      27);
  padded(
      c, "replication_pad1d", "sizes",
      "(F.pad(a, (2, 5), mode='replicate'), F.pad(b, (0, 1), mode='replicate'), F.pad(a, (-1, 2), mode='replicate'))",
      {normal({2, 3}), normal({2, 3, 1}).laid_out(MemoryLayout::transposed)},
      [](In x) -> Out {
        return {pad(x[0], {2, 5}, "replicate"), replication_pad1d(x[1], {0, 1}), replication_pad1d(x[0], {-1, 2})};
      },
      12);
  padded(
      c, "replication_pad2d", "sizes",
      "(F.pad(a, (2, 1, 1, 0), mode='replicate'), F.pad(b, (1, 1, 2, 2), mode='replicate'))",
      {normal({2, 3, 4}), normal({2, 2, 1, 3}).laid_out(MemoryLayout::channels_last)},
      [](In x) -> Out {
        return {pad(x[0], {2, 1, 1, 0}, "replicate"), replication_pad2d(x[1], {1, 1, 2, 2})};
      },
      16);
  padded(
      c, "replication_pad3d", "sizes",
      "(F.pad(a, (1, 1, 0, 1, 1, 0), mode='replicate'), F.pad(b, (1, 0, 2, 1, 1, 1), mode='replicate'))",
      {normal({1, 2, 2, 3}), normal({2, 1, 2, 3, 2})},
      [](In x) -> Out {
        return {pad(x[0], {1, 1, 0, 1, 1, 0}, "replicate"), replication_pad3d(x[1], {1, 0, 2, 1, 1, 1})};
      },
      32);
  padded(
      c, "pad_circular", "sizes",
      "(F.pad(a, (2, 4), mode='circular'), F.pad(b, (1, 1, 3, 2), mode='circular'), "
      "F.pad(b, (2, -1, -1, 1), mode='circular'), F.pad(c, (1, 1, 0, 1, 1, 2), mode='circular'))",
      {normal({2, 4}), normal({2, 3, 4}), normal({1, 2, 2, 3})},
      [](In x) -> Out {
        return {pad(x[0], {2, 4}, "circular"), pad_circular(x[1], {1, 1, 3, 2}), pad_circular(x[1], {2, -1, -1, 1}),
                pad_circular(x[2], {1, 1, 0, 1, 1, 2})};
      },
      27);
  return c;
}

}  // namespace tandem::testing
