// Interpolation.
#include "tandem/ops/interpolate.h"

#include "cases/cases.h"
#include "tandem/nn/functional.h"

namespace tandem::testing {
namespace {

namespace F = nn::functional;
using Resize = F::InterpolateFuncOptions;

void nearest(Cases& c) {
  for (const bool exact : {false, true}) {
    const std::string mode = exact ? "'nearest-exact'" : "'nearest'";
    const std::string op = exact ? "_upsample_nearest_exact" : "upsample_nearest";
    const auto sizes = [mode](const std::string& x, const std::string& size) {
      return "F.interpolate(" + x + ", " + size + ", mode=" + mode + ")";
    };
    c.push_back({.op = op + "1d",
                 .name = "sizes",
                 .torch = "(" + sizes("a", "7") + ", " + sizes("a", "3") +
                          ", F.interpolate(a, scale_factor=2.5, mode=" + mode + "), " + sizes("b", "4") + ")",
                 .inputs = {normal({2, 3, 5}), normal({0, 3, 5})},
                 .run = [exact](In x) -> Out {
                   const auto f = exact ? _upsample_nearest_exact1d : upsample_nearest1d;
                   return {f(x[0], {7}, {}), f(x[0], {3}, {}), f(x[0], {12}, 2.5), f(x[1], {4}, {})};
                 },
                 .sum = 12});
    c.push_back({.op = op + "2d",
                 .name = "sizes",
                 .torch = "(" + sizes("a", "(6, 8)") + ", " + sizes("a", "(2, 9)") + ", " + sizes("a", "(3, 4)") +
                          ", F.interpolate(b, scale_factor=(0.6, 2.3), mode=" + mode + "))",
                 .inputs = {normal({2, 3, 3, 4}).laid_out(MemoryLayout::channels_last), normal({2, 2, 7, 5})},
                 .run = [exact](In x) -> Out {
                   const auto f = exact ? _upsample_nearest_exact2d : upsample_nearest2d;
                   return {f(x[0], {6, 8}, {}, {}), f(x[0], {2, 9}, {}, {}), f(x[0], {3, 4}, {}, {}),
                           f(x[1], {4, 11}, 0.6, 2.3)};
                 },
                 .sum = 12});
    c.push_back(
        {.op = op + "3d",
         .name = "sizes",
         .torch = "(" + sizes("a", "(4, 3, 5)") + ", F.interpolate(a, scale_factor=(1.5, 2, 0.5), mode=" + mode + "))",
         .inputs = {normal({2, 2, 2, 3, 4})},
         .run = [exact](In x) -> Out {
           const auto f = exact ? _upsample_nearest_exact3d : upsample_nearest3d;
           return {f(x[0], {4, 3, 5}, {}, {}, {}), f(x[0], {3, 6, 2}, 1.5, 2, 0.5)};
         },
         .sum = 12});
  }
}

void smooth(Cases& c) {
  for (const bool align : {false, true}) {
    const std::string corners = align ? ", align_corners=True)" : ", align_corners=False)";
    const std::string name = align ? "align_corners" : "sizes";
    c.push_back({.op = "upsample_linear1d",
                 .name = name,
                 .torch = "(F.interpolate(a, 9, mode='linear'" + corners + ", F.interpolate(a, 1, mode='linear'" +
                          corners + ", F.interpolate(a, scale_factor=0.7, mode='linear'" + corners + ")",
                 .inputs = {normal({2, 3, 6})},
                 .run = [align](In x) -> Out {
                   return {upsample_linear1d(x[0], {9}, align), upsample_linear1d(x[0], {1}, align),
                           upsample_linear1d(x[0], {4}, align, 0.7)};
                 },
                 .sum = 12});
    c.push_back({.op = "upsample_bilinear2d",
                 .name = name,
                 .torch = "(F.interpolate(a, (6, 3), mode='bilinear'" + corners +
                          ", F.interpolate(b, scale_factor=(2, 1.7), mode='bilinear'" + corners + ")",
                 .inputs = {normal({2, 3, 3, 5}).laid_out(MemoryLayout::channels_last), normal({2, 2, 4, 5})},
                 .run = [align](In x) -> Out {
                   return {upsample_bilinear2d(x[0], {6, 3}, align), upsample_bilinear2d(x[1], {8, 8}, align, 2, 1.7)};
                 },
                 .sum = 24,
                 .roundings = 2});
    c.push_back({.op = "upsample_trilinear3d",
                 .name = name,
                 .torch = "F.interpolate(a, (3, 5, 2), mode='trilinear'" + corners,
                 .inputs = {normal({2, 2, 2, 3, 4})},
                 .run = [align](In x) -> Out {
                   return {upsample_trilinear3d(x[0], {3, 5, 2}, align)};
                 },
                 .sum = 48,
                 .roundings = 2});
    c.push_back({.op = "upsample_bicubic2d",
                 .name = name,
                 .torch = "(F.interpolate(a, (7, 3), mode='bicubic'" + corners +
                          ", F.interpolate(b, scale_factor=(2, 1.7), mode='bicubic'" + corners + ")",
                 .inputs = {normal({2, 3, 3, 5}).laid_out(MemoryLayout::channels_last), normal({2, 2, 4, 1})},
                 .run = [align](In x) -> Out {
                   return {upsample_bicubic2d(x[0], {7, 3}, align), upsample_bicubic2d(x[1], {8, 1}, align, 2, 1.7)};
                 },
                 .sum = 96,
                 .roundings = 2});
    for (const bool cubic : {false, true}) {
      const std::string options =
          std::string("mode='") + (cubic ? "bicubic" : "bilinear") + "', antialias=True" + corners;
      c.push_back(
          {.op = cubic ? "_upsample_bicubic2d_aa" : "_upsample_bilinear2d_aa",
           .name = name,
           .torch = "(F.interpolate(a, (2, 6), " + options + ", F.interpolate(b, (1, 3), " + options +
                    ", F.interpolate(b, scale_factor=(0.4, 1.7), " + options + ")",
           .inputs = {normal({1, 2, 7, 3}).laid_out(MemoryLayout::channels_last), normal({1, 1, 5, 4})},
           .run = [align, cubic](In x) -> Out {
             const auto f = cubic ? _upsample_bicubic2d_aa : _upsample_bilinear2d_aa;
             return {f(x[0], {2, 6}, align, {}, {}), f(x[1], {1, 3}, align, {}, {}), f(x[1], {2, 6}, align, 0.4, 1.7)};
           },
           .sum = 96,
           .roundings = 2});
    }
  }
}

void options(Cases& c) {
  c.push_back(
      {.op = "upsample_bilinear2d",
       .name = "options",
       .torch = "(F.interpolate(a, size=(5, 4), mode='bilinear'), "
                "F.interpolate(a, scale_factor=(1.6, 2), mode='bilinear', recompute_scale_factor=True), "
                "F.interpolate(a, scale_factor=(1.6, 2), mode='bicubic', align_corners=True), "
                "F.interpolate(a, size=(2, 2), mode='bicubic', antialias=True))",
       .inputs = {normal({2, 3, 4, 3})},
       .run = [](In x) -> Out {
         return {
             F::interpolate(x[0], Resize().size(std::vector<int64_t>{5, 4}).mode(kBilinear)),
             F::interpolate(
                 x[0], Resize().scale_factor(std::vector<double>{1.6, 2}).mode(kBilinear).recompute_scale_factor(true)),
             F::interpolate(x[0],
                            Resize().scale_factor(std::vector<double>{1.6, 2}).mode(kBicubic).align_corners(true)),
             F::interpolate(x[0], Resize().size(std::vector<int64_t>{2, 2}).mode(kBicubic).antialias(true))};
       },
       .sum = 96,
       .roundings = 2});
  const auto resized = [](const Tensor& x, const auto& mode) {
    return F::interpolate(x, Resize().scale_factor(std::vector<double>{1.2, 2}).mode(mode));
  };
  c.push_back({.op = "upsample_bilinear2d",
               .name = "scale_that_keeps_a_size",
               .torch = "tuple(F.interpolate(a, scale_factor=(1.2, 2), mode=m) for m in ('bilinear', 'nearest', "
                        "'nearest-exact', 'bicubic'))",
               .inputs = {normal({2, 3, 4, 3})},
               .run = [resized](In x) -> Out {
                 return {resized(x[0], kBilinear), resized(x[0], kNearest), resized(x[0], kNearestExact),
                         resized(x[0], kBicubic)};
               },
               .sum = 96,
               .roundings = 2});
  c.push_back({.op = "upsample_nearest2d",
               .name = "options",
               .torch = "(F.interpolate(a, scale_factor=2), F.interpolate(a, size=(3, 3), mode='nearest'), "
                        "F.interpolate(b, size=7), F.interpolate(c, scale_factor=(1, 2, 3)))",
               .inputs = {normal({2, 3, 4, 3}), normal({2, 3, 5}), normal({1, 2, 2, 2, 2})},
               .run = [](In x) -> Out {
                 return {F::interpolate(x[0], Resize().scale_factor(std::vector<double>{2, 2})),
                         F::interpolate(x[0], Resize().size(std::vector<int64_t>{3, 3}).mode(kNearest)),
                         F::interpolate(x[1], Resize().size(std::vector<int64_t>{7})),
                         F::interpolate(x[2], Resize().scale_factor(std::vector<double>{1, 2, 3}))};
               },
               .sum = 12});
}

}  // namespace

Cases interpolate_cases() {
  Cases c;
  nearest(c);
  smooth(c);
  options(c);
  return c;
}

}  // namespace tandem::testing
