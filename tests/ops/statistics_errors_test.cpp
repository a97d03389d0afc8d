// Products, deviations, extremes over dimensions and counts reject undefined tensors, unknown dimensions, empty
// extremes and unsupported dtypes.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct Reduction {
  const char* name;
  void (*run)(const Tensor&, int64_t dim);
};
#define OP(NAME)                                              \
  {                                                           \
#NAME, [](const Tensor& x, int64_t dim) { NAME(x, dim); } \
  }
constexpr Reduction reductions[] = {OP(prod),      OP(var_mean), OP(std_mean), OP(amax), OP(amin), OP(aminmax),
                                    OP(logsumexp), OP(nansum),   OP(nanmean),  OP(any),  OP(all),  OP(count_nonzero)};
#undef OP

}  // namespace

BadInputs statistics_bad_input() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), no_rows = ones({0, 3});
  BadInputs rows = {
      UNDEFINED("prod", prod(none)),
      UNDEFINED("std", tandem::std(none)),
      BAD_INPUT("std", tandem::std(x, {2}), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("std", tandem::std(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("std_mean", std_mean(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("var_mean", var_mean(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("nanmean", nanmean(n), DTypeError, "[2, 3] i64", ".to(kFloat)"),
      BAD_INPUT("amax", amax(no_rows), ShapeError, "[0, 3] f32", "at least one"),
      BAD_INPUT("amin", amin(no_rows, {0}), ShapeError, "[0, 3] f32", "at least one"),
      BAD_INPUT("amax", amax(x, {0, -2}), IndexError, "dimension 0", "twice"),
      BAD_INPUT("logsumexp", logsumexp(x, {1, 1}), IndexError, "dimension 1", "twice"),
      UNDEFINED("cov", cov(none)),
      BAD_INPUT("cov", cov(ones({1, 2, 3})), ShapeError, "[1, 2, 3] f32", "at most rank 2"),
      BAD_INPUT("cov", cov(ones({2}, kBool)), DTypeError, "[2] bool"),
      BAD_INPUT("cov", cov(x, 1, ones({3})), DTypeError, "fweights is [3] f32", "integer", "aweights"),
      BAD_INPUT("cov", cov(x, 1, ones({2}, kLong)), ShapeError, "fweights is [2] i64", "must be [3]", "[2, 3] f32"),
      BAD_INPUT("cov", cov(x, 1, neg(ones({3}, kLong))), StateError, "fweights", "from -1 to -1"),
      BAD_INPUT("cov", cov(x, 1, {}, ones({3}, kLong)), DTypeError, "aweights", "[3] i64"),
      BAD_INPUT("cov", cov(x, 1, {}, ones({1, 3})), ShapeError, "aweights is [1, 3] f32", "must be [3]"),
      BAD_INPUT("cov", cov(x, 1, {}, neg(ones({3}))), StateError, "aweights", "from -1 to -1"),
      BAD_INPUT("cov", cov(x, 1, {}, zeros({3})), StateError, "weights", "are 0"),
      ON_TWO_DEVICES("cov", cov(x, 1, {}, on_another_device({3}))),
      UNDEFINED("corrcoef", corrcoef(none)),
      BAD_INPUT("corrcoef", corrcoef(ones({1, 2, 3})), ShapeError, "[1, 2, 3] f32", "at most rank 2"),
      UNDEFINED("any", any(none, {0, 1})),
      UNDEFINED("all", all(none, {0, 1})),
      BAD_INPUT("all", all(x, {0, 0}), IndexError, "dimension 0", "twice"),
  };
  for (const Reduction& op : reductions) {
    rows.push_back(UNDEFINED(op.name, op.run(none, 0)));
    rows.push_back(BAD_INPUT(op.name, op.run(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"));
  }
  return rows;
}

TEST(StatisticsErrors, BadInputIsRefused) { expect_refused(statistics_bad_input()); }

}  // namespace tandem::testing
