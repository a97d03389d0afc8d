// Random calls of ops that move elements or give views. The Python side is differential_geometry.py.
#include "soak/random_call_ops.h"

#define TANDEM_ONE(NAME) TANDEM_OP(#NAME, NAME(x[0]))
#define TANDEM_LIST(NAME) TANDEM_OP(#NAME, NAME(x))

namespace tandem::testing {
namespace {

void views(Ops& ops) {
  TANDEM_OP("view", view(x[0], a.list("sizes")));
  TANDEM_OP("reshape", reshape(x[0], a.list("sizes")));
  TANDEM_OP("flatten", flatten(x[0], a.i("a"), a.i("b")));
  TANDEM_OP("unflatten", unflatten(x[0], a.i("dim"), a.list("sizes")));
  TANDEM_OP("ravel", ravel(x[0]));
  TANDEM_OP("transpose", transpose(x[0], a.i("a"), a.i("b")));
  TANDEM_OP("swapaxes", swapaxes(x[0], a.i("a"), a.i("b")));
  TANDEM_OP("swapdims", swapdims(x[0], a.i("a"), a.i("b")));
  TANDEM_OP("movedim", movedim(x[0], a.list("source"), a.list("destination")));
  TANDEM_OP("moveaxis", moveaxis(x[0], a.list("source"), a.list("destination")));
  TANDEM_OP("permute", permute(x[0], a.list("dims")));
  TANDEM_ONE(t);
  TANDEM_ONE(squeeze);
  TANDEM_OP("squeeze.dim", squeeze(x[0], a.i("dim")));
  TANDEM_OP("squeeze.dims", squeeze(x[0], a.list("dims")));
  TANDEM_OP("unsqueeze", unsqueeze(x[0], a.i("dim")));
  TANDEM_OP("expand", expand(x[0], a.list("sizes")));
  TANDEM_OP("broadcast_to", broadcast_to(x[0], a.list("sizes")));
  TANDEM_OP("select", select(x[0], a.i("dim"), a.i("index")));
  TANDEM_OP("slice", slice(x[0], a.i("dim"), a.maybe_i("start"), a.maybe_i("stop"), a.i("step")));
  TANDEM_OP("narrow", narrow(x[0], a.i("dim"), a.i("start"), a.i("length")));
  TANDEM_OP("narrow_copy", narrow_copy(x[0], a.i("dim"), a.i("start"), a.i("length")));
  TANDEM_OP("as_strided", as_strided(x[0], a.list("sizes"), a.list("strides"), a.i("offset")));
  TANDEM_OP("diagonal", diagonal(x[0], a.i("offset"), a.i("dim1"), a.i("dim2")));
  TANDEM_OP("unfold", unfold(x[0], a.i("dim"), a.i("size"), a.i("step")));
  TANDEM_ONE(atleast_1d);
  TANDEM_ONE(atleast_2d);
  TANDEM_ONE(atleast_3d);
}

void copies(Ops& ops) {
  TANDEM_ONE(clone);
  TANDEM_ONE(contiguous);
  TANDEM_OP("to", to(x[0], *a.dtype()));
  TANDEM_OP("flip", flip(x[0], a.list("dims")));
  TANDEM_ONE(fliplr);
  TANDEM_ONE(flipud);
  TANDEM_OP("roll", roll(x[0], a.list("shifts"), a.list("dims")));
  TANDEM_OP("rot90", rot90(x[0], a.i("k"), a.list("dims")));
  TANDEM_OP("repeat", repeat(x[0], a.list("repeats")));
  TANDEM_OP("tile", tile(x[0], a.list("repeats")));
  TANDEM_OP("repeat_interleave", repeat_interleave(x[0], a.i("repeats"), a.maybe_i("dim")));
  TANDEM_OP("repeat_interleave.tensor", repeat_interleave(x[0], x[1], a.maybe_i("dim")));
  TANDEM_OP("repeat_interleave.counts", repeat_interleave(x[0]));
  TANDEM_OP("tril", tril(x[0], a.i("diagonal")));
  TANDEM_OP("triu", triu(x[0], a.i("diagonal")));
  TANDEM_OP("tril_indices", tril_indices(a.i("rows"), a.i("columns"), a.i("diagonal")));
  TANDEM_OP("triu_indices", triu_indices(a.i("rows"), a.i("columns"), a.i("diagonal")));
  TANDEM_OP("diag", diag(x[0], a.i("diagonal")));
  TANDEM_OP("diagflat", diagflat(x[0], a.i("diagonal")));
  TANDEM_OP("diag_embed", diag_embed(x[0], a.i("offset"), a.i("dim1"), a.i("dim2")));
  TANDEM_OP("diagonal_scatter", diagonal_scatter(x[0], x[1], a.i("offset"), a.i("dim1"), a.i("dim2")));
  TANDEM_OP("select_scatter", select_scatter(x[0], x[1], a.i("dim"), a.i("index")));
  TANDEM_OP("slice_scatter", slice_scatter(x[0], x[1], a.i("dim"), a.maybe_i("start"), a.maybe_i("stop"), a.i("step")));
  TANDEM_OP("as_strided_scatter", as_strided_scatter(x[0], x[1], a.list("sizes"), a.list("strides"), a.i("offset")));
  TANDEM_OP("constant_pad_nd", constant_pad_nd(x[0], a.list("pad"), a.n("value")));
  TANDEM_OP("pad", pad(x[0], a.list("pad"), a.text("mode")));
  TANDEM_OP("pixel_shuffle", pixel_shuffle(x[0], a.i("factor")));
  TANDEM_OP("pixel_unshuffle", pixel_unshuffle(x[0], a.i("factor")));
  TANDEM_OP("channel_shuffle", channel_shuffle(x[0], a.i("groups")));
}

void joins(Ops& ops) {
  TANDEM_OP("cat", cat(x, a.i("dim")));
  TANDEM_OP("concat", concat(x, a.i("dim")));
  TANDEM_OP("concatenate", concatenate(x, a.i("dim")));
  TANDEM_OP("stack", stack(x, a.i("dim")));
  TANDEM_LIST(hstack);
  TANDEM_LIST(vstack);
  TANDEM_LIST(row_stack);
  TANDEM_LIST(dstack);
  TANDEM_LIST(column_stack);
  TANDEM_LIST(block_diag);
  TANDEM_LIST(broadcast_tensors);
  TANDEM_LIST(cartesian_prod);
  TANDEM_OP("meshgrid", meshgrid(x, a.text("indexing")));
  TANDEM_OP("combinations", combinations(x[0], a.i("r"), a.flag("with_replacement")));
}

void splits(Ops& ops) {
  TANDEM_OP("chunk", chunk(x[0], a.i("chunks"), a.i("dim")));
  TANDEM_OP("split", split(x[0], a.i("size"), a.i("dim")));
  TANDEM_OP("split_with_sizes", split_with_sizes(x[0], a.list("sizes"), a.i("dim")));
  TANDEM_OP("tensor_split", tensor_split(x[0], a.i("sections"), a.i("dim")));
  TANDEM_OP("tensor_split.indices", tensor_split(x[0], a.list("indices"), a.i("dim")));
  TANDEM_OP("tensor_split.tensor", tensor_split(x[0], x[1].to(kCPU), a.i("dim")));
  TANDEM_OP("hsplit", hsplit(x[0], a.list("indices")));
  TANDEM_OP("vsplit", vsplit(x[0], a.list("indices")));
  TANDEM_OP("dsplit", dsplit(x[0], a.list("indices")));
  TANDEM_OP("unbind", unbind(x[0], a.i("dim")));
}

}  // namespace

void add_geometry_ops(Ops& ops) {
  views(ops);
  copies(ops);
  joins(ops);
  splits(ops);
}

}  // namespace tandem::testing
