#include "src/amp/fp8/products.h"

#include "src/amp/fp8/blocks.h"
#include "tandem/amp/cast_cache.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/autograd/observer.h"
#include "tandem/base/check.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::amp::detail {
namespace {

/// The dimension of a matrix along which numbers share the scale of a block.
int64_t dim_of(SumOver over) { return over == SumOver::columns ? -1 : -2; }
SumOver other(SumOver over) { return over == SumOver::columns ? SumOver::rows : SumOver::columns; }

/// Whether a recipe rounds a tensor with this role to the same codes for both dimensions.
bool rounds_once(const Fp8Recipe& recipe, Fp8Role role) {
  if (std::holds_alternative<MXFP8BlockScaling>(recipe)) return false;
  return role == Fp8Role::weight || !std::holds_alternative<Float8BlockScaling>(recipe);
}

bool is_low_or_f32(const Tensor& x) { return x.dtype() == kFloat || is_reduced_floating_point(x.dtype()); }

/// A transposed view of a matrix. Not an op, so that observers do not see it.
Tensor transposed(const Tensor& x) {
  return make_view(x, {x.size(1), x.size(0)}, {x.stride(1), x.stride(0)}, x.storage_offset());
}
Fp8Tensor transposed(const Fp8Tensor& x) {
  Fp8Tensor y = x;
  y.codes = transposed(x.codes);
  if (x.scales.rows == 0) return y;
  y.scales.inverse = transposed(x.scales.inverse);
  std::swap(y.scales.rows, y.scales.columns);
  return y;
}

/// activation(a b + bias) in `dtype`.
Tensor multiply(const Fp8Tensor& a, const Fp8Tensor& b, DType dtype, const Tensor& bias = {},
                Activation activation = Activation::none) {
  Tensor y = empty({a.codes.size(0), b.codes.size(1)}, a.codes.options().dtype(dtype));
  backend(y).gemm({.d = y,
                   .a = a.codes,
                   .b = b.codes,
                   .bias = bias,
                   .activation = activation,
                   .scales_a = a.scales,
                   .scales_b = b.scales});
  return y;
}

}  // namespace

Fp8Products::Fp8Products(DeviceType type, const Fp8Recipe& recipe, std::shared_ptr<DelayedIteration> iteration,
                         bool calibrates)
    : type_(type), recipe_(recipe), iteration_(std::move(iteration)), calibrates_(calibrates) {
  for (const SumOver over : {SumOver::rows, SumOver::columns}) {
    const bool by_rows = over == SumOver::rows && !rounds_once(recipe_, Fp8Role::weight);
    names_[static_cast<size_t>(over)] = fmt::format("{}{}", to_string(recipe_), by_rows ? ", by rows" : "");
  }
}

bool Fp8Products::takes(const WeightProduct& p) const {
  const TensorImpl& weight = p.weight.impl();
  const bool is_weight =
      !weight.is_view && !weight.is_inference && (weight.is_parameter || (weight.requires_grad && !weight.has_history));
  if (!is_weight || !thread_state().autocast[static_cast<size_t>(type_)].enabled || p.weight.device().type() != type_ ||
      p.x.device() != p.weight.device() || !is_low_or_f32(p.x) || !is_low_or_f32(p.weight) ||
      (p.bias.defined() && !is_low_or_f32(p.bias)) || p.x.numel() == 0 || p.weight.numel() == 0 ||
      tandem::amp::detail::current_policy(p.row) != Cast::lower) {
    return false;
  }
  const Weight kept = find_weight_float8(p.weight);
  if (kept && kept->excluded) return false;
  if (calibrates_) calibrate(p);
  return !calibrates_;
}

void Fp8Products::calibrate(const WeightProduct& p) const {
  const auto* const delayed = std::get_if<DelayedScaling>(&recipe_);
  if (!delayed) return;
  const NoGradGuard no_grad;
  const autograd::ObserversOff no_observers;
  const Weight kept = iteration_->begin(p.weight, *delayed);
  rounded(p.x, Fp8Role::input, SumOver::columns, kept);
  quantized_weight(p.weight, SumOver::columns, kept);
}

std::string Fp8Products::text() const {
  return fmt::format("{}, {}", calibrates_ ? "not in float8, but seen by its recipe" : "in float8", to_string(recipe_));
}

Tensor Fp8Products::compute(const WeightProduct& product) const {
  const OpScope op(product.op);
  const DelayedScaling* const delayed = std::get_if<DelayedScaling>(&recipe_);
  const Weight kept = delayed ? iteration_->begin(product.weight, *delayed) : nullptr;
  tandem::detail::DispatchCall call(product.op, Cast::keep);
  call.rounds_to(fp8_dtype(recipe_, Fp8Role::input));
  const auto body = [&](const Tensor&, const Tensor&, const Tensor&) { return forward(product, kept); };
  return std::move(tandem::detail::pass(call, false, body, product.x, product.weight, product.bias)[0]);
}

Fp8Tensor Fp8Products::quantized(const Tensor& x, Fp8Role role, SumOver over, const Weight& kept) const {
  const Fp8Tensor y = rounded(x, role, over, kept);
  constexpr const char* kNames[] = {"input", "weight", "gradient"};
  autograd::show_rounding({running_op(), kNames[static_cast<size_t>(role)], x, y.codes, y.scales});
  return y;
}

Fp8Tensor Fp8Products::rounded(const Tensor& x, Fp8Role role, SumOver over, const Weight& kept) const {
  const autograd::ObserversOff no_observers;
  if (const auto* recipe = std::get_if<Float8CurrentScaling>(&recipe_)) {
    return quantize(x, fp8_dtype(recipe_, role), *recipe);
  }
  if (const auto* recipe = std::get_if<Float8BlockScaling>(&recipe_)) return quantize(x, role, *recipe, dim_of(over));
  if (const auto* recipe = std::get_if<MXFP8BlockScaling>(&recipe_)) return quantize(x, role, *recipe, dim_of(over));
  const auto& recipe = std::get<DelayedScaling>(recipe_);
  const bool is_gradient = role == Fp8Role::gradient;
  const bool notes = is_gradient ? iteration_->notes_gradients() : iteration_->notes_forward();
  const int64_t row = static_cast<int64_t>(role);
  const Tensor& state = kept->delayed;
  const Tensor scales = is_gradient ? state.select(1, 0) : iteration_->scales(state);
  Fp8Tensor y = quantize_delayed(x, fp8_dtype(recipe_, role), scales.slice(0, row, row + 1),
                                 notes ? state.select(0, row).slice(0, 1, 2) : Tensor());
  if (notes) iteration_->noted(recipe, kept, role);
  return y;
}

Fp8Tensor Fp8Products::quantized_weight(const Tensor& weight, SumOver over, const Weight& kept) const {
  // With delayed scaling, an iteration has its own scales, and a rounding that notes the magnitude counts once.
  const bool notes = kept && iteration_->notes_forward();
  const uint64_t tag = kept ? 2 * iteration_->number() + (notes ? 1 : 0) : 0;
  Fp8Tensor made;
  const std::vector<Tensor> cached = cached_with_weight(weight, names_[static_cast<size_t>(over)], tag, [&] {
    made = quantized(weight, Fp8Role::weight, over, kept);
    return std::vector<Tensor>{made.codes, made.scales.inverse};
  });
  if (made.codes.defined()) return made;
  return assembled(cached[0], cached[1], Fp8Role::weight, over);
}

Fp8Tensor Fp8Products::assembled(const Tensor& codes, const Tensor& inverse, Fp8Role role, SumOver over) const {
  Float8Scales scales = std::visit([&](const auto& r) { return blocks_of(r, role, dim_of(over)); }, recipe_);
  scales.inverse = inverse;
  return {codes, scales};
}

Result Fp8Products::forward(const WeightProduct& p, const Weight& kept) const {
  // x sums over its columns, and a weight [out, in] as well.
  const SumOver of_weight = p.transposed ? SumOver::rows : SumOver::columns;
  const Fp8Tensor x = quantized(p.x, Fp8Role::input, SumOver::columns, kept);
  const Fp8Tensor weight = quantized_weight(p.weight, of_weight, kept);
  // As the policy of linear() casts it.
  const Tensor bias = p.bias.defined() && p.bias.dtype() != kBFloat16 ? cached_cast(p.bias, kBFloat16) : p.bias;
  Tensor y = multiply(x, p.transposed ? weight : transposed(weight), kBFloat16, bias, p.activation);
  if (!thread_state().saves) return y;
  // The gradient of x sums over the weight's other dimension, that of the weight over the rows of x.
  Fp8Tensor weight_back, x_back;
  if (p.x.requires_grad()) weight_back = quantized_weight(p.weight, other(of_weight), kept);
  if (p.weight.requires_grad()) {
    x_back = rounds_once(recipe_, Fp8Role::input) ? x : quantized(p.x, Fp8Role::input, SumOver::rows, kept);
  }
  const bool relu = p.activation == Activation::relu;
  return {y,
          save(weight_back.codes, weight_back.scales.inverse, x_back.codes, x_back.scales.inverse, relu ? y : Tensor()),
          [self = shared_from_this(), kept, transposed = p.transposed, relu](const autograd::Backward& g) {
            return self->backward(g, kept, transposed, relu);
          }};
}

autograd::Grads Fp8Products::backward(const autograd::Backward& g, const Weight& kept, bool is_transposed,
                                      bool relu) const {
  TANDEM_CHECK(!GradMode::is_enabled(), AutogradError,
               "a product in float8 cannot be differentiated twice (create_graph = true); compute it outside of "
               "Fp8AutocastGuard, or exclude its weight with exclude_from_fp8()");
  const Tensor gy = relu ? relu_backward(g.grad(), g.saved(4)) : g.grad();
  autograd::Grads grads(3);
  Fp8Tensor gradient;
  if (g.needs(0)) {
    const SumOver over = is_transposed ? SumOver::columns : SumOver::rows;
    const Fp8Tensor weight = assembled(g.saved(0), g.saved(1), Fp8Role::weight, over);
    gradient = quantized(gy, Fp8Role::gradient, SumOver::columns, kept);
    grads[0] = multiply(gradient, is_transposed ? transposed(weight) : weight, g.wanted(0));
  }
  if (g.needs(1)) {
    const Fp8Tensor x = assembled(g.saved(2), g.saved(3), Fp8Role::input, SumOver::rows);
    if (!gradient.codes.defined() || !rounds_once(recipe_, Fp8Role::gradient)) {
      gradient = quantized(gy, Fp8Role::gradient, SumOver::rows, kept);
    }
    grads[1] =
        is_transposed ? multiply(transposed(x), gradient, g.wanted(1)) : multiply(transposed(gradient), x, g.wanted(1));
  }
  if (g.needs(2)) grads[2] = sum(gy, {0}, false, g.wanted(2));
  return grads;
}

}  // namespace tandem::amp::detail
