// Random calls of reductions, statistics, scans, sorting and search. The Python side is differential_reductions.py and
// differential_sorting.py.
#include "soak/random_call_ops.h"

#define TANDEM_ONE(NAME) TANDEM_OP(#NAME, NAME(x[0]))

namespace tandem::testing {
namespace {

Out results_of(std::tuple<Tensor, std::vector<Tensor>> counts) {
  Out all = std::get<1>(counts);
  all.insert(all.begin(), std::get<0>(counts));
  return all;
}

void reductions(Ops& ops) {
  TANDEM_OP("sum", sum(x[0], a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("sum.all", sum(x[0], a.dtype()));
  TANDEM_OP("sum_to_size", sum_to_size(x[0], a.list("sizes")));
  TANDEM_OP("nansum", nansum(x[0], a.list("dims"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("mean", mean(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("mean.all", mean(x[0], a.dtype()));
  TANDEM_OP("nanmean", nanmean(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("prod", prod(x[0], a.i("dim"), a.flag("keepdim"), a.dtype()));
  TANDEM_OP("prod.all", prod(x[0], a.dtype()));
  TANDEM_OP("var", var(x[0], a.list("dims"), a.i("correction"), a.flag("keepdim")));
  TANDEM_OP("var.all", var(x[0]));
  TANDEM_OP("std", tandem::std(x[0], a.list("dims"), a.i("correction"), a.flag("keepdim")));
  TANDEM_OP("std.all", tandem::std(x[0]));
  TANDEM_OP("var_mean", var_mean(x[0], a.list("dims"), a.i("correction"), a.flag("keepdim")));
  TANDEM_OP("std_mean", std_mean(x[0], a.list("dims"), a.i("correction"), a.flag("keepdim")));
  TANDEM_OP("logsumexp", logsumexp(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("softmax", softmax(x[0], a.i("dim"), a.dtype()));
  TANDEM_OP("softmin", softmin(x[0], a.i("dim"), a.dtype()));
  TANDEM_OP("log_softmax", log_softmax(x[0], a.i("dim"), a.dtype()));
  TANDEM_OP("cov", cov(x[0], a.i("correction")));
  TANDEM_OP("cov.weights", cov(x[0], a.i("correction"), x[1], x[2]));
  TANDEM_ONE(corrcoef);
  TANDEM_OP("count_nonzero", count_nonzero(x[0], a.list("dims")));
  TANDEM_ONE(any);
  TANDEM_ONE(all);
  TANDEM_OP("any.dims", any(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("all.dims", all(x[0], a.list("dims"), a.flag("keepdim")));
}

void extremes(Ops& ops) {
  TANDEM_OP("amax", amax(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("amin", amin(x[0], a.list("dims"), a.flag("keepdim")));
  TANDEM_OP("aminmax", aminmax(x[0], a.maybe_i("dim"), a.flag("keepdim")));
  TANDEM_OP("max", max(x[0]));
  TANDEM_OP("min", min(x[0]));
  TANDEM_OP("max.dim", max(x[0], a.i("dim"), a.flag("keepdim")));
  TANDEM_OP("min.dim", min(x[0], a.i("dim"), a.flag("keepdim")));
  TANDEM_OP("argmax", argmax(x[0], a.maybe_i("dim"), a.flag("keepdim")));
  TANDEM_OP("argmin", argmin(x[0], a.maybe_i("dim"), a.flag("keepdim")));
}

void scans(Ops& ops) {
  TANDEM_OP("cumsum", cumsum(x[0], a.i("dim"), a.dtype()));
  TANDEM_OP("cumprod", cumprod(x[0], a.i("dim"), a.dtype()));
  TANDEM_OP("cummax", cummax(x[0], a.i("dim")));
  TANDEM_OP("cummin", cummin(x[0], a.i("dim")));
  TANDEM_OP("logcumsumexp", logcumsumexp(x[0], a.i("dim")));
  TANDEM_OP("diff", diff(x[0], a.i("n"), a.i("dim"), maybe(x, 1), maybe(x, 2)));
  TANDEM_OP("gradient", gradient(x[0], a.maybe_n("number"), a.maybe_i("dim"), a.i("edge_order")));
  TANDEM_OP("gradient.points", gradient(x[0], {x[1]}, a.i("dim"), a.i("edge_order")));
  TANDEM_OP("trapezoid", trapezoid(x[0], x[1], a.i("dim")));
  TANDEM_OP("trapezoid.number", trapezoid(x[0], a.n("number"), a.i("dim")));
  TANDEM_OP("cumulative_trapezoid", cumulative_trapezoid(x[0], x[1], a.i("dim")));
  TANDEM_OP("cumulative_trapezoid.number", cumulative_trapezoid(x[0], a.n("number"), a.i("dim")));
}

void sorting(Ops& ops) {
  TANDEM_OP("sort", sort(x[0], a.i("dim"), a.flag("descending")));
  TANDEM_OP("sort.stable", sort(x[0], true, a.i("dim"), a.flag("descending")));
  TANDEM_OP("argsort", argsort(x[0], a.i("dim"), a.flag("descending")));
  TANDEM_ONE(msort);
  TANDEM_OP("topk", topk(x[0], a.i("k"), a.i("dim"), a.flag("largest"), true));
  TANDEM_OP("kthvalue", kthvalue(x[0], a.i("k"), a.i("dim"), a.flag("keepdim")));
  TANDEM_ONE(median);
  TANDEM_ONE(nanmedian);
  TANDEM_OP("median.dim", median(x[0], a.i("dim"), a.flag("keepdim")));
  TANDEM_OP("nanmedian.dim", nanmedian(x[0], a.i("dim"), a.flag("keepdim")));
  TANDEM_OP("mode", mode(x[0], a.i("dim"), a.flag("keepdim")));
  TANDEM_OP("quantile", quantile(x[0], x[1], a.maybe_i("dim"), a.flag("keepdim"), a.text("interpolation")));
  TANDEM_OP("quantile.number",
            quantile(x[0], a.real("q"), a.maybe_i("dim"), a.flag("keepdim"), a.text("interpolation")));
  TANDEM_OP("nanquantile", nanquantile(x[0], x[1], a.maybe_i("dim"), a.flag("keepdim"), a.text("interpolation")));
  TANDEM_OP("_unique", _unique(x[0], true, a.flag("inverse")));
  TANDEM_OP("_unique2", _unique2(x[0], true, a.flag("inverse"), a.flag("counts")));
  TANDEM_OP("unique_dim", unique_dim(x[0], a.i("dim"), true, a.flag("inverse"), a.flag("counts")));
  TANDEM_OP("unique_consecutive", unique_consecutive(x[0], a.flag("inverse"), a.flag("counts"), a.maybe_i("dim")));
}

void search(Ops& ops) {
  TANDEM_OP("isin", isin(x[0], x[1], false, a.flag("invert")));
  TANDEM_OP("isin.number", isin(x[0], a.n("number"), false, a.flag("invert")));
  TANDEM_OP("isin.of_number", isin(a.n("number"), x[0], false, a.flag("invert")));
  TANDEM_OP("vander", vander(x[0], a.maybe_i("n"), a.flag("increasing")));
  TANDEM_OP("linalg_vander", linalg_vander(x[0], a.maybe_i("n")));
  TANDEM_OP("searchsorted", searchsorted(x[0], x[1], a.flag("int32"), a.flag("right"), {}, maybe(x, 2)));
  TANDEM_OP("searchsorted.number", searchsorted(x[0], a.n("number"), a.flag("int32"), a.flag("right")));
  TANDEM_OP("bucketize", bucketize(x[0], x[1], a.flag("int32"), a.flag("right")));
  TANDEM_OP("bucketize.number", bucketize(a.n("number"), x[0], a.flag("int32"), a.flag("right")));
  TANDEM_OP("histc", histc(x[0], a.i("bins"), a.n("min"), a.n("max")));
  TANDEM_OP("histogram", histogram(x[0], x[1], maybe(x, 2), a.flag("density")));
  TANDEM_OP("histogram.bins", histogram(x[0], a.i("bins"), {}, maybe(x, 1), a.flag("density")));
  TANDEM_OP("histogramdd", results_of(histogramdd(x[0], a.list("bins"), {}, maybe(x, 1), a.flag("density"))));
  TANDEM_OP("bincount", bincount(x[0], maybe(x, 1), a.i("minlength")));
}

}  // namespace

void add_everyday_ops(Ops& ops) {
  reductions(ops);
  extremes(ops);
  scans(ops);
  sorting(ops);
  search(ops);
}

}  // namespace tandem::testing
