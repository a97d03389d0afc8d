// Matrix products reject mismatched sizes, ranks, dtypes and devices.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs matmul_bad_input() {
  const Tensor none, a = ones({2, 3}), b = ones({3, 2}), vector = ones({4}), number = scalar_tensor(1);
  const Tensor n = ones({2, 3}, kLong), half = ones({2, 3}, kHalf), batch = ones({2, 2, 3}), square = ones({2, 2});
  const Tensor far = on_another_device({2, 3}), far_b = on_another_device({3, 2});
  return {
      BAD_INPUT("linear", linear(a, ones({4, 3}), ones({4}, kHalf)), DTypeError, "x is [2, 3] f32", "bias is [4] f16",
                "AutocastGuard"),
      BAD_INPUT("addmm", addmm(ones({2}, kHalf), a, b), DTypeError, "a is [2, 3] f32", "input is [2] f16"),
      UNDEFINED("mm", mm(none, b)),
      UNDEFINED("mm", mm(a, none)),
      BAD_INPUT("mm", mm(vector, b), ShapeError, "rank 2", "[4] f32", "matmul()"),
      BAD_INPUT("mm", mm(a, batch), ShapeError, "rank 2", "[2, 2, 3] f32", "matmul()"),
      BAD_INPUT("mm", mm(a, a), ShapeError, "inner sizes", "a is [2, 3] f32", "b is [2, 3] f32"),
      BAD_INPUT("mm", mm(n, b), DTypeError, "[2, 3] i64", "[3, 2] f32", ".to(kFloat)"),
      BAD_INPUT("mm", mm(half, b), DTypeError, "[2, 3] f16", "[3, 2] f32", ".to()", "AutocastGuard"),
      ON_TWO_DEVICES("mm", mm(far, b)),
      ON_TWO_DEVICES("mm", mm(a, far_b)),

      UNDEFINED("bmm", bmm(none, batch)),
      UNDEFINED("bmm", bmm(batch, none)),
      BAD_INPUT("bmm", bmm(a, batch), ShapeError, "rank 3", "[2, 3] f32", "matmul()"),
      BAD_INPUT("bmm", bmm(batch, b), ShapeError, "rank 3", "[3, 2] f32", "matmul()"),
      BAD_INPUT("bmm", bmm(batch, ones({4, 3, 2})), ShapeError, "batch sizes", "[2, 2, 3] f32", "[4, 3, 2] f32"),
      BAD_INPUT("bmm", bmm(batch, batch), ShapeError, "inner sizes", "[2, 2, 3] f32"),
      BAD_INPUT("bmm", bmm(batch, ones({2, 3, 3}, kInt)), DTypeError, "[2, 2, 3] f32", "[2, 3, 3] i32", ".to(kFloat)"),
      BAD_INPUT("bmm", bmm(batch, ones({2, 3, 3}, kDouble)), DTypeError, "[2, 2, 3] f32", "[2, 3, 3] f64", ".to()"),
      ON_TWO_DEVICES("bmm", bmm(batch, on_another_device({2, 3, 2}))),

      BAD_INPUT("matmul", matmul(none, b), StateError, "a is an undefined tensor"),
      BAD_INPUT("matmul", matmul(a, none), StateError, "b is an undefined tensor"),
      BAD_INPUT("matmul", matmul(number, b), ShapeError, "a is [] f32", "b is [3, 2] f32", "mul()"),
      BAD_INPUT("matmul", matmul(a, number), ShapeError, "a is [2, 3] f32", "b is [] f32", "mul()"),
      BAD_INPUT("matmul", matmul(a, a), ShapeError, "inner sizes", "[2, 3] f32"),
      BAD_INPUT("matmul", matmul(vector, a), ShapeError, "inner sizes", "[4] f32", "[2, 3] f32"),
      BAD_INPUT("matmul", matmul(batch, ones({4, 3, 2})), ShapeError, "[2]", "[4]", "broadcast"),
      BAD_INPUT("matmul", matmul(n, b), DTypeError, "[2, 3] i64", "[3, 2] f32", ".to(kFloat)"),
      BAD_INPUT("matmul", matmul(half, b), DTypeError, "[2, 3] f16", "[3, 2] f32", ".to()", "AutocastGuard"),
      ON_TWO_DEVICES("matmul", matmul(far, b)),
      ON_TWO_DEVICES("matmul", matmul(a, far_b)),

      UNDEFINED("addmm", addmm(none, a, b)),
      UNDEFINED("addmm", addmm(number, none, b)),
      UNDEFINED("addmm", addmm(number, a, none)),
      BAD_INPUT("addmm", addmm(number, vector, b), ShapeError, "rank 2", "[4] f32"),
      BAD_INPUT("addmm", addmm(number, a, a), ShapeError, "inner sizes", "a is [2, 3] f32", "b is [2, 3] f32"),
      BAD_INPUT("addmm", addmm(a, a, b), ShapeError, "[2, 3]", "[2, 2]", "broadcast"),
      BAD_INPUT("addmm", addmm(ones({5, 2, 2}), a, b), ShapeError, "[5, 2, 2] f32", "[2, 2]", "broadcast"),
      BAD_INPUT("addmm", addmm(number, n, b), DTypeError, "[2, 3] i64", "[3, 2] f32", ".to(kFloat)"),
      BAD_INPUT("addmm", addmm(square, half, b), DTypeError, "[2, 3] f16", "[3, 2] f32", ".to()"),
      BAD_INPUT("addmm", addmm(square.to(kHalf), a, b), DTypeError, "[2, 2] f16", "[2, 3] f32", ".to()"),
      ON_TWO_DEVICES("addmm", addmm(square, far, b)),
      ON_TWO_DEVICES("addmm", addmm(on_another_device({2, 2}), a, b)),

      BAD_INPUT("linear", linear(none, a), StateError, "x is an undefined tensor"),
      BAD_INPUT("linear", linear(a, none), StateError, "weight is an undefined tensor"),
      BAD_INPUT("linear", linear(a, b), ShapeError, "x is [2, 3] f32", "weight is [3, 2] f32", "[out, in]"),
      BAD_INPUT("linear", linear(a, vector), ShapeError, "x is [2, 3] f32", "weight is [4] f32", "[out, in]"),
      BAD_INPUT("linear", linear(number, a), ShapeError, "x is [] f32", "weight is [2, 3] f32", "[out, in]"),
      BAD_INPUT("linear", linear(a, a, ones({5})), ShapeError, "bias is [5] f32", "weight is [2, 3] f32", "be [2]"),
      BAD_INPUT("linear", linear(a, a, ones({2, 2})), ShapeError, "bias is [2, 2] f32", "be [2]"),
      BAD_INPUT("linear", linear(n, a), DTypeError, "x is [2, 3] i64", "must be floating"),
      BAD_INPUT("linear", linear(a, n), DTypeError, "weight is [2, 3] i64", "must be floating"),
      BAD_INPUT("linear", linear(half, a), DTypeError, "[2, 3] f16", "[2, 3] f32", ".to()", "AutocastGuard"),
      BAD_INPUT("linear_relu", linear_relu(a, ones({4, 3}), ones({4}, kHalf)), DTypeError, "x is [2, 3] f32",
                "bias is [4] f16"),
      BAD_INPUT("linear_relu", linear_relu(none, a), StateError, "x is an undefined tensor"),
      BAD_INPUT("linear_relu", linear_relu(a, none), StateError, "weight is an undefined tensor"),
      BAD_INPUT("linear_relu", linear_relu(a, b), ShapeError, "x is [2, 3] f32", "weight is [3, 2] f32", "[out, in]"),
      BAD_INPUT("linear_relu", linear_relu(a, a, ones({5})), ShapeError, "bias is [5] f32", "be [2]"),
      BAD_INPUT("linear_relu", linear_relu(n, a), DTypeError, "x is [2, 3] i64", "must be floating"),
      ON_TWO_DEVICES("linear_relu", linear_relu(a, far)),
      ON_TWO_DEVICES("linear", linear(a, far)),
      ON_TWO_DEVICES("linear", linear(a, a, on_another_device({2}))),

      BAD_INPUT("gemm", gemm(a, a, kFloat), ShapeError, "inner sizes", "a is [2, 3] f32", "b is [2, 3] f32"),
      BAD_INPUT("gemm", gemm(n, b, kFloat), DTypeError, "[2, 3] i64", "[3, 2] f32", ".to(kFloat)"),
      BAD_INPUT("gemm", gemm(ones({4, 2, 3}), ones({2, 3, 2}), kFloat), ShapeError, "a is [4, 2, 3] f32",
                "b is [2, 3, 2] f32", "equal batch sizes"),
      BAD_INPUT("gemm", gemm(ones({4, 2, 3}), b, kFloat), ShapeError, "a is [4, 2, 3] f32", "rank 2"),
      BAD_INPUT("gemm", gemm(a, b, kLong), DTypeError, "i64", "floating"),
      UNDEFINED("gemm", gemm(Tensor(), b, kFloat)),
      ON_TWO_DEVICES("gemm", gemm(far, b, kFloat)),
  };
}

TEST(MatmulErrors, BadInputIsRefused) { expect_refused(matmul_bad_input()); }

}  // namespace tandem::testing
