// Random calls of ops that write their first input. The Python side is differential_in_place.py.
#include <concepts>

#include "soak/random_call_ops.h"
#include "tandem/ops/activation_in_place.h"

#define TANDEM_IN_PLACE(NAME) TANDEM_OP(#NAME "_", written(x[0]).NAME##_())

namespace tandem::testing {
namespace {

/// The second operand of an in-place method: a tensor or a number.
template <class T>
decltype(auto) second(In x, const Args& a) {
  if constexpr (std::same_as<T, Scalar>) {
    return a.n("number");
  } else {
    return x[1];
  }
}
template <class T>
std::string form() {
  return std::same_as<T, Scalar> ? ".number" : "";
}

/// The methods of tensor/method_lists.inc.
void listed(Ops& ops) {
#define TANDEM_UNARY_METHOD(NAME) TANDEM_IN_PLACE(NAME);
#define TANDEM_UNARY_IN_PLACE_METHOD(NAME) TANDEM_IN_PLACE(NAME);
#define TANDEM_BINARY_METHOD(NAME, TYPE) TANDEM_OP(#NAME "_" + form<TYPE>(), written(x[0]).NAME##_(second<TYPE>(x, a)));
#define TANDEM_BINARY_IN_PLACE_METHOD TANDEM_BINARY_METHOD
#include "tandem/tensor/method_lists.inc"
}

void arithmetic(Ops& ops) {
  TANDEM_IN_PLACE(neg);
  TANDEM_IN_PLACE(abs);
  TANDEM_IN_PLACE(reciprocal);
  TANDEM_IN_PLACE(sqrt);
  TANDEM_IN_PLACE(rsqrt);
  TANDEM_IN_PLACE(exp);
  TANDEM_IN_PLACE(log);
  TANDEM_IN_PLACE(relu);
  TANDEM_IN_PLACE(sigmoid);
  TANDEM_IN_PLACE(tanh);
  TANDEM_IN_PLACE(zero);
  TANDEM_OP("fill_", written(x[0]).fill_(a.n("number")));
  TANDEM_OP("copy_", written(x[0]).copy_(x[1]));
  TANDEM_OP("add_", written(x[0]).add_(x[1], 2));
  TANDEM_OP("sub_", written(x[0]).sub_(x[1]));
  TANDEM_OP("mul_", written(x[0]).mul_(x[1]));
  TANDEM_OP("div_", written(x[0]).div_(x[1]));
  TANDEM_OP("div_.rounded", written(x[0]).div_(x[1], a.maybe_text("rounding_mode")));
  TANDEM_OP("pow_", written(x[0]).pow_(x[1]));
  TANDEM_OP("clamp_", written(x[0]).clamp_(a.maybe_n("min"), a.maybe_n("max")));
  TANDEM_OP("logit_", written(x[0]).logit_(a.maybe_real("eps")));
  TANDEM_OP("round_.decimals", written(x[0]).round_(a.i("decimals")));
  TANDEM_OP("nan_to_num_",
            written(x[0]).nan_to_num_(a.maybe_real("nan"), a.maybe_real("posinf"), a.maybe_real("neginf")));
  TANDEM_OP("lerp_", written(x[0]).lerp_(x[1], x[2]));
  TANDEM_OP("addcmul_", written(x[0]).addcmul_(x[1], x[2], a.n("number")));
  TANDEM_OP("addcdiv_", written(x[0]).addcdiv_(x[1], x[2], a.n("number")));
  TANDEM_OP("cumsum_", written(x[0]).cumsum_(a.i("dim")));
  TANDEM_OP("cumprod_", written(x[0]).cumprod_(a.i("dim")));
  TANDEM_OP("tril_", written(x[0]).tril_(a.i("diagonal")));
  TANDEM_OP("triu_", written(x[0]).triu_(a.i("diagonal")));
  TANDEM_OP("fill_diagonal_", written(x[0]).fill_diagonal_(a.n("number"), a.flag("wrap")));
  TANDEM_OP("embedding_renorm_", embedding_renorm_(written(x[0]), x[1], a.n("maxnorm"), a.n("p")));
  TANDEM_OP("renorm_", written(x[0]).renorm_(a.n("p"), a.i("dim"), a.n("maxnorm")));
}

void activations_in_place(Ops& ops) {
  TANDEM_OP("silu_", silu_(written(x[0])));
  TANDEM_OP("mish_", mish_(written(x[0])));
  TANDEM_OP("selu_", selu_(written(x[0])));
  TANDEM_OP("relu6_", relu6_(written(x[0])));
  TANDEM_OP("hardsigmoid_", hardsigmoid_(written(x[0])));
  TANDEM_OP("hardswish_", hardswish_(written(x[0])));
  TANDEM_OP("gelu_", gelu_(written(x[0]), a.text("approximate")));
  TANDEM_OP("elu_", elu_(written(x[0]), a.n("alpha"), a.n("scale"), a.n("input_scale")));
  TANDEM_OP("celu_", celu_(written(x[0]), a.n("alpha")));
  TANDEM_OP("leaky_relu_", leaky_relu_(written(x[0]), a.n("slope")));
  TANDEM_OP("rrelu_", rrelu_(written(x[0]), a.n("lower"), a.n("upper"), false));
  TANDEM_OP("hardtanh_", hardtanh_(written(x[0]), a.n("min"), a.n("max")));
  TANDEM_OP("threshold_", threshold_(written(x[0]), a.n("threshold"), a.n("value")));
}

void products_in_place(Ops& ops) {
  TANDEM_OP("addmm_", written(x[0]).addmm_(x[1], x[2], a.n("beta"), a.n("alpha")));
  TANDEM_OP("addmv_", written(x[0]).addmv_(x[1], x[2], a.n("beta"), a.n("alpha")));
  TANDEM_OP("addr_", written(x[0]).addr_(x[1], x[2], a.n("beta"), a.n("alpha")));
  TANDEM_OP("addbmm_", written(x[0]).addbmm_(x[1], x[2], a.n("beta"), a.n("alpha")));
  TANDEM_OP("baddbmm_", written(x[0]).baddbmm_(x[1], x[2], a.n("beta"), a.n("alpha")));
}

void indexing(Ops& ops) {
  TANDEM_OP("scatter_add_", written(x[0]).scatter_add_(a.i("dim"), x[1], x[2]));
  TANDEM_OP("scatter_", written(x[0]).scatter_(a.i("dim"), x[1], x[2]));
  TANDEM_OP("scatter_.number", written(x[0]).scatter_(a.i("dim"), x[1], a.n("number")));
  TANDEM_OP("scatter_.reduce", written(x[0]).scatter_(a.i("dim"), x[1], x[2], a.text("reduce")));
  TANDEM_OP("scatter_.reduce_number", written(x[0]).scatter_(a.i("dim"), x[1], a.n("number"), a.text("reduce")));
  TANDEM_OP("scatter_reduce_",
            written(x[0]).scatter_reduce_(a.i("dim"), x[1], x[2], a.text("reduce"), a.flag("include_self")));
  TANDEM_OP("index_add_", written(x[0]).index_add_(a.i("dim"), x[1], x[2], a.n("alpha")));
  TANDEM_OP("index_copy_", written(x[0]).index_copy_(a.i("dim"), x[1], x[2]));
  TANDEM_OP("index_fill_", written(x[0]).index_fill_(a.i("dim"), x[1], a.n("number")));
  TANDEM_OP("index_reduce_",
            written(x[0]).index_reduce_(a.i("dim"), x[1], x[2], a.text("reduce"), a.flag("include_self")));
  TANDEM_OP("masked_fill_", written(x[0]).masked_fill_(x[1], a.n("number")));
  TANDEM_OP("masked_scatter_", written(x[0]).masked_scatter_(x[1], x[2]));
  TANDEM_OP("put_", written(x[0]).put_(x[1], x[2], a.flag("accumulate")));
  TANDEM_OP("index_put_", index_put_(written(x[0]), indices(x, 2, a.list("at")), x[1], a.flag("accumulate")));
}

}  // namespace

void add_in_place_ops(Ops& ops) {
  listed(ops);
  arithmetic(ops);
  activations_in_place(ops);
  products_in_place(ops);
  indexing(ops);
}

}  // namespace tandem::testing
