#pragma once
// WeightProducts: how an autocast region computes matrix products with weights in place of the ops.
#include <string>

#include "tandem/backend.h"
#include "tandem/tensor/context.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// y = activation(x weight^T + bias). x: [n, in], weight: [out, in], bias (optional): [out], y: [n, out]; all floating.
struct WeightProduct {
  const char* op;  ///< the op that asks for it
  int row;         ///< its row in the policy table
  const Tensor& x;
  const Tensor& weight;
  const Tensor& bias;
  Activation activation = Activation::none;
  bool transposed = false;  ///< the weight is stored as [in, out]
};

/// The products of a region. linear(), mm(), matmul() and addmm() ask it first.
class WeightProducts {
 public:
  virtual ~WeightProducts() = default;
  /// Whether it computes this product; if not, the op does. The order of x's dimensions does not matter.
  virtual bool takes(const WeightProduct& product) const = 0;
  /// The product, recorded if needed; only for one that it takes.
  virtual Tensor compute(const WeightProduct& product) const = 0;
  /// How it computes them, for explanations: "in float8, .."
  virtual std::string text() const = 0;
};

/// Base of what nested regions share.
class WeightProductsScope {
 public:
  virtual ~WeightProductsScope() = default;
};

namespace detail {

/// The products of the calling thread's region for the device of `x`; null if the ops compute them.
inline const WeightProducts* weight_products_for(const Tensor& x) {
  return thread_state().weight_products[static_cast<int>(x.impl().storage->device().type())].get();
}
/// The product as that region computes it; an undefined tensor if the op shall compute it.
inline Tensor weight_product(const WeightProduct& product) {
  const WeightProducts* products = weight_products_for(product.weight);
  return products && products->takes(product) ? products->compute(product) : Tensor();
}

}  // namespace detail
}  // namespace tandem
#pragma GCC visibility pop
