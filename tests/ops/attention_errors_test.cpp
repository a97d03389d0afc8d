// Attention rejects operands that do not fit together.
#include "ops/bad_input.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

BadInputs attention_bad_input() {
  constexpr const char* op = "scaled_dot_product_attention";
  const Tensor none, q = ones({2, 4, 3}), k = ones({2, 5, 3}), mask = ones({4, 5});
  const Tensor heads = ones({6, 4, 3}), groups = ones({4, 5, 3});
  return {
      UNDEFINED(op, scaled_dot_product_attention(none, k, k)),
      UNDEFINED(op, scaled_dot_product_attention(q, none, k)),
      UNDEFINED(op, scaled_dot_product_attention(q, k, none)),
      BAD_INPUT(op, scaled_dot_product_attention(q.to(kLong), k, k), DTypeError, "query is [2, 4, 3] i64"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k.to(kDouble), k), DTypeError, "query is [2, 4, 3] f32",
                "key is [2, 5, 3] f64"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k.to(kHalf)), DTypeError, "query is [2, 4, 3] f32",
                "value is [2, 5, 3] f16"),
      BAD_INPUT(op, scaled_dot_product_attention(ones({3}), k, k), ShapeError, "query [3] f32", "at least rank 2"),
      BAD_INPUT(op, scaled_dot_product_attention(ones({4, 3}), k, k, {}, 0, false, {}, true), ShapeError, "[4, 3]",
                "at least rank 3"),
      BAD_INPUT(op, scaled_dot_product_attention(q, ones({2, 5, 4}), k), ShapeError, "[2, 4, 3]", "[2, 5, 4]",
                "last dimension"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, ones({2, 6, 3})), ShapeError, "[2, 5, 3]", "[2, 6, 3]",
                "dimension -2"),
      BAD_INPUT(op, scaled_dot_product_attention(q, ones({3, 5, 3}), ones({3, 5, 3})), ShapeError, "[2]", "[3]"),
      BAD_INPUT(op, scaled_dot_product_attention(heads, groups, groups, {}, 0, false, {}, true), ShapeError,
                "[6, 4, 3]", "[4, 5, 3]", "a multiple"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k, mask.to(kLong)), DTypeError, "attn_mask is [4, 5] i64",
                "bool"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k, ones({4, 4})), ShapeError, "[4, 4]", "[4, 5]"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k, mask, 0, true), StateError, "attn_mask is [4, 5] f32",
                "is_causal"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k, {}, 1.5), StateError, "dropout_p = 1.5"),
      BAD_INPUT(op, scaled_dot_product_attention(q, k, k, {}, -0.5), StateError, "dropout_p = -0.5"),
      ON_TWO_DEVICES(op, scaled_dot_product_attention(q, on_another_device({2, 5, 3}), k)),
  };
}

}  // namespace tandem::testing
