// Clipping and the vectors of parameters reject invalid tensors and numbers.
#include "tandem/nn/utils.h"

#include <cmath>

#include "support/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

/// Returns a parameter with this gradient.
Tensor with_gradient(const Tensor& gradient) {
  const Tensor p = ones(gradient.sizes()).requires_grad_();
  p.mutable_grad() = gradient;
  return p;
}

TEST(UtilsErrors, Clipping) {
  using namespace nn::utils;
  const Tensor none, p = with_gradient(ones({3})), inf = with_gradient(full({3}, INFINITY)),
                     whole = with_gradient(ones({3}, kLong)), expanded = with_gradient(ones({1}).expand({3}));
  expect_refused({
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_(p, -1), StateError, "max_norm = -1", "at least 0"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_(p, std::nan("")), StateError, "max_norm = nan", "at least 0"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_(p, 1, 0), StateError, "norm_type = 0", "positive"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_(p, 1, std::nan("")), StateError, "norm_type = nan", "positive"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_({p, none}, 1), StateError, "parameter 1", "undefined tensor",
                "give it a value first"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_(inf, 1, 2, true), StateError, "2-norm is inf",
                "error_if_nonfinite = false"),
      BAD_INPUT("clip_grad_value_", clip_grad_value_(p, -1), StateError, "clip_value = -1", "at least 0"),
      BAD_INPUT("clip_grad_value_", clip_grad_value_(p, std::nan("")), StateError, "clip_value = nan", "at least 0"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_({p, whole}, 1), DTypeError, "parameter 1", "[3] i64", "zero_grad()"),
      BAD_INPUT("clip_grad_norm_", clip_grad_norm_({p, expanded}, 1), ShapeError, "parameter 1", "share memory"),
      BAD_INPUT("clip_grad_value_", clip_grad_value_({p, expanded}, 0.5), ShapeError, "parameter 1", "clone()"),
      BAD_INPUT("clip_grad_value_", clip_grad_value_({p, whole}, 0.5), DTypeError, "parameter 1", "[3] i64"),
      BAD_INPUT("clip_grad_value_", clip_grad_value_(none, 1), StateError, "parameter 0", "undefined tensor",
                "give it a value first"),
  });
  EXPECT_EQ(p.grad().sum().item<float>(), 3) << "refused calls keep the gradients";
}

TEST(UtilsErrors, ParametersAsAVector) {
  using namespace nn::utils;
  const Tensor none, x = ones({2, 3}), y = ones({5});
  expect_refused({
      BAD_INPUT("parameters_to_vector", parameters_to_vector({}), StateError, "empty", "at least one"),
      ON_TWO_DEVICES("parameters_to_vector", parameters_to_vector({x, on_another_device({2})})),
      BAD_INPUT("parameters_to_vector", parameters_to_vector({x, none}), StateError, "parameter 1", "undefined tensor",
                "give it a value first"),
      BAD_INPUT("vector_to_parameters", vector_to_parameters(none, {x}), StateError,
                "the vector is an undefined tensor", "give it a value first"),
      BAD_INPUT("vector_to_parameters", vector_to_parameters(y, {x, none}), StateError, "parameter 1",
                "give it a value first"),
      BAD_INPUT("vector_to_parameters", vector_to_parameters(x, {x}), ShapeError, "rank 1", "[2, 3] f32", "view({-1})"),
      BAD_INPUT("vector_to_parameters", vector_to_parameters(y, {x}), ShapeError, "5 elements", "have 6",
                "parameters_to_vector"),
  });
}

}  // namespace
}  // namespace tandem::testing
