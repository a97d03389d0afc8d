// Pooling of one and three dimensions, adaptive and with indices, rejects inputs and windows that do not fit.
#include <functional>
#include <limits>

#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

struct Pool {
  const char* name;
  int64_t dims;
  std::function<void(const Tensor& x, IntArrayRef kernel)> run;
};

/// The rows of every function of an input and a kernel size or output size.
void add_inputs(BadInputs& rows, const Pool& pool) {
  const Tensor none, flat = ones({3}), whole = ones(Dims(static_cast<size_t>(pool.dims) + 1, 4));
  const Tensor n = ones(whole.sizes(), kLong), empty_x = ones(Dims(static_cast<size_t>(pool.dims) + 1, 0));
  const auto run = pool.run;
  const Dims one{2}, too_many{2, 2, 2, 2}, zero{0};
  rows.push_back(UNDEFINED(pool.name, run(none, one)));
  rows.push_back(BAD_INPUT(pool.name, run(flat, one), ShapeError, "x is [3] f32", "[N, C, "));
  rows.push_back(BAD_INPUT(pool.name, run(empty_x, one), ShapeError, "only N may be 0"));
  rows.push_back(BAD_INPUT(pool.name, run(n, one), DTypeError, "i64", ".to(kFloat)"));
  rows.push_back(BAD_INPUT(pool.name, run(whole, too_many), ShapeError, "[2, 2, 2, 2], but must have 1 entry"));
  rows.push_back(BAD_INPUT(pool.name, run(whole, zero), StateError, "[0]", "at least 1"));
}

}  // namespace

BadInputs pool_nd_bad_input() {
  BadInputs rows;
  rows.push_back(BAD_INPUT("avg_pool3d", avg_pool3d(ones({1, 2, 3, 3, 1}), {2}, {}, {1}), ShapeError,
                           "kernel_size = [2], but dimension 4 of x [1, 2, 3, 3, 1] f32 is smaller", "pad x"));
  for (const Pool& pool : {
           Pool{"max_pool1d", 1, [](const Tensor&x, IntArrayRef k) { max_pool1d(x, k); }},
           Pool{"max_pool3d", 3, [](const Tensor&x, IntArrayRef k) { max_pool3d(x, k); }},
           Pool{"max_pool1d_with_indices", 1, [](const Tensor&x, IntArrayRef k) { max_pool1d_with_indices(x, k); }},
           Pool{"max_pool2d_with_indices", 2, [](const Tensor&x, IntArrayRef k) { max_pool2d_with_indices(x, k); }},
           Pool{"max_pool3d_with_indices", 3, [](const Tensor&x, IntArrayRef k) { max_pool3d_with_indices(x, k); }},
           Pool{"avg_pool1d", 1, [](const Tensor&x, IntArrayRef k) { avg_pool1d(x, k); }},
           Pool{"avg_pool3d", 3, [](const Tensor&x, IntArrayRef k) { avg_pool3d(x, k); }},
           Pool{"adaptive_avg_pool1d", 1, [](const Tensor&x, IntArrayRef k) { adaptive_avg_pool1d(x, k); }},
           Pool{"adaptive_avg_pool3d", 3, [](const Tensor&x, IntArrayRef k) { adaptive_avg_pool3d(x, k); }},
           Pool{"adaptive_max_pool1d", 1, [](const Tensor&x, IntArrayRef k) { adaptive_max_pool1d(x, k); }},
           Pool{"adaptive_max_pool2d", 2, [](const Tensor&x, IntArrayRef k) { adaptive_max_pool2d(x, k); }},
           Pool{"adaptive_max_pool3d", 3, [](const Tensor&x, IntArrayRef k) { adaptive_max_pool3d(x, k); }},
           Pool{"lp_pool1d", 1, [](const Tensor&x, IntArrayRef k) { lp_pool1d(x, 2, k); }},
           Pool{"lp_pool2d", 2, [](const Tensor&x, IntArrayRef k) { lp_pool2d(x, 2, k); }},
           Pool{"lp_pool3d", 3, [](const Tensor&x, IntArrayRef k) { lp_pool3d(x, 2, k); }},
       }) {
    add_inputs(rows, pool);
  }
  const Tensor x = ones({2, 3, 4, 4, 4}), line = ones({2, 3, 4});
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const BadInput& row : BadInputs{
           BAD_INPUT("max_pool3d", max_pool3d(x, {5}), ShapeError, "no window fits", "spans 5", "has 4"),
           BAD_INPUT("max_pool3d", max_pool3d(x, {2}, {0}), StateError, "stride = [0]", "at least 1"),
           BAD_INPUT("max_pool3d", max_pool3d(x, {2}, {1}, {2}), StateError, "padding = [2]", "half"),
           BAD_INPUT("max_pool3d", max_pool3d(x, {2}, {1}, {0}, {0}), StateError, "dilation = [0]", "at least 1"),
           BAD_INPUT("max_pool3d", max_pool3d(x, {3}, {1}, {0}, {huge}), ShapeError, "over 2^63"),
           BAD_INPUT("max_pool1d", max_pool1d(line, {2}, {1}, {-1}), StateError, "padding = [-1]", "at least 0"),
           BAD_INPUT("max_pool1d_with_indices", max_pool1d_with_indices(line, {9}), ShapeError, "no window fits"),
           BAD_INPUT("avg_pool1d", avg_pool1d(line, {9}), ShapeError, "no window fits", "[2, 3, 4] f32"),
           BAD_INPUT("avg_pool3d", avg_pool3d(x, {2}, {}, {0}, false, true, 0), StateError, "divisor_override = 0"),
           BAD_INPUT("adaptive_avg_pool3d", adaptive_avg_pool3d(x, {huge, 1, 1}), ShapeError, "too large"),
           BAD_INPUT("lp_pool1d", lp_pool1d(line, 0, {2}), StateError, "norm_type = 0", "root"),
       }) {
    rows.push_back(row);
  }
  return rows;
}

TEST(PoolNdErrors, BadInputIsRefused) { expect_refused(pool_nd_bad_input()); }

}  // namespace tandem::testing
