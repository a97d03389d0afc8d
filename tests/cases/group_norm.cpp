// RMS, group, instance and local response normalisation; pixel and channel shuffles.
#include "tandem/ops/group_norm.h"

#include "cases/cases.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/pixel_shuffle.h"
#include "tandem/ops/rms_norm.h"

namespace tandem::testing {
namespace {

void rms_norms(Cases& c) {
  c.push_back({.op = "rms_norm",
               .name = "rows",
               .torch = "F.rms_norm(a, (19,), b)",
               .inputs = {normal({5, 19}), normal({19})},
               .run = [](In x) -> Out { return {rms_norm(x[0], {19}, x[1])}; },
               .sum = 40});
  c.push_back({.op = "rms_norm",
               .name = "f32_parameters",
               .torch = "F.rms_norm(a, (19,), b, 0.125)",
               .inputs = {normal({5, 19}), normal({19}).parameter()},
               .run = [](In x) -> Out { return {rms_norm(x[0], {19}, x[1], 0.125)}; },
               .sum = 40});
  c.push_back({.op = "rms_norm",
               .name = "two_dims",
               .torch = "(F.rms_norm(a, (3, 4)), F.rms_norm(a, (4,), eps=0.5))",
               .inputs = {normal({2, 2, 3, 4}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out {
                 return {rms_norm(x[0], {3, 4}), rms_norm(x[0], {4}, {}, 0.5)};
               },
               .sum = 24});
  c.push_back({.op = "rms_norm",
               .name = "no_rows",
               .torch = "F.rms_norm(a, (6,), b)",
               .inputs = {normal({0, 6}), normal({6})},
               .run = [](In x) -> Out { return {rms_norm(x[0], {6}, x[1])}; }});
}

void group_norms(Cases& c) {
  c.push_back({.op = "group_norm",
               .name = "images",
               .torch = "F.group_norm(a, 2, b, c)",
               .inputs = {normal({2, 6, 3, 2}), normal({6}), normal({6})},
               .run = [](In x) -> Out { return {group_norm(x[0], 2, x[1], x[2])}; },
               .sum = 40,
               .grad_roundings = 8});
  c.push_back({.op = "group_norm",
               .name = "f32_parameters",
               .torch = "F.group_norm(a, 3, b, c, 0.125)",
               .inputs = {normal({2, 6, 5}), normal({6}).parameter(), normal({6}).parameter()},
               .run = [](In x) -> Out { return {group_norm(x[0], 3, x[1], x[2], 0.125)}; },
               .sum = 40});
  c.push_back({.op = "group_norm",
               .name = "no_parameters",
               .torch = "(F.group_norm(a, 4), F.group_norm(a, 1), F.group_norm(b, 2))",
               .inputs = {normal({2, 4, 3, 2}).laid_out(MemoryLayout::channels_last), normal({3, 8})},
               .run = [](In x) -> Out {
                 return {group_norm(x[0], 4), group_norm(x[0], 1), group_norm(x[1], 2)};
               },
               .sum = 60});
  c.push_back({.op = "group_norm",
               .name = "weight_only",
               .torch = "F.group_norm(a, 2, b)",
               .inputs = {normal({3, 4, 3}), normal({4})},
               .run = [](In x) -> Out { return {group_norm(x[0], 2, x[1])}; },
               .sum = 40,
               .grad_roundings = 8});
  c.push_back({.op = "group_norm",
               .name = "no_samples",
               .torch = "F.group_norm(a, 2, b, c)",
               .inputs = {normal({0, 4, 3}), normal({4}), normal({4})},
               .run = [](In x) -> Out { return {group_norm(x[0], 2, x[1], x[2])}; }});
  c.push_back({.op = "batch_norm",
               .name = "instance_norm",
               .torch = "F.instance_norm(a, weight=b, bias=c, eps=1e-3)",
               .inputs = {normal({2, 3, 4, 2}), normal({3}), normal({3})},
               .run = [](In x) -> Out { return {instance_norm(x[0], x[1], x[2], {}, {}, true, 0.1, 1e-3)}; },
               .sum = 48});
  c.push_back({.op = "batch_norm",
               .name = "instance_norm_statistics",
               .torch = "(m := b.clone(), v := c.clone(), F.instance_norm(a, m, v, momentum=0.25), "
                        "F.instance_norm(a, b, c, use_input_stats=False))",
               .inputs = {normal({2, 3, 5}), normal({3}).constant(), uniform({3}, 0.5, 2).constant()},
               .run = [](In x) -> Out {
                 const Tensor mean = clone(x[1]), var = clone(x[2]);
                 const Tensor y = instance_norm(x[0], {}, {}, mean, var, true, 0.25);
                 return {mean, var, y, instance_norm(x[0], {}, {}, x[1], x[2], false)};
               },
               .sum = 48,
               .roundings = 3});
  c.push_back({.op = "batch_norm",
               .name = "instance_norm_of_one_channel",
               .torch = "F.instance_norm(a, b, c, use_input_stats=False)",
               .inputs = {normal({2, 1, 5}), normal({1}).constant(), uniform({1}, 0.5, 2).constant()},
               .run = [](In x) -> Out { return {instance_norm(x[0], {}, {}, x[1], x[2], false)}; },
               .sum = 48,
               .roundings = 3});
  c.push_back({.op = "pow",
               .name = "local_response_norm",
               .torch = "(F.local_response_norm(a, 3, 0.5, 0.75, 2.0), F.local_response_norm(b, 2), "
                        "F.local_response_norm(b, 12, 0.5))",
               .inputs = {normal({2, 5, 3, 2}), normal({2, 4, 3})},
               .run = [](In x) -> Out {
                 return {local_response_norm(x[0], 3, 0.5, 0.75, 2), local_response_norm(x[1], 2),
                         local_response_norm(x[1], 12, 0.5)};
               },
               .sum = 16,
               .roundings = 6,
               .grad_roundings = 20});
}

void shuffles(Cases& c) {
  c.push_back({.op = "permute",
               .name = "pixel_shuffle",
               .torch = "(F.pixel_shuffle(a, 2), F.pixel_unshuffle(b, 2), F.pixel_shuffle(c, 3))",
               .inputs = {normal({2, 8, 3, 2}), normal({3, 4, 6}), normal({1, 2, 9, 1, 2})},
               .run = [](In x) -> Out {
                 return {pixel_shuffle(x[0], 2), pixel_unshuffle(x[1], 2), pixel_shuffle(x[2], 3)};
               },
               .sum = 0});
  c.push_back({.op = "permute",
               .name = "channel_shuffle",
               .torch = "(torch.channel_shuffle(a, 3), torch.channel_shuffle(b, 2))",
               .inputs = {normal({2, 6, 2, 2}), normal({1, 4, 3})},
               .run = [](In x) -> Out {
                 return {channel_shuffle(x[0], 3), channel_shuffle(x[1], 2)};
               },
               .sum = 0});
}

}  // namespace

Cases group_norm_cases() {
  Cases c;
  rms_norms(c);
  group_norms(c);
  shuffles(c);
  return c;
}

}  // namespace tandem::testing
