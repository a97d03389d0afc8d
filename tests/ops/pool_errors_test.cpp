// Pooling and its derivatives reject images and windows that do not fit.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs pool_bad_input() {
  const Tensor none, x = ones({2, 4, 6, 6}), matrix = ones({2, 3}), gy = ones({2, 4, 3, 3});
  const Tensor cells = zeros({2, 4, 3, 3}, kByte), far_cells = on_another_device({2, 4, 3, 3}, kByte);
  const Dims xs{2, 4, 6, 6};
  Pool2dParams p;
  p.kernel = p.stride = {2, 2};
  BadInputs rows = {
      BAD_INPUT("max_pool2d", max_pool2d(x, {2}, {}, {0}, {0}), StateError, "dilation = [0]", "at least 1"),
      BAD_INPUT("avg_pool2d", avg_pool2d(x, {2}, {}, {0}, false, true, 0), StateError, "divisor_override = 0",
                "omit it"),
      UNDEFINED("adaptive_avg_pool2d", adaptive_avg_pool2d(none, {2})),
      BAD_INPUT("adaptive_avg_pool2d", adaptive_avg_pool2d(matrix, {2}), ShapeError, "[2, 3] f32", "[N, C, H, W]"),
      BAD_INPUT("adaptive_avg_pool2d", adaptive_avg_pool2d(x, {0}), StateError, "output_size = [0]", "at least 1"),
      BAD_INPUT("adaptive_avg_pool2d", adaptive_avg_pool2d(x, {1, 2, 3}), ShapeError, "[1, 2, 3]", "1 entry, or 2"),
      BAD_INPUT("adaptive_avg_pool2d", adaptive_avg_pool2d(x.to(kInt), {2}), DTypeError, "[2, 4, 6, 6] i32",
                ".to(kFloat)"),

      UNDEFINED("max_pool2d_backward", max_pool2d_backward(none, cells, xs, p)),
      UNDEFINED("max_pool2d_backward", max_pool2d_backward(gy, none, xs, p)),
      BAD_INPUT("max_pool2d_backward", max_pool2d_backward(x, cells, xs, p), ShapeError, "gy is [2, 4, 6, 6] f32",
                "[2, 4, 3, 3]"),
      BAD_INPUT("max_pool2d_backward", max_pool2d_backward(gy.to(kInt), cells, xs, p), DTypeError,
                "gy is [2, 4, 3, 3] i32", ".to(kFloat)"),
      BAD_INPUT("max_pool2d_backward", max_pool2d_backward(gy, cells.to(kLong), xs, p), DTypeError, "i64", "u8"),
      BAD_INPUT("max_pool2d_backward", max_pool2d_backward(gy, cells, {2, 4, 9, 9}, p), ShapeError,
                "indices is [2, 4, 3, 3] u8"),
      BAD_INPUT("max_pool2d_backward", max_pool2d_backward(gy, cells, {2, 4}, p), ShapeError, "[2, 4]", "[N, C, H, W]"),
      BAD_INPUT("avg_pool2d_backward", avg_pool2d_backward(gy, {6, 6}, p), ShapeError, "[6, 6]", "[N, C, H, W]"),
      BAD_INPUT("avg_pool2d_backward", avg_pool2d_backward(gy, xs, Pool2dParams{.stride = {0, 1}}), StateError,
                "stride 0"),
      ON_TWO_DEVICES("max_pool2d_backward", max_pool2d_backward(gy, far_cells, xs, p)),
      UNDEFINED("max_pool2d_gather", max_pool2d_gather(none, cells, p)),
      UNDEFINED("max_pool2d_gather", max_pool2d_gather(x, none, p)),
      BAD_INPUT("max_pool2d_gather", max_pool2d_gather(x, zeros({2, 4, 2, 2}, kByte), p), ShapeError,
                "indices is [2, 4, 2, 2] u8", "[2, 4, 3, 3]"),
      BAD_INPUT("max_pool2d_gather", max_pool2d_gather(x.to(kInt), cells, p), DTypeError, "x is [2, 4, 6, 6] i32",
                ".to(kFloat)"),
      ON_TWO_DEVICES("max_pool2d_gather", max_pool2d_gather(x, far_cells, p)),
      UNDEFINED("avg_pool2d_backward", avg_pool2d_backward(none, xs, p)),
      BAD_INPUT("avg_pool2d_backward", avg_pool2d_backward(x, xs, p), ShapeError, "gy is [2, 4, 6, 6] f32",
                "[2, 4, 3, 3]"),
      BAD_INPUT("avg_pool2d_backward", avg_pool2d_backward(gy.to(kInt), xs, p), DTypeError, "gy is [2, 4, 3, 3] i32",
                ".to(kFloat)"),
      BAD_INPUT("adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward(ones({2, 4, 0, 3}), xs), ShapeError,
                "[2, 4, 0, 3] f32", "[2, 4, 6, 6]", "at least 1"),
      UNDEFINED("adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward(none, xs)),
      BAD_INPUT("adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward(gy, {2, 4, 6}), ShapeError,
                "[2, 4, 3, 3] f32", "[2, 4, 6]", "[N, C, H, W]"),
      BAD_INPUT("adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward(gy, {2, 5, 6, 6}), ShapeError,
                "[2, 4, 3, 3] f32", "[2, 5, 6, 6]", "equal N and C"),
      BAD_INPUT("adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward(gy.to(kInt), xs), DTypeError,
                "gy is [2, 4, 3, 3] i32", ".to(kFloat)"),
  };
  struct Pool {
    const char* name;
    Tensor (*run)(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding);
  };
  const auto max_pool = [](const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    return max_pool2d(x, kernel, stride, padding);
  };
  const auto avg_pool = [](const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding) {
    return avg_pool2d(x, kernel, stride, padding);
  };
  for (const Pool& op : {Pool{"max_pool2d", max_pool}, Pool{"avg_pool2d", avg_pool}}) {
    const auto refuses = [&](auto error, const Tensor& x, const Dims& kernel, const Dims& stride, const Dims& padding,
                             std::vector<std::string> texts) {
      const std::string call = "kernel " + to_string(kernel) + ", stride " + to_string(stride) + ", padding " +
                               to_string(padding) + ", x " + (x.defined() ? to_string(x.sizes()) : "undefined");
      rows.push_back(bad_input<decltype(error)>(
          op.name, call, [=] { op.run(x, kernel, stride, padding); }, std::move(texts)));
    };
    refuses(StateError(""), none, {2}, {}, {0}, {"undefined tensor", "give it a value first"});
    refuses(ShapeError(""), matrix, {2}, {}, {0}, {"[2, 3] f32", "[N, C, H, W] or [C, H, W]"});
    refuses(ShapeError(""), ones({2, 3, 0, 6}), {2}, {}, {0}, {"[2, 3, 0, 6] f32", "must not be empty"});
    refuses(DTypeError(""), ones({2, 4, 6, 6}, kLong), {2}, {}, {0}, {"[2, 4, 6, 6] i64", ".to(kFloat)"});
    refuses(ShapeError(""), x, {}, {}, {0}, {"kernel_size = []", "1 entry, or 2"});
    refuses(ShapeError(""), x, {1, 2, 3}, {}, {0}, {"kernel_size = [1, 2, 3]", "1 entry, or 2"});
    refuses(StateError(""), x, {0}, {}, {0}, {"kernel_size = [0]", "at least 1"});
    refuses(StateError(""), x, {2}, {0}, {0}, {"stride = [0]", "at least 1"});
    refuses(StateError(""), x, {2}, {}, {-1}, {"padding = [-1]", "at least 0"});
    refuses(StateError(""), x, {2}, {}, {2}, {"padding = [2]", "half of kernel_size = [2]"});
    refuses(ShapeError(""), x, {7}, {}, {0}, {"no window fits", "7", "[2, 4, 6, 6]", "has 6"});
  }
  return rows;
}

TEST(PoolErrors, BadInputIsRefused) { expect_refused(pool_bad_input()); }

}  // namespace tandem::testing
