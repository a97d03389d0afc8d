// Every case inside an autocast region: the result has the dtype in the policy table and equals, bit for bit, the
// result of casting the arguments explicitly with autocast off, or for an op that fuses others, the result of those in
// the region. Gradients have the inputs' dtypes.
#include "ops/op_cases.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/base/error.h"
#include "tandem/ops/convert.h"

namespace tandem::testing {
namespace {

using amp::Cast;

bool is_eligible(const Tensor& x) { return x.is_floating_point() && x.dtype() != kDouble; }

/// Returns the arguments cast as the policy requires, by recorded ops.
Out cast_by_hand(In inputs, Cast cast, DType region) {
  DType target = region;
  if (cast == Cast::f32 || cast == Cast::f32_dtype) target = kFloat;
  if (cast == Cast::promote) {
    bool first = true;
    for (const Tensor& x : inputs) {
      if (!is_eligible(x)) continue;
      target = first ? x.dtype() : promote_types(target, x.dtype());
      first = false;
    }
  }
  Out result;
  for (const Tensor& x : inputs) {
    result.push_back(cast == Cast::keep || !is_eligible(x) ? x : to(x, target));
  }
  return result;
}

/// The outputs of a case, or the message of the DTypeError if the op rejects mixed dtypes.
struct Outcome {
  Out outputs;
  std::string refusal;
};
Outcome attempt(const std::function<Out(In)>& run, In inputs) {
  try {
    return {run(inputs), ""};
  } catch (const DTypeError& error) {
    return {{}, error.what()};
  }
}

class AutocastCaseTest : public ::testing::TestWithParam<const Case*> {
 protected:
  /// Checks one set of inputs: all f32, all in the region's dtype, or alternating.
  void check(DType region, const char* which, In inputs) {
    SCOPED_TRACE(std::string("region ") + std::string(name(region)) + ", inputs " + which);
    const Case& c = *GetParam();
    const Cast cast = policy_of(c);
    if (cast == Cast::banned) {
      amp::AutocastGuard autocast(device_type(), region);
      try {
        c.run(inputs);
        FAIL() << "a banned op ran inside autocast";
      } catch (const StateError& error) {
        EXPECT_NE(std::string(error.what()).find(c.op), std::string::npos) << error.what();
      }
      return;
    }
    ASSERT_FALSE(amp::is_autocast_enabled(device_type()));
    Outcome expected, actual;
    if (!c.apart) expected = attempt(c.run, cast_by_hand(inputs, cast, region));
    {
      amp::AutocastGuard autocast(device_type(), region);
      if (c.apart) expected = attempt(c.apart, inputs);
      actual = attempt(c.run, inputs);
      EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
    }
    EXPECT_FALSE(amp::is_autocast_enabled(device_type()));
    ASSERT_EQ(actual.refusal.empty(), expected.refusal.empty()) << actual.refusal << expected.refusal;
    if (!actual.refusal.empty()) {
      EXPECT_EQ(cast, Cast::keep) << "only ops that autocast does not cast may refuse mixed dtypes: " << actual.refusal;
      return;
    }
    ASSERT_EQ(actual.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < actual.outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      const Tensor& y = actual.outputs[i];
      EXPECT_TRUE(same_bits(y, expected.outputs[i]));
      EXPECT_EQ(y.requires_grad(), expected.outputs[i].requires_grad());
      if (is_eligible(y) && cast == Cast::lower) {
        EXPECT_EQ(name(y.dtype()), name(region));
      }
      if (is_eligible(y) && !c.apart && (cast == Cast::f32 || cast == Cast::f32_dtype)) {
        EXPECT_EQ(name(y.dtype()), "f32");
      }
    }
    const Out wanted = requiring_grad(inputs);
    if (wanted.empty() || requiring_grad(actual.outputs).empty()) return;
    const Out grads = gradients(actual.outputs, wanted), by_hand = gradients(expected.outputs, wanted);
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE("gradient " + std::to_string(i));
      ASSERT_EQ(grads[i].defined(), by_hand[i].defined());
      if (!grads[i].defined()) continue;
      EXPECT_EQ(name(grads[i].dtype()), name(wanted[i].dtype()));
      // Not bitwise equal: the gradient of a weight cast by autocast stays in f32; cast explicitly, it passes through
      // the low dtype.
      const auto values = values_of(by_hand[i]);
      EXPECT_TRUE(near(grads[i], values, gradient_tolerance(c, region, values)));
    }
  }

  void check_all(DType region) {
    const Case& c = *GetParam();
    const Out wide = make_inputs(c, kFloat), low = make_inputs(c, region);
    check(region, "f32", wide);
    check(region, "low", low);
    if (wide.size() < 2) return;
    Out mixed;
    for (size_t i = 0; i < wide.size(); ++i) mixed.push_back(i % 2 == 0 ? wide[i] : low[i]);
    check(region, "mixed", mixed);
  }
};

TEST_P(AutocastCaseTest, F16) { check_all(kHalf); }
TEST_P(AutocastCaseTest, BF16) { check_all(kBFloat16); }

INSTANTIATE_TEST_SUITE_P(Ops, AutocastCaseTest,
                         ::testing::ValuesIn(cases_where([](const Case& c) { return c.no_low.empty(); })),
                         parameter_name);

}  // namespace
}  // namespace tandem::testing
