// Dropout. Its random masks are tested in tests/ops/dropout_test.cpp.
#include "tandem/ops/dropout.h"

#include "cases/cases.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {

Cases dropout_cases() {
  Cases c;
  c.push_back({.op = "dropout",
               .name = "inference",
               .torch = "F.dropout(a, 0.5, training=False)",
               .inputs = {normal({11})},
               .run = [](In x) -> Out { return {dropout(x[0], 0.5, false)}; },
               .sum = 0});
  c.push_back({.op = "dropout",
               .name = "keep_all_and_none",
               .torch = "(F.dropout(a, 0.0, training=True), F.dropout(a, 1.0, training=True))",
               .inputs = {normal({11})},
               .run = [](In x) -> Out {
                 return {dropout(x[0], 0, true), dropout(x[0], 1, true)};
               },
               .sum = 0});
  c.push_back({.op = "dropout",
               .name = "train",
               .inputs = {normal({5, 9}).laid_out(MemoryLayout::transposed)},
               .run = [](In x) -> Out {
                 manual_seed(7);
                 return {dropout(x[0], 0.25, true)};
               },
               .no_golden = "random"});
  c.push_back({.op = "dropout",
               .name = "variants",
               .torch = "(F.dropout2d(a, 0.5, False), F.alpha_dropout(a, 0.0, True), F.dropout2d(a, 1.0, True), "
                        "F.feature_alpha_dropout(a, 0.25, False))",
               .inputs = {normal({2, 3, 2, 2})},
               .run = [](In x) -> Out {
                 return {feature_dropout(x[0], 0.5, false), alpha_dropout(x[0], 0, true),
                         feature_dropout(x[0], 1, true), feature_alpha_dropout(x[0], 0.25, false)};
               },
               .sum = 0});
  c.push_back({.op = "dropout",
               .name = "variants_in_training",
               .inputs = {normal({2, 3, 2, 2})},
               .run = [](In x) -> Out {
                 manual_seed(7);
                 return {feature_dropout(x[0], 0.5, true), alpha_dropout(x[0], 0.25, true),
                         feature_alpha_dropout(x[0], 0.25, true)};
               },
               .sum = 4,
               .roundings = 6,
               .no_golden = "random"});
  return c;
}

}  // namespace tandem::testing
