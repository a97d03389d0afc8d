#pragma once
// The products of a float8 region. Internal.
#include <memory>
#include <string>

#include "src/amp/fp8/delayed.h"
#include "tandem/autograd/apply.h"
#include "tandem/ops/weight_products.h"

namespace tandem::amp::detail {

/// The dimension over which a product sums, of a matrix in it.
enum class SumOver : uint8_t { rows, columns };

class Fp8Products final : public WeightProducts, public std::enable_shared_from_this<Fp8Products> {
 public:
  /// `calibrates`: takes no product, but notes the magnitudes of its operands.
  Fp8Products(DeviceType type, const Fp8Recipe& recipe, std::shared_ptr<DelayedIteration> iteration, bool calibrates);
  bool calibrates() const { return calibrates_; }
  bool takes(const WeightProduct& product) const override;
  Tensor compute(const WeightProduct& product) const override;
  std::string text() const override;

 private:
  /// `kept`: with the state of delayed scaling; else null.
  Fp8Tensor rounded(const Tensor& x, Fp8Role role, SumOver over, const Weight& kept) const;
  /// The same, shown to observers.
  Fp8Tensor quantized(const Tensor& x, Fp8Role role, SumOver over, const Weight& kept) const;
  /// Notes the magnitudes of the operands of a product that the op computes.
  void calibrate(const WeightProduct& product) const;
  Fp8Tensor quantized_weight(const Tensor& weight, SumOver over, const Weight& kept) const;
  /// A rounded tensor from its two parts.
  Fp8Tensor assembled(const Tensor& codes, const Tensor& inverse, Fp8Role role, SumOver over) const;
  Result forward(const WeightProduct& product, const Weight& kept) const;
  autograd::Grads backward(const autograd::Backward& g, const Weight& kept, bool transposed, bool relu) const;

  DeviceType type_;
  Fp8Recipe recipe_;
  std::shared_ptr<DelayedIteration> iteration_;
  bool calibrates_;
  std::string names_[2];  ///< of rounded weights in the cast cache, by SumOver
};

}  // namespace tandem::amp::detail
