// Products reject operands that do not fit each other, integers and bad equations.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

BadInputs sums_of_products() {
  const Tensor none, m = ones({2, 3}), v = ones({3}), u = ones({2}), batch = ones({2, 2, 3}), other = ones({2, 3, 4});
  const Tensor h = ones({2, 3}, kHalf), n = ones({2, 3}, kLong), y = ones({2, 4});
  const Tensor weight = ones({2}).requires_grad_();
  return {
      UNDEFINED("addmv", addmv(none, m, v)),
      UNDEFINED("addmv", addmv(u, none, v)),
      UNDEFINED("addmv", addmv(u, m, none)),
      BAD_INPUT("addmv", addmv(u, m, u), ShapeError, "inner sizes differ", "[2, 3] f32", "[2] f32"),
      BAD_INPUT("addmv", addmv(v, m, v), ShapeError, "[3]", "[2]", "do not broadcast"),
      BAD_INPUT("addmv", addmv(ones({1, 2}), m, v), ShapeError, "input is [1, 2] f32", "[2]"),
      BAD_INPUT("addmv", addmv(u, h, v), DTypeError, "f16", "f32"),
      UNDEFINED("addmv_", none.addmv_(m, v)),
      UNDEFINED("addmv_", u.addmv_(m, none)),
      BAD_INPUT("addmv_", ones({1}).addmv_(m, v), ShapeError, "self is [1] f32", "[2] f32"),
      BAD_INPUT("addmv_", weight.addmv_(m, v), AutogradError, "leaf"),
      UNDEFINED("addr", addr(none, u, v)),
      UNDEFINED("addr", addr(m, none, v)),
      BAD_INPUT("addr", addr(m, m, v), ShapeError, "a is [2, 3] f32", "rank 1"),
      BAD_INPUT("addr", addr(m, v, u), ShapeError, "[2, 3]", "[3, 2]", "do not broadcast"),
      UNDEFINED("addr_", none.addr_(u, v)),
      BAD_INPUT("addr_", v.addr_(u, v), ShapeError, "self is [3] f32", "[2, 3] f32"),
      UNDEFINED("addbmm", addbmm(none, batch, other)),
      UNDEFINED("addbmm", addbmm(y, batch, none)),
      BAD_INPUT("addbmm", addbmm(y, m, other), ShapeError, "rank 3", "[2, 3] f32"),
      BAD_INPUT("addbmm", addbmm(y, batch, ones({1, 3, 4})), ShapeError, "batch sizes differ", "[2, 2, 3]",
                "[1, 3, 4]"),
      BAD_INPUT("addbmm", addbmm(m, batch, other), ShapeError, "[2, 3]", "[2, 4]", "do not broadcast"),
      UNDEFINED("addbmm_", none.addbmm_(batch, other)),
      BAD_INPUT("addbmm_", ones({4}).addbmm_(batch, other), ShapeError, "self is [4] f32", "[2, 4] f32"),
      UNDEFINED("baddbmm", baddbmm(none, batch, other)),
      BAD_INPUT("baddbmm", baddbmm(y, batch, batch), ShapeError, "inner sizes differ", "[2, 2, 3] f32"),
      BAD_INPUT("baddbmm", baddbmm(m, batch, other), ShapeError, "[2, 3]", "[2, 2, 4]", "do not broadcast"),
      UNDEFINED("baddbmm_", none.baddbmm_(batch, other)),
      BAD_INPUT("baddbmm_", y.baddbmm_(batch, other), ShapeError, "self is [2, 4] f32", "[2, 2, 4] f32"),

      UNDEFINED("mv_out", mv_out(none, m, v)),
      BAD_INPUT("mv_out", mv_out(v, m, v), ShapeError, "[2]", "[3]", "out must have the same sizes"),
      UNDEFINED("dot_out", dot_out(none, v, v)),
      BAD_INPUT("dot_out", dot_out(ones({}, kLong), v, v), DTypeError, "f32", "[] i64"),
      UNDEFINED("outer_out", outer_out(none, u, v)),
      BAD_INPUT("outer_out", outer_out(m, v, u), ShapeError, "[3, 2]", "[2, 3]"),
      UNDEFINED("tensordot_out", tensordot_out(none, m, m, {0}, {0})),
      BAD_INPUT("tensordot_out", tensordot_out(m, m, m, {0}, {0}), ShapeError, "[3, 3]", "[2, 3]"),
      UNDEFINED("addmv_out", addmv_out(none, u, m, v)),
      BAD_INPUT("addmv_out", addmv_out(v, u, m, v), ShapeError, "[2]", "[3]"),
      UNDEFINED("addr_out", addr_out(none, m, u, v)),
      BAD_INPUT("addr_out", addr_out(v, m, u, v), ShapeError, "[2, 3]", "[3]"),
      UNDEFINED("addbmm_out", addbmm_out(none, y, batch, other)),
      BAD_INPUT("addbmm_out", addbmm_out(n, y, batch, other), DTypeError, "f32", "[2, 3] i64"),
      UNDEFINED("baddbmm_out", baddbmm_out(none, y, batch, other)),
      BAD_INPUT("baddbmm_out", baddbmm_out(m, y, batch, other), ShapeError, "[2, 2, 4]", "[2, 3]"),
  };
}

BadInputs vector_products() {
  const Tensor none, m = ones({2, 3}), v = ones({3}), u = ones({2}), n = ones({3}, kLong), number = scalar_tensor(1);
  const Tensor b = ones({3}, kBool), square = ones({2, 2});
  return {
      UNDEFINED("dot", dot(none, v)),
      UNDEFINED("dot", dot(v, none)),
      BAD_INPUT("dot", dot(m, v), ShapeError, "a is [2, 3] f32", "rank 1", "flatten()"),
      BAD_INPUT("dot", dot(v, u), ShapeError, "inner sizes differ", "[3] f32", "[2] f32"),
      BAD_INPUT("dot", dot(n, n), DTypeError, "[3] i64", ".to(kFloat)"),
      ON_TWO_DEVICES("dot", dot(v, on_another_device({3}))),
      UNDEFINED("vdot", vdot(none, v)),
      BAD_INPUT("vdot", vdot(v, m), ShapeError, "b is [2, 3] f32", "rank 1"),
      UNDEFINED("inner", inner(none, v)),
      BAD_INPUT("inner", inner(v, u), ShapeError, "last sizes differ", "[3] f32", "[2] f32"),
      UNDEFINED("outer", outer(none, v)),
      BAD_INPUT("outer", outer(m, v), ShapeError, "a is [2, 3] f32", "rank 1"),
      UNDEFINED("ger", ger(v, none)),
      BAD_INPUT("ger", ger(v, m), ShapeError, "b is [2, 3] f32", "rank 1"),
      UNDEFINED("mv", mv(none, v)),
      UNDEFINED("mv", mv(m, none)),
      BAD_INPUT("mv", mv(v, v), ShapeError, "the matrix must have rank 2", "[3] f32"),
      BAD_INPUT("mv", mv(m, u), ShapeError, "inner sizes differ", "[2, 3] f32", "[2] f32"),
      UNDEFINED("linalg_vecdot", linalg_vecdot(none, v)),
      BAD_INPUT("linalg_vecdot", linalg_vecdot(v, u), ShapeError, "[3]", "[2]", "do not broadcast"),
      BAD_INPUT("linalg_vecdot", linalg_vecdot(v, v, 1), IndexError, "dimension 1", "rank 1"),
      BAD_INPUT("linalg_vecdot", linalg_vecdot(number, number), ShapeError, "[] f32", "mul()"),
      BAD_INPUT("linalg_vecdot", linalg_vecdot(v, n), DTypeError, "b is [3] i64"),
      BAD_INPUT("linalg_vecdot", linalg_vecdot(v, ones({3}, kHalf)), DTypeError, "f32", "f16"),
      UNDEFINED("cross", cross(none, v)),
      UNDEFINED("cross", cross(v, none)),
      BAD_INPUT("cross", cross(square, square), ShapeError, "[2, 2] f32", "no dimension of size 3"),
      BAD_INPUT("cross", cross(m, m, 0), ShapeError, "dimension 0", "[2, 3] f32", "size 3"),
      BAD_INPUT("cross", cross(m, v), ShapeError, "[2, 3] f32", "[3] f32", "equal ranks"),
      BAD_INPUT("cross", cross(b, b), DTypeError, "bool"),
      UNDEFINED("linalg_cross", linalg_cross(v, none)),
      BAD_INPUT("linalg_cross", linalg_cross(v, v, 1), IndexError, "dimension 1", "rank 1"),
      BAD_INPUT("linalg_cross", linalg_cross(u, u), ShapeError, "dimension -1", "[2] f32", "size 3"),
      UNDEFINED("kron", kron(none, v)),
      BAD_INPUT("kron", kron(ones({1, 1, 1, 1, 1, 1, 1}), v), ShapeError, "[1, 1, 1, 1, 1, 1, 1]", "ranks above 6"),
  };
}

BadInputs chains() {
  const Tensor none, m = ones({2, 3}), w = ones({3, 4}), v = ones({3}), n = ones({2, 2}, kLong), square = ones({2, 2});
  const Tensor number = scalar_tensor(1), weight = ones({5, 3, 4}), x2 = ones({2, 4});
  return {
      UNDEFINED("tensordot", tensordot(none, m)),
      UNDEFINED("tensordot", tensordot(m, none, {0}, {0})),
      BAD_INPUT("tensordot", tensordot(m, w, {0, 1}, {0}), ShapeError, "dims_a is [0, 1]", "dims_b is [0]"),
      BAD_INPUT("tensordot", tensordot(m, w, {2}, {0}), IndexError, "dimension 2", "rank 2"),
      BAD_INPUT("tensordot", tensordot(m, m, {0, 0}, {0, 1}), IndexError, "twice", "[0, 0]"),
      BAD_INPUT("tensordot", tensordot(m, w, {0}, {0}), ShapeError, "dimension 0", "[2, 3] f32", "[3, 4] f32"),
      BAD_INPUT("tensordot", tensordot(m, w, 3), ShapeError, "dims = 3", "[2, 3] f32"),
      BAD_INPUT("tensordot", tensordot(m, w, -1), ShapeError, "dims = -1"),
      BAD_INPUT("tensordot", tensordot(n, n), DTypeError, "[2, 2] i64"),
      BAD_INPUT("tensordot", tensordot(number, number, {0}, {0}), IndexError, "0-dim"),
      UNDEFINED("chain_matmul", chain_matmul({m, none})),
      BAD_INPUT("chain_matmul", chain_matmul({}), ShapeError, "no matrices"),
      BAD_INPUT("chain_matmul", chain_matmul({m, v}), ShapeError, "rank 2", "[3] f32"),
      BAD_INPUT("chain_matmul", chain_matmul({m, m}), ShapeError, "inner sizes differ", "[2, 3] f32"),
      BAD_INPUT("chain_matmul", chain_matmul({n}), DTypeError, "[2, 2] i64"),
      UNDEFINED("linalg_multi_dot", linalg_multi_dot({none, m})),
      BAD_INPUT("linalg_multi_dot", linalg_multi_dot({m}), ShapeError, "1 tensors", "at least two"),
      BAD_INPUT("linalg_multi_dot", linalg_multi_dot({m, v, w}), ShapeError, "tensor 1", "[3] f32"),
      BAD_INPUT("linalg_multi_dot", linalg_multi_dot({w, m}), ShapeError, "inner sizes differ", "[3, 4] f32"),
      UNDEFINED("matrix_power", matrix_power(none, 2)),
      BAD_INPUT("matrix_power", matrix_power(m, 2), ShapeError, "[2, 3] f32", "square"),
      BAD_INPUT("matrix_power", matrix_power(square, -1), NotImplementedError, "n = -1", "inverse"),
      BAD_INPUT("matrix_power", matrix_power(n, 2), DTypeError, "[2, 2] i64"),
      UNDEFINED("linalg_matrix_power", linalg_matrix_power(none, 2)),
      BAD_INPUT("linalg_matrix_power", linalg_matrix_power(v, 2), ShapeError, "[3] f32", "square"),
      UNDEFINED("bilinear", bilinear(none, x2, weight)),
      UNDEFINED("bilinear", bilinear(m, x2, none)),
      BAD_INPUT("bilinear", bilinear(x2, m, weight), ShapeError, "x1 is [2, 4] f32", "weight is [5, 3, 4] f32"),
      BAD_INPUT("bilinear", bilinear(ones({6, 3}), x2, weight), ShapeError, "[6, 3] f32", "all sizes but the last"),
      BAD_INPUT("bilinear", bilinear(m, x2, weight, v), ShapeError, "bias", "[3] f32", "[5]"),
      BAD_INPUT("bilinear", bilinear(m, x2, ones({5, 3, 4}, kHalf)), DTypeError, "f16"),
  };
}

BadInputs equations() {
  const Tensor none, m = ones({2, 3}), v = ones({3});
  return {
      UNDEFINED("einsum", einsum("i", {none})),
      BAD_INPUT("einsum", einsum("i", {}), StateError, "no operands", "'i'"),
      BAD_INPUT("einsum", einsum("ij", {m, m}), StateError, "'ij' has 1 operands", "2 were given"),
      BAD_INPUT("einsum", einsum("ij,ij", {m}), StateError, "'ij,ij' has more operands than the 1"),
      BAD_INPUT("einsum", einsum("ijk", {m}), ShapeError, "names 3 dimensions of operand 0", "[2, 3] f32"),
      BAD_INPUT("einsum", einsum("...ijk", {m}), ShapeError, "names 3 dimensions of operand 0", "[2, 3] f32"),
      BAD_INPUT("einsum", einsum("i1", {m}), StateError, "contains '1'"),
      BAD_INPUT("einsum", einsum("i.j", {m}), StateError, "contains '.'"),
      BAD_INPUT("einsum", einsum("......", {m}), StateError, "two ellipses"),
      BAD_INPUT("einsum", einsum("ij->ii", {m}), StateError, "'i' twice"),
      BAD_INPUT("einsum", einsum("ij->k", {m}), StateError, "'k', which no operand has"),
      BAD_INPUT("einsum", einsum("ij->i->j", {m}), StateError, "contains '-'"),
      BAD_INPUT("einsum", einsum("ii", {m}), ShapeError, "i has size 3", "[2, 3] f32", "size 2 before"),
      BAD_INPUT("einsum", einsum("ii", {ones({1, 3})}), ShapeError, "'i' has sizes 1 and 3", "diagonal"),
      BAD_INPUT("einsum", einsum("ij,i", {m, v}), ShapeError, "i has size 3 in operand 1", "size 2 before"),
      BAD_INPUT("einsum", einsum("...,...", {ones({2}), v}), ShapeError, "'...'", "size 3", "size 2 before"),
      BAD_INPUT("einsum", einsum("ij,j->i", {m, ones({3}, kHalf)}), DTypeError, "f32", "f16"),
      BAD_INPUT("einsum", einsum("ij,jk->ik", {ones({2, 2}, kLong), ones({2, 2}, kLong)}), DTypeError, "i64"),
  };
}

}  // namespace

BadInputs products_bad_input() {
  BadInputs rows = sums_of_products();
  for (const BadInputs& more : {vector_products(), chains(), equations()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(ProductsErrors, BadInputIsRefused) { expect_refused(products_bad_input()); }

}  // namespace tandem::testing
