// Autocast regions, policies and custom ops throw for unknown dtypes and names, and for tensors on two devices.
#include "support/bad_input.h"
#include "support/device.h"
#include "tandem/amp/autocast.h"
#include "tandem/amp/custom_op.h"
#include "tandem/amp/policy_overrides.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using amp::AutocastGuard;
using amp::Cast;

TEST(AmpErrors, RegionsAndPolicies) {
  expect_refused({
      BAD_INPUT("AutocastGuard", AutocastGuard(device_type(), kFloat), DTypeError, "f16 or bf16", "not f32",
                "enabled = false"),
      BAD_INPUT("AutocastGuard", AutocastGuard(device_type(), kInt), DTypeError, "f16 or bf16", "not i32",
                "enabled = false"),
      BAD_INPUT("set_autocast_dtype", amp::set_autocast_dtype(device_type(), kDouble), DTypeError, "f16 or bf16",
                "not f64"),
      BAD_INPUT("PolicyGuard", amp::PolicyGuard({{"add", Cast::keep}, {"nope", Cast::keep}}), StateError, "'nope'",
                "policy.h"),
      BAD_INPUT("PolicyGuard", amp::PolicyGuard({{"add", Cast::f32_dtype}}), StateError, "'add'", "no dtype argument",
                "use Cast::f32"),
      BAD_INPUT("set_policy", amp::set_policy("nope", Cast::keep), StateError, "'nope'", "policy.h"),
      BAD_INPUT("set_policy", amp::set_policy("add", Cast::f32_dtype), StateError, "'add'", "use Cast::f32"),
      BAD_INPUT("get_policy", amp::get_policy("nope"), StateError, "'nope'", "policy.h"),
      BAD_INPUT("set_autocast_cache_limit", amp::set_autocast_cache_limit(-1), StateError, "bytes = -1", "at least 0"),
  });
  EXPECT_EQ(amp::get_autocast_dtype(device_type()), kBFloat16);
}

TEST(AmpErrors, BannedOpsSayWhatToDo) {
  const Tensor x = ones({2, 3});
  const auto banned_add = [=] {
    const amp::PolicyGuard policy({{"add", Cast::banned}});
    const AutocastGuard autocast(device_type());
    return x + x;
  };
  const auto banned_inside = [=] {
    const amp::PolicyGuard policy({{"add", Cast::banned}});
    const AutocastGuard autocast(device_type());
    return x - 1;
  };
  const auto banned_custom = [=] {
    const AutocastGuard autocast(device_type());
    return amp::custom_op<"mine">(
        Cast::banned, [](const Tensor& x) { return Result{x.clone()}; }, x);
  };
  expect_refused(
      {BAD_INPUT("add", banned_add(), StateError, "banned under autocast", "autocast disabled", "PolicyGuard"),
       BAD_INPUT("sub", banned_inside(), StateError, "it runs add, which is banned under autocast"),
       BAD_INPUT("mine", banned_custom(), StateError, "banned under autocast", "autocast disabled")});
}

TEST(AmpErrors, CustomOps) {
  const Tensor x = ones({2, 3}), far = on_another_device({4});
  const auto mine = [](const Tensor& a, const Tensor& b) {
    return amp::custom_op<"mine">(
        Cast::keep, [](const Tensor& a, const Tensor&) { return Result{a.clone()}; }, a, b);
  };
  const auto several = [](const Tensor& a, const Tensor& b) {
    return amp::custom_op_n<"mine">(
        Cast::keep, [](const Tensor& a, const Tensor&) { return Result{std::vector<Tensor>{a.clone()}}; }, a, b);
  };
  const auto nothing = [=] {
    return amp::custom_op<"mine">(
        Cast::keep, [](const Tensor&) { return Result{std::vector<Tensor>{}}; }, x);
  };
  expect_refused({ON_TWO_DEVICES("mine", mine(x, far)), ON_TWO_DEVICES("mine", several(x, far)),
                  BAD_INPUT("mine", nothing(), AutogradError, "no tensor", "at least one")});
}

}  // namespace
}  // namespace tandem::testing
