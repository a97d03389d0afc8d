// Random calls of ops that read or write elements chosen by indices or masks. The Python side is
// differential_indexing.py; the forms that write in place are in random_in_place_ops.cpp.
#include "soak/random_call_ops.h"

namespace tandem::testing {

namespace {

/// Where each bag begins, from the sizes of the bags.
Tensor starts(const Tensor& sizes) { return to(cumsum(sizes, 0), sizes.dtype()) - sizes; }

}  // namespace

void add_indexing_ops(Ops& ops) {
  TANDEM_OP("embedding", embedding(x[0], x[1], a.i("padding"), a.flag("by_frequency")));
  TANDEM_OP("embedding_bag", embedding_bag(x[0], x[1], starts(x[2]), static_cast<BagMode>(a.i("mode")), maybe(x, 3),
                                           false, a.i("padding"), a.flag("by_frequency")));
  TANDEM_OP("gather", gather(x[0], a.i("dim"), x[1]));
  TANDEM_OP("index_select", index_select(x[0], a.i("dim"), x[1]));
  TANDEM_OP("take", take(x[0], x[1]));
  TANDEM_OP("take_along_dim", take_along_dim(x[0], x[1], a.maybe_i("dim")));
  TANDEM_OP("index", index(x[0], indices(x, 1, a.list("at"))));
  TANDEM_OP("masked_select", masked_select(x[0], x[1]));
  TANDEM_OP("nonzero", nonzero(x[0]));
  TANDEM_OP("argwhere", argwhere(x[0]));
  TANDEM_OP("where.indices", where(x[0]));
  TANDEM_OP("one_hot", one_hot(x[0], a.i("classes")));

  TANDEM_OP("scatter_add", scatter_add(x[0], a.i("dim"), x[1], x[2]));
  TANDEM_OP("scatter", scatter(x[0], a.i("dim"), x[1], x[2]));
  TANDEM_OP("scatter.number", scatter(x[0], a.i("dim"), x[1], a.n("number")));
  TANDEM_OP("scatter.reduce", scatter(x[0], a.i("dim"), x[1], x[2], a.text("reduce")));
  TANDEM_OP("scatter.reduce_number", scatter(x[0], a.i("dim"), x[1], a.n("number"), a.text("reduce")));
  TANDEM_OP("scatter_reduce", scatter_reduce(x[0], a.i("dim"), x[1], x[2], a.text("reduce"), a.flag("include_self")));
  TANDEM_OP("index_add", index_add(x[0], a.i("dim"), x[1], x[2], a.n("alpha")));
  TANDEM_OP("index_copy", index_copy(x[0], a.i("dim"), x[1], x[2]));
  TANDEM_OP("index_fill", index_fill(x[0], a.i("dim"), x[1], a.n("number")));
  TANDEM_OP("index_fill.tensor", index_fill(x[0], a.i("dim"), x[1], x[2]));
  TANDEM_OP("index_reduce", index_reduce(x[0], a.i("dim"), x[1], x[2], a.text("reduce"), a.flag("include_self")));
  TANDEM_OP("index_put", index_put(x[0], indices(x, 2, a.list("at")), x[1], a.flag("accumulate")));
  TANDEM_OP("index_put.number", index_put(x[0], indices(x, 1, a.list("at")), a.n("number"), a.flag("accumulate")));
  TANDEM_OP("put", put(x[0], x[1], x[2], a.flag("accumulate")));
  TANDEM_OP("masked_fill", masked_fill(x[0], x[1], a.n("number")));
  TANDEM_OP("masked_fill.tensor", masked_fill(x[0], x[1], x[2]));
  TANDEM_OP("masked_scatter", masked_scatter(x[0], x[1], x[2]));
}

}  // namespace tandem::testing
