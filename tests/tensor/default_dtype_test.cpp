// The default dtype: factories, numbers, integers that become floating, modules.
#include "tandem/tensor/default_dtype.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "tandem/amp/grad_scaler.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem {
namespace {

/// Sets the default dtype for a test.
class DefaultDType {
 public:
  explicit DefaultDType(DType dtype) { set_default_dtype(dtype); }
  ~DefaultDType() { set_default_dtype(kFloat); }
};

TEST(DefaultDType, OfFactories) {
  EXPECT_EQ(get_default_dtype(), kFloat);
  for (const DType t : {kDouble, kHalf, kBFloat16}) {
    const DefaultDType set(t);
    EXPECT_EQ(get_default_dtype_as_scalartype(), t);
    for (const Tensor& x : {zeros({2}), rand({2}), randn({2}), full({2}, 1.5), linspace(0, 1, 3), arange(0, 1, 0.5),
                            eye(2), tensor(1.5), tensor({1.5f}), tensor(std::vector<double>{1, 2}), scalar_tensor(2)}) {
      EXPECT_EQ(x.dtype(), t);
    }
    EXPECT_EQ(tensor(1).dtype(), kLong);
    EXPECT_EQ(full({2}, 1).dtype(), kLong);
    EXPECT_EQ(zeros({2}, kFloat).dtype(), kFloat);
    EXPECT_EQ(zeros_like(zeros({2}, kFloat)).dtype(), kFloat);
  }
}

TEST(DefaultDType, OfIntegersThatBecomeFloating) {
  const DefaultDType set(kDouble);
  const Tensor n = tensor({1, 2}), x = ones({2}, kFloat);
  for (const Tensor& y : {n * 0.5, n / n, n / 2, sin(n), sqrt(n), n.clamp(0.5, 1.5), where(n > 1, 0.5, 1.0)}) {
    EXPECT_EQ(y.dtype(), kDouble);
  }
  EXPECT_EQ((x * 0.5).dtype(), kFloat);
  EXPECT_EQ((n + x).dtype(), kFloat);
  EXPECT_EQ((n * 2).dtype(), kLong);
}

TEST(DefaultDType, OfModulesButNotOfTheScaler) {
  const DefaultDType set(kDouble);
  nn::Sequential net(nn::Linear(2, 3), nn::BatchNorm1d(3));
  for (const Tensor& p : net->parameters()) EXPECT_EQ(p.dtype(), kDouble);
  EXPECT_EQ(net->forward(randn({4, 2})).dtype(), kDouble);
  amp::GradScaler scaler;
  EXPECT_EQ(scaler.scale(ones({}, kFloat)).dtype(), kFloat);
  EXPECT_EQ(amp::GradScaler(amp::GradScalerOptions().enabled(false)).inverse_scale().dtype(), kFloat);
}

TEST(DefaultDType, MustBeFloating) {
  EXPECT_THROWS(set_default_dtype(kLong), DTypeError, "set_default_dtype: ", "i64", "kFloat");
  EXPECT_EQ(get_default_dtype(), kFloat);
}

}  // namespace
}  // namespace tandem
