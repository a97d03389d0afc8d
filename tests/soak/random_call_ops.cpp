// The ops of random calls, by name; their arguments have names too.
#include <functional>
#include <map>

#include "soak/random_calls.h"
#include "tandem/ops/ops.h"

namespace tandem::testing {
namespace {

using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

/// The arguments of a call by name.
class Args {
 public:
  explicit Args(const nlohmann::json& values) : values_(values) {}
  int64_t i(const char* name) const { return values_.at(name); }
  bool flag(const char* name) const { return values_.at(name); }
  std::string text(const char* name) const { return values_.at(name); }
  double real(const char* name) const { return values_.at(name); }
  std::vector<int64_t> list(const char* name) const { return values_.at(name); }
  std::optional<int64_t> maybe(const char* name) const {
    return values_.at(name).is_null() ? std::optional<int64_t>() : i(name);
  }
  Scalar n(const char* name) const {
    const nlohmann::json& v = values_.at(name);
    if (v.is_string()) return std::stod(v.get<std::string>());  // "inf"
    if (v.is_number_integer()) return v.get<int64_t>();
    return v.get<double>();
  }
  std::optional<Scalar> maybe_n(const char* name) const {
    return values_.at(name).is_null() ? std::optional<Scalar>() : n(name);
  }
  std::optional<DType> dtype() const {
    if (!values_.contains("dtype")) return {};
    for (int d = 0; d < kNumDTypes; ++d) {
      if (name(static_cast<DType>(d)) == text("dtype")) return static_cast<DType>(d);
    }
    throw std::out_of_range(text("dtype"));
  }
  LossReduction reduction() const {
    const std::string r = text("reduction");
    return r == "none" ? LossReduction::None : r == "mean" ? LossReduction::Mean : LossReduction::Sum;
  }

 private:
  const nlohmann::json& values_;
};

using Run = std::function<Out(In, const Args&)>;
using Ops = std::map<std::string, Run>;
Out both(std::tuple<Tensor, Tensor> pair) { return {std::get<0>(pair), std::get<1>(pair)}; }
/// A copy to write in place, because a leaf that requires grad must not be written.
Tensor written(const Tensor& x) { return x.requires_grad() ? x.clone() : x; }

// One op per line.
// clang-format off
#define TANDEM_ONE(NAME) ops[#NAME] = [](In x, const Args&) -> Out { return {NAME(x[0])}; };
#define TANDEM_UNARY_IN_PLACE(NAME) ops[#NAME] = [](In x, const Args&) -> Out { return {written(x[0]).NAME()}; };
#define TANDEM_BINARY(NAME) ops[#NAME] = [](In x, const Args&) -> Out { return {NAME(x[0], x[1])}; };
#define TANDEM_NUMBER(NAME) \
  ops[#NAME "_number"] = [](In x, const Args& a) -> Out { return {NAME(x[0], a.n("number"))}; };
#define TANDEM_OP(NAME, ...) ops[NAME] = [](In x, [[maybe_unused]] const Args& a) -> Out { return __VA_ARGS__; };

void elementwise(Ops& ops) {
#define TANDEM_UNARY_IF(CONDITION, NAME, FORMULA)
#define TANDEM_UNARY_OP(NAME, SAVED, DERIVATIVE) TANDEM_ONE(NAME)
#include "tandem/math/unary.inc"
  TANDEM_ONE(square) TANDEM_ONE(softplus) TANDEM_ONE(any)
  TANDEM_ONE(all) TANDEM_UNARY_IN_PLACE(neg_) TANDEM_UNARY_IN_PLACE(abs_) TANDEM_UNARY_IN_PLACE(reciprocal_)
  TANDEM_UNARY_IN_PLACE(sqrt_) TANDEM_UNARY_IN_PLACE(rsqrt_) TANDEM_UNARY_IN_PLACE(exp_) TANDEM_UNARY_IN_PLACE(log_)
  TANDEM_UNARY_IN_PLACE(relu_) TANDEM_UNARY_IN_PLACE(sigmoid_) TANDEM_UNARY_IN_PLACE(tanh_)
  TANDEM_UNARY_IN_PLACE(zero_) TANDEM_BINARY(mul) TANDEM_BINARY(div) TANDEM_BINARY(pow) TANDEM_BINARY(atan2)
  TANDEM_BINARY(maximum) TANDEM_BINARY(minimum) TANDEM_BINARY(eq) TANDEM_BINARY(ne) TANDEM_BINARY(lt)
  TANDEM_BINARY(le) TANDEM_BINARY(gt) TANDEM_BINARY(ge) TANDEM_BINARY(logical_and) TANDEM_BINARY(logical_or)
  TANDEM_BINARY(logical_xor) TANDEM_BINARY(mm) TANDEM_BINARY(bmm) TANDEM_BINARY(matmul) TANDEM_BINARY(embedding)
  TANDEM_NUMBER(add) TANDEM_NUMBER(sub) TANDEM_NUMBER(rsub) TANDEM_NUMBER(mul) TANDEM_NUMBER(div) TANDEM_NUMBER(pow)
  TANDEM_NUMBER(eq) TANDEM_NUMBER(ne) TANDEM_NUMBER(lt) TANDEM_NUMBER(le) TANDEM_NUMBER(gt) TANDEM_NUMBER(ge)
  TANDEM_OP("rpow_number", {pow(a.n("number"), x[0])})
                                      TANDEM_OP("gelu", {gelu(x[0], a.text("approximate"))})
                                          TANDEM_OP("add", {add(x[0], x[1], a.n("alpha"))})
                                              TANDEM_OP("sub", {sub(x[0], x[1], a.n("alpha"))})
                                                  TANDEM_OP("clamp", {clamp(x[0], a.maybe_n("min"), a.maybe_n("max"))})
                                                      TANDEM_OP("where", {where(x[0], x[1], x[2])}) TANDEM_OP(
                                                          "add_", {written(x[0]).add_(x[1], 2)})
                                                          TANDEM_OP("sub_", {written(x[0]).sub_(x[1])}) TANDEM_OP(
                                                              "mul_", {written(x[0]).mul_(x[1])})
                                                              TANDEM_OP("div_", {written(x[0]).div_(x[1])}) TANDEM_OP(
                                                                  "pow_", {written(x[0]).pow_(x[1])})
                                                                  TANDEM_OP("copy_", {written(x[0]).copy_(x[1])})
                                                                      TANDEM_OP("fill_",
                                                                                {written(x[0]).fill_(a.n("number"))})
                                                                          TANDEM_OP("addcmul_",
                                                                                    {written(x[0]).addcmul_(
                                                                                        x[1], x[2], a.n("number"))})
}

void reductions(Ops& ops) {
  TANDEM_OP("cumsum", {cumsum(x[0], a.i("dim"), a.dtype())})
  TANDEM_OP("sum", {sum(x[0], a.list("dims"), a.flag("keepdim"), a.dtype())})
  TANDEM_OP("mean", {mean(x[0], a.list("dims"), a.flag("keepdim"))})
  TANDEM_OP("var", {var(x[0], a.list("dims"), a.i("correction"), a.flag("keepdim"))})
  TANDEM_OP("norm", {norm(x[0], a.n("p"), a.list("dims"), a.flag("keepdim"))})
  TANDEM_OP("max_dim", both(max(x[0], a.i("dim"), a.flag("keepdim"))))
  TANDEM_OP("min_dim", both(min(x[0], a.i("dim"), a.flag("keepdim"))))
  TANDEM_OP("max_all", {max(x[0])})
  TANDEM_OP("min_all", {min(x[0])})
  TANDEM_OP("argmax", {argmax(x[0], a.i("dim"), a.flag("keepdim"))})
  TANDEM_OP("argmin", {argmin(x[0], a.i("dim"), a.flag("keepdim"))})
  TANDEM_OP("softmax", {softmax(x[0], a.i("dim"), a.dtype())})
  TANDEM_OP("log_softmax", {log_softmax(x[0], a.i("dim"), a.dtype())})
}

void geometry(Ops& ops) {
  TANDEM_OP("view", {view(x[0], a.list("sizes"))})
  TANDEM_OP("reshape", {reshape(x[0], a.list("sizes"))})
  TANDEM_OP("flatten", {flatten(x[0], a.i("a"), a.i("b"))})
  TANDEM_OP("transpose", {transpose(x[0], a.i("a"), a.i("b"))})
  TANDEM_OP("permute", {permute(x[0], a.list("dims"))})
  TANDEM_OP("squeeze", {squeeze(x[0])})
  TANDEM_OP("squeeze_dim", {squeeze(x[0], a.i("dim"))})
  TANDEM_OP("unsqueeze", {unsqueeze(x[0], a.i("dim"))})
  TANDEM_OP("expand", {expand(x[0], a.list("sizes"))})
  TANDEM_OP("select", {select(x[0], a.i("dim"), a.i("index"))})
  TANDEM_OP("slice", {slice(x[0], a.i("dim"), a.maybe("start"), a.maybe("stop"), a.i("step"))})
  TANDEM_OP("as_strided", {as_strided(x[0], a.list("sizes"), a.list("strides"), a.i("offset"))})
  TANDEM_OP("clone", {clone(x[0])})
  TANDEM_OP("contiguous", {contiguous(x[0])})
  TANDEM_OP("to", {to(x[0], *a.dtype())})
  TANDEM_OP("cat", {cat(x, a.i("dim"))})
  TANDEM_OP("stack", {stack(x, a.i("dim"))})
  TANDEM_OP("chunk", chunk(x[0], a.i("chunks"), a.i("dim")))
}

void layers(Ops& ops) {
  TANDEM_OP("addmm", {addmm(x[2], x[0], x[1], a.n("beta"), a.n("alpha"))})
  TANDEM_OP("linear", {linear(x[0], x[1], x.size() > 2 ? x[2] : Tensor())})
  TANDEM_OP("conv2d", {conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), {a.i("stride")}, {a.i("padding")},
                              {a.i("dilation")}, a.i("groups"))})
  TANDEM_OP("max_pool2d",
            {max_pool2d(x[0], {a.i("kernel")}, {a.i("stride")}, {a.i("padding")}, {a.i("dilation")}, a.flag("ceil"))})
  TANDEM_OP("avg_pool2d",
            {avg_pool2d(x[0], {a.i("kernel")}, {a.i("stride")}, {a.i("padding")}, a.flag("ceil"), a.flag("include"))})
  TANDEM_OP("adaptive_avg_pool2d", {adaptive_avg_pool2d(x[0], a.list("sizes"))})
  TANDEM_OP("layer_norm", {layer_norm(x[0], a.list("sizes"), x.size() > 1 ? x[1] : Tensor(),
                                      x.size() > 1 ? x[2] : Tensor(), a.real("eps"))})
  TANDEM_OP("batch_norm", {batch_norm(x[0], x[1], x[2], {}, {}, true, 0.1, a.real("eps"))})
  TANDEM_OP("gather", {gather(x[0], a.i("dim"), x[1])})
  TANDEM_OP("scatter_add", {scatter_add(x[0], a.i("dim"), x[1], x[2])})
  TANDEM_OP("index_select", {index_select(x[0], a.i("dim"), x[1])})
  TANDEM_OP("cross_entropy", {cross_entropy(x[0], x[1], {}, a.reduction(), -100, a.real("smoothing"))})
  TANDEM_OP("nll_loss", {nll_loss(x[0], x[1], {}, a.reduction())})
  TANDEM_OP("mse_loss", {mse_loss(x[0], x[1], a.reduction())})
  TANDEM_OP("binary_cross_entropy_with_logits", {binary_cross_entropy_with_logits(x[0], x[1], {}, {}, a.reduction())})
}
// clang-format on

}  // namespace

std::vector<Tensor> run_op(const std::string& op, const std::vector<Tensor>& x, const nlohmann::json& args) {
  static const Ops ops = [] {
    Ops all;
    elementwise(all);
    reductions(all);
    geometry(all);
    layers(all);
    return all;
  }();
  return ops.at(op)(x, Args(args));
}

}  // namespace tandem::testing
