// Dispatch: what the body of an op sees.
#include "tandem/autograd/apply.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tandem/ops/activation.h"
#include "tandem/tensor/factories.h"

namespace tandem {
namespace {

// save() keeps tensors only for calls that are recorded, whatever runs inside the body.
TEST(Dispatch, SavesOnlyForRecordedCalls) {
  size_t kept = 0;
  const auto run = [&](const Tensor& x) {
    return Op<"relu">().apply(
        [&](const Tensor& x) {
          const Tensor inner = relu(x);  // not recorded: the body's thread does not record
          kept = save(x, inner).tensors.size();
          return Result{inner, save(x), [](const Backward& b) -> Grads { return {b.grad()}; }};
        },
        x);
  };
  const Tensor x = ones({2}), p = ones({2}).requires_grad_();
  run(x);
  EXPECT_EQ(kept, 0U);
  EXPECT_TRUE(run(p).requires_grad());
  EXPECT_EQ(kept, 2U);
  {
    const NoGradGuard no_grad;
    run(p);
    EXPECT_EQ(kept, 0U);
  }
  const auto fail = [&](const Tensor& x) -> Result { throw std::runtime_error(std::string(name(x.dtype()))); };
  EXPECT_THROW(Op<"relu">().apply(fail, p), std::runtime_error);
  EXPECT_FALSE(thread_state().saves);
}

}  // namespace
}  // namespace tandem
