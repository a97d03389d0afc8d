// Sorting, scans and search reject missing dimensions, ranks outside the rows and dtypes without an order.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs sort_bad_input() {
  const Tensor none, x = ones({2, 3}), n = ones({2, 3}, kLong), b = ones({2, 3}, kBool), no_rows = ones({0, 3});
  const Tensor number = scalar_tensor(1), row = ones({3}), elsewhere = on_another_device({3});
  const Tensor weight = ones({2, 3}).requires_grad_(), at = zeros({2, 3}, kLong), expanded = ones({1}).expand({3});
  const Tensor negative = tensor({1, -2}, kLong), high = tensor({0.5, 1.5});
  BadInputs rows = {
      UNDEFINED("cumprod", cumprod(none, 0)),
      BAD_INPUT("cumprod", cumprod(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("cummax", cummax(none, 0)),
      BAD_INPUT("cummax", cummax(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      UNDEFINED("cummin", cummin(none, 0)),
      BAD_INPUT("cummin", cummin(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      UNDEFINED("logcumsumexp", logcumsumexp(none, 0)),
      BAD_INPUT("logcumsumexp", logcumsumexp(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("logcumsumexp", logcumsumexp(n, 0), DTypeError, "[2, 3] i64", "floating"),
      UNDEFINED("cumsum_", none.cumsum_(0)),
      BAD_INPUT("cumsum_", x.cumsum_(2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("cumsum_", x.cumsum_(0, kDouble), DTypeError, "f64", "[2, 3] f32", "without the underscore"),
      BAD_INPUT("cumsum_", b.cumsum_(0), DTypeError, "[2, 3] bool"),
      BAD_INPUT("cumsum_", weight.cumsum_(0), AutogradError, "requires grad"),
      UNDEFINED("cumprod_", none.cumprod_(0)),
      BAD_INPUT("cumprod_", x.cumprod_(2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("cumprod_", n.cumprod_(0, kInt), DTypeError, "i32", "[2, 3] i64", "without the underscore"),
      UNDEFINED("diff", diff(none)),
      BAD_INPUT("diff", diff(number), ShapeError, "[] f32", "at least rank 1"),
      BAD_INPUT("diff", diff(x, -1), StateError, "n = -1", "at least 0"),
      BAD_INPUT("diff", diff(x, 1, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("diff", diff(x, 1, 1, row), ShapeError, "prepend is [3] f32", "[2, 3] f32", "rank"),
      UNDEFINED("trapezoid", trapezoid(none)),
      UNDEFINED("trapezoid", trapezoid(x, none)),
      BAD_INPUT("trapezoid", trapezoid(number), ShapeError, "[] f32", "at least rank 1"),
      BAD_INPUT("trapezoid", trapezoid(x, ones({2})), ShapeError, "[2] f32", "[2, 3] f32", "one entry per sample"),
      BAD_INPUT("trapezoid", trapezoid(x, ones({2, 3, 1})), ShapeError, "[2, 3, 1] f32", "the rank of y"),
      BAD_INPUT("trapezoid", trapezoid(b), DTypeError, "[2, 3] bool"),
      UNDEFINED("cumulative_trapezoid", cumulative_trapezoid(none)),
      BAD_INPUT("cumulative_trapezoid", cumulative_trapezoid(x, 1, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("cumulative_trapezoid", cumulative_trapezoid(x, ones({4})), ShapeError, "[4] f32", "[2, 3] f32"),

      UNDEFINED("sort", sort(none)),
      UNDEFINED("sort", sort(none, std::optional<bool>(true))),
      BAD_INPUT("sort", sort(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("sort", sort(number, 1), IndexError, "dimension 1", "rank 0", "[-1, 0]"),
      UNDEFINED("argsort", argsort(none)),
      BAD_INPUT("argsort", argsort(x, -3), IndexError, "dimension -3", "rank 2", "[-2, 1]"),
      UNDEFINED("msort", msort(none)),
      UNDEFINED("topk", topk(none, 1)),
      BAD_INPUT("topk", topk(x, 1, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("topk", topk(x, 4), IndexError, "k = 4", "dimension 1 of [2, 3] f32", "[0, 3]"),
      BAD_INPUT("topk", topk(x, -1), IndexError, "k = -1", "[0, 3]"),
      UNDEFINED("kthvalue", kthvalue(none, 1)),
      BAD_INPUT("kthvalue", kthvalue(x, 0), IndexError, "k = 0", "[1, 3]"),
      BAD_INPUT("kthvalue", kthvalue(x, 3, 0), IndexError, "k = 3", "dimension 0 of [2, 3] f32", "[1, 2]"),
      UNDEFINED("median", median(none)),
      UNDEFINED("median", median(none, 0)),
      BAD_INPUT("median", median(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("median", median(no_rows, 0), IndexError, "dimension 0 of [0, 3] f32", "no elements"),
      BAD_INPUT("median", median(ones({0}, kLong)), ShapeError, "[0] i64", "no elements"),
      BAD_INPUT("median", median(b), DTypeError, "[2, 3] bool"),
      UNDEFINED("nanmedian", nanmedian(none)),
      UNDEFINED("nanmedian", nanmedian(none, 0)),
      BAD_INPUT("nanmedian", nanmedian(no_rows, 0), IndexError, "dimension 0 of [0, 3] f32", "no elements"),
      UNDEFINED("mode", mode(none)),
      BAD_INPUT("mode", mode(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("mode", mode(no_rows, 0), IndexError, "dimension 0 of [0, 3] f32", "no elements"),

      UNDEFINED("_unique2", _unique2(none)),
      UNDEFINED("_unique", _unique(none)),
      UNDEFINED("unique_dim", unique_dim(none, 0)),
      BAD_INPUT("unique_dim", unique_dim(x, 2), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
      BAD_INPUT("unique_dim", unique_dim(number, 0), ShapeError, "[] f32", "at least rank 1"),
      BAD_INPUT("unique_dim", unique_dim(no_rows, 1), ShapeError, "[0, 3] f32", "dimension 0 has no elements"),
      UNDEFINED("unique_consecutive", unique_consecutive(none)),
      BAD_INPUT("unique_consecutive", unique_consecutive(x, false, false, 3), IndexError, "dimension 3", "rank 2"),

      UNDEFINED("isin", isin(none, x)),
      UNDEFINED("isin", isin(x, none)),
      UNDEFINED("isin", isin(none, 1)),
      UNDEFINED("isin", isin(1, none)),
      BAD_INPUT("isin", isin(x, ones({2}, kBool)), DTypeError, "bool"),
      ON_TWO_DEVICES("isin", isin(row, elsewhere)),
      UNDEFINED("vander", vander(none)),
      BAD_INPUT("vander", vander(x), ShapeError, "x is [2, 3] f32", "rank 1", "flatten()"),
      BAD_INPUT("vander", vander(row, -1), StateError, "n = -1", "at least 0"),
      UNDEFINED("searchsorted", searchsorted(none, x)),
      UNDEFINED("searchsorted", searchsorted(row, none)),
      UNDEFINED("searchsorted", searchsorted(none, 1)),
      BAD_INPUT("searchsorted", searchsorted(number, x), ShapeError, "[] f32", "at least rank 1"),
      BAD_INPUT("searchsorted", searchsorted(x, row), ShapeError, "[2, 3] f32", "[3] f32", "rank 1"),
      BAD_INPUT("searchsorted", searchsorted(x, 1), ShapeError, "[2, 3] f32", "[] f32"),
      BAD_INPUT("searchsorted", searchsorted(row, x, false, false, "up"), StateError, "'up'", "left or right"),
      BAD_INPUT("searchsorted", searchsorted(row, x, false, true, "left"), StateError, "side is left"),
      BAD_INPUT("searchsorted", searchsorted(row, x, false, false, {}, row), DTypeError, "sorter is [3] f32", "i64"),
      BAD_INPUT("searchsorted", searchsorted(row, x, false, false, {}, at), ShapeError, "sorter", "[2, 3]"),
      ON_TWO_DEVICES("searchsorted", searchsorted(row, elsewhere)),
      UNDEFINED("bucketize", bucketize(none, row)),
      UNDEFINED("bucketize", bucketize(x, none)),
      BAD_INPUT("bucketize", bucketize(x, x), ShapeError, "boundaries is [2, 3] f32", "rank 1"),
      BAD_INPUT("bucketize", bucketize(1, x), ShapeError, "boundaries is [2, 3] f32", "rank 1"),
      UNDEFINED("histc", histc(none)),
      BAD_INPUT("histc", histc(n), DTypeError, "[2, 3] i64", "floating"),
      BAD_INPUT("histc", histc(x, 0), StateError, "bins = 0", "positive"),
      BAD_INPUT("histc", histc(x, 4, 3, 1), StateError, "min = 3", "max = 1"),
      BAD_INPUT("histc", histc(mul(x, HUGE_VAL)), StateError, "[inf, inf]", "not finite"),
      UNDEFINED("bincount", bincount(none)),
      BAD_INPUT("bincount", bincount(row), DTypeError, "[3] f32", ".to(kLong)"),
      BAD_INPUT("bincount", bincount(n), ShapeError, "[2, 3] i64", "rank 1"),
      BAD_INPUT("bincount", bincount(negative), StateError, "-2", "not be negative"),
      BAD_INPUT("bincount", bincount(ones({3}, kLong), {}, -1), StateError, "minlength = -1"),
      BAD_INPUT("bincount", bincount(ones({3}, kLong), ones({2})), ShapeError, "weights", "[2] f32", "[3]"),
      BAD_INPUT("bincount", bincount(tensor({INT64_MAX}, kLong)), StateError, "9223372036854775807", "too large"),
  };
  using Quantile = Tensor (*)(const Tensor&, const Tensor&, std::optional<int64_t>, bool, std::string_view);
  using OneQuantile = Tensor (*)(const Tensor&, double, std::optional<int64_t>, bool, std::string_view);
  const std::tuple<const char*, Quantile, OneQuantile> quantiles[] = {{"quantile", quantile, quantile},
                                                                      {"nanquantile", nanquantile, nanquantile}};
  for (const auto& [name, of, of_one] : quantiles) {
    const Quantile f = of;
    const OneQuantile g = of_one;
    const BadInputs more = {
        UNDEFINED(name, f(none, number, {}, false, "linear")),
        UNDEFINED(name, f(x, none, {}, false, "linear")),
        UNDEFINED(name, g(none, 0.5, {}, false, "linear")),
        BAD_INPUT(name, f(x, number, 2, false, "linear"), IndexError, "dimension 2", "rank 2", "[-2, 1]"),
        BAD_INPUT(name, f(x, number, {}, false, "cubic"), StateError, "'cubic'", "nearest"),
        BAD_INPUT(name, f(x, x, {}, false, "linear"), ShapeError, "q is [2, 3] f32", "rank 0 or 1"),
        BAD_INPUT(name, f(x, high, {}, false, "linear"), StateError, "q is [2] f32", "outside [0, 1]"),
        BAD_INPUT(name, f(x, high.to(kDouble).mul(0.5), {}, false, "linear"), DTypeError, "q is [2] f64", "[2, 3] f32"),
        BAD_INPUT(name, g(x, -0.5, {}, false, "linear"), StateError, "q = -0.5", "[0, 1]"),
        BAD_INPUT(name, g(x, NAN, {}, false, "linear"), StateError, "q = nan", "[0, 1]"),
        BAD_INPUT(name, g(n, 0.5, {}, false, "linear"), DTypeError, "[2, 3] i64", "floating"),
        BAD_INPUT(name, g(no_rows, 0.5, {}, false, "linear"), ShapeError, "[0, 3] f32", "must have elements"),
    };
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const Tensor out = ones({2, 3}), small = ones({2});
  const BadInputs outs = {
      UNDEFINED("cumsum_out", cumsum_out(none, x, 0)),
      UNDEFINED("cumsum_out", cumsum_out(out, none, 0)),
      BAD_INPUT("cumsum_out", cumsum_out(small, x, 0), ShapeError, "[2, 3]", "out is [2]", "same sizes"),
      BAD_INPUT("cumsum_out", cumsum_out(n, x, 0), DTypeError, "f32", "[2, 3] i64", "use an out of f32"),
      UNDEFINED("cumprod_out", cumprod_out(none, x, 0)),
      BAD_INPUT("cumprod_out", cumprod_out(out, x, 2), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("cumprod_out", cumprod_out(out, weight, 0), AutogradError, "requires grad", "NoGradGuard"),
      UNDEFINED("sort_out", sort_out(none, at, x)),
      UNDEFINED("sort_out", sort_out(out, none, x)),
      UNDEFINED("sort_out", sort_out(out, at, none)),
      BAD_INPUT("sort_out", sort_out(out, x, x), DTypeError, "indices is [2, 3] f32", "i64"),
      BAD_INPUT("sort_out", sort_out(small, at, x), ShapeError, "[2, 3]", "out is [2]"),
      BAD_INPUT("sort_out", sort_out(out, ones({2}, kLong), x), ShapeError, "indices", "[2] i64", "[2, 3]"),
      UNDEFINED("topk_out", topk_out(none, at, x, 1)),
      BAD_INPUT("topk_out", topk_out(out, at, x, 4), IndexError, "k = 4", "[0, 3]"),
      BAD_INPUT("topk_out", topk_out(out, at, x, 2), ShapeError, "[2, 2]", "[2, 3]"),
  };
  rows.insert(rows.end(), outs.begin(), outs.end());
  return rows;
}

TEST(SortErrors, BadInputIsRefused) { expect_refused(sort_bad_input()); }

}  // namespace tandem::testing
