// Random calls of products of matrices and vectors, norms and distances. The Python side is differential_products.py.
#include "soak/random_call_ops.h"

#define TANDEM_TWO(NAME) TANDEM_OP(#NAME, NAME(x[0], x[1]))
#define TANDEM_ADDED(NAME) TANDEM_OP(#NAME, NAME(x[0], x[1], x[2], a.n("beta"), a.n("alpha")))

namespace tandem::testing {
namespace {

void products(Ops& ops) {
  TANDEM_TWO(mm);
  TANDEM_TWO(bmm);
  TANDEM_TWO(matmul);
  TANDEM_TWO(mv);
  TANDEM_TWO(dot);
  TANDEM_TWO(vdot);
  TANDEM_TWO(inner);
  TANDEM_TWO(outer);
  TANDEM_TWO(ger);
  TANDEM_TWO(kron);
  TANDEM_ADDED(addmm);
  TANDEM_ADDED(addmv);
  TANDEM_ADDED(addr);
  TANDEM_ADDED(addbmm);
  TANDEM_ADDED(baddbmm);
  TANDEM_OP("linear", linear(x[0], x[1], maybe(x, 2)));
  TANDEM_OP("linear_relu", linear_relu(x[0], x[1], maybe(x, 2)));
  TANDEM_OP("bilinear", bilinear(x[0], x[1], x[2], maybe(x, 3)));
  TANDEM_OP("einsum", einsum(a.text("equation"), x));
  TANDEM_OP("tensordot", tensordot(x[0], x[1], a.list("dims_a"), a.list("dims_b")));
  TANDEM_OP("tensordot.number", tensordot(x[0], x[1], a.i("dims")));
  TANDEM_OP("chain_matmul", chain_matmul(x));
  TANDEM_OP("linalg_multi_dot", linalg_multi_dot(x));
  TANDEM_OP("matrix_power", matrix_power(x[0], a.i("n")));
  TANDEM_OP("linalg_matrix_power", linalg_matrix_power(x[0], a.i("n")));
  TANDEM_OP("linalg_vecdot", linalg_vecdot(x[0], x[1], a.i("dim")));
  TANDEM_OP("cross", cross(x[0], x[1], a.i("dim")));
  TANDEM_OP("linalg_cross", linalg_cross(x[0], x[1], a.i("dim")));
  TANDEM_OP("trace", trace(x[0]));
}

void norms(Ops& ops) {
  TANDEM_OP("norm", norm(x[0], a.n("p"), a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("norm.all", norm(x[0], a.n("p")));
  TANDEM_OP("linalg_vector_norm", linalg_vector_norm(x[0], a.n("p"), a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("linalg_matrix_norm", linalg_matrix_norm(x[0], a.n("p"), a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("linalg_matrix_norm.fro", linalg_matrix_norm(x[0], "fro", a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("linalg_norm", linalg_norm(x[0], a.maybe_n("p"), a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("frobenius_norm", frobenius_norm(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("normalize", normalize(x[0], a.real("p"), a.i("dim"), a.real("eps")));
  TANDEM_OP("renorm", renorm(x[0], a.n("p"), a.i("dim"), a.n("maxnorm")));
}

void distances(Ops& ops) {
  TANDEM_OP("dist", dist(x[0], x[1], a.n("p")));
  TANDEM_OP("cdist", cdist(x[0], x[1], a.real("p"), a.maybe_i("mode")));
  TANDEM_OP("pdist", pdist(x[0], a.real("p")));
  TANDEM_OP("pairwise_distance", pairwise_distance(x[0], x[1], a.real("p"), a.real("eps"), a.flag("keepdim")));
  TANDEM_OP("cosine_similarity", cosine_similarity(x[0], x[1], a.i("dim"), a.real("eps")));
}

}  // namespace

void add_product_ops(Ops& ops) {
  products(ops);
  norms(ops);
  distances(ops);
}

}  // namespace tandem::testing
