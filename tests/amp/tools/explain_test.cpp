// explain names the rule by which op dispatch chose the dtypes, and the same dtypes as op dispatch.
#include "tandem/amp/tools/explain.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/device.h"
#include "tandem/amp/custom_op.h"
#include "tandem/amp/tools.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::device_type;

using amp::Cast;
using amp::explain;
using amp::Explanation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(Explain, EveryPolicyInARegion) {
  const amp::AutocastGuard autocast(device_type(), kBFloat16);
  EXPECT_THAT(explain("linear", kFloat, kBFloat16).inputs,
              ElementsAre(std::string("input 0: f32 -> bf16: lower: bf16 is the dtype of the region for ") +
                              name(device_type()),
                          "input 1: bf16 stays: it is bf16 already"));
  EXPECT_THAT(explain("exp", kBFloat16).inputs, ElementsAre(HasSubstr("bf16 -> f32: f32: the op needs its range")));
  EXPECT_THAT(explain("softmax", kBFloat16).inputs, ElementsAre(HasSubstr("bf16 stays: f32_dtype")));
  EXPECT_THAT(explain("softmax", kBFloat16).result, HasSubstr("f32_dtype sets to f32"));
  EXPECT_THAT(explain("cat", kBFloat16, kFloat).inputs,
              ElementsAre(HasSubstr("bf16 -> f32: promote: f32 is the widest"), HasSubstr("f32 stays: promote")));
  EXPECT_THAT(explain("add", kBFloat16, kFloat).inputs,
              ElementsAre(HasSubstr("bf16 stays: keep does not cast"), HasSubstr("f32 stays: keep")));
  EXPECT_THAT(explain("binary_cross_entropy", kFloat, kFloat).result, HasSubstr("binary_cross_entropy_with_logits"));
}

TEST(Explain, GivesReasonsForIneligibleInputs) {
  EXPECT_THAT(explain("linear", kFloat).inputs,
              ElementsAre(HasSubstr(std::string("autocast is off for ") + name(device_type()))));
  const amp::AutocastGuard autocast(device_type(), kHalf);
  EXPECT_THAT(explain("linear", kDouble, kLong, kFloat).inputs,
              ElementsAre(HasSubstr("f64 is never cast"), HasSubstr("only floating tensors are cast"),
                          HasSubstr("f32 -> f16")));
  const amp::AutocastGuard off(device_type(), {}, false);
  EXPECT_THAT(explain("linear", kFloat).inputs,
              ElementsAre(HasSubstr(std::string("autocast is off for ") + name(device_type()))));
}

TEST(Explain, NamesTheOriginOfThePolicy) {
  EXPECT_EQ(explain("linear", kFloat).rule, "policy lower by the table");
  amp::set_policy("linear", Cast::f32);
  EXPECT_EQ(explain("linear", kFloat).rule, "policy f32 by set_policy (the table says lower)");
  {
    const amp::PolicyGuard guard({{"linear", Cast::keep}});
    EXPECT_EQ(explain("linear", kFloat).rule, "policy keep by the PolicyGuard of this region (otherwise f32)");
  }
  amp::reset_policies();
  EXPECT_EQ(explain("linear", kFloat).rule, "policy lower by the table");
}

/// For every op in the table and every region: for each input, the dtype named in the sentences (after the arrow, or
/// the unchanged one) is the dtype that op dispatch passes to the body.
TEST(Explain, AgreesWithDispatch) {
  struct Seen : autograd::Observer {
    void before(const autograd::ObservedOp& op) override {
      dtypes.clear();
      for (size_t i = 0; i < op.inputs.size(); ++i) dtypes.push_back(op.input(i).dtype());
    }
    std::vector<DType> dtypes;
  };
  for (const bool enabled : {true, false}) {
    const amp::AutocastGuard autocast(device_type(), kHalf, enabled);
    for (const amp::PolicyRow& row : amp::policy_table) {
      for (const DType other : {kHalf, kBFloat16, kFloat, kDouble, kLong}) {
        const Explanation e = explain(row.op, kFloat, other);
        EXPECT_EQ(e.op, row.op);
        if (row.cast == Cast::banned && enabled) {
          EXPECT_THAT(e.result, StartsWith("refused: "));
          continue;
        }
        const auto seen = std::make_shared<Seen>();
        {
          const autograd::ObserverGuard guard(seen);
          const Tensor a = empty({0}), b = empty({0}, other);
          detail::DispatchCall call(std::string(row.op).c_str(), amp::policy_row(row.op));
          call.add(a);
          call.add(b);
          call.enter();
        }
        ASSERT_THAT(e.inputs, SizeIs(2));
        const DType before[] = {kFloat, other};
        for (size_t i = 0; i < 2; ++i) {
          const std::string from(name(before[i])), to(name(seen->dtypes[i]));
          EXPECT_THAT(e.inputs[i], HasSubstr(from == to ? ": " + to + " stays: " : ": " + from + " -> " + to + ": "))
              << row.op;
        }
      }
    }
  }
}

TEST(Explain, ListsTheOpsOfForwardAndBackward) {
  const Tensor x = ones({2, 8}), w = ones({8, 8}).requires_grad_();
  const amp::Explanations run = explain([&] {
    Tensor y;
    {
      const amp::AutocastGuard autocast(device_type(), kBFloat16);
      y = mm(x, w).sum();
    }
    y.backward();
    w.detach().mul_(2);
  });
  EXPECT_EQ(run.error, "");
  ASSERT_GE(run.ops.size(), 5u);
  EXPECT_EQ(run.ops[0].op, "mm");
  EXPECT_EQ(run.ops[0].result, "result: bf16, from inputs of bf16");
  EXPECT_EQ(run.ops[1].op, "sum");
  EXPECT_EQ(run.ops[1].result, "result: f32, by its dtype argument, which f32_dtype sets to f32");
  EXPECT_THAT(run.ops[2].rule, HasSubstr("in the backward of sum"));
  const auto gemm = std::find_if(run.ops.begin(), run.ops.end(), [](const auto& e) { return e.op == "gemm"; });
  ASSERT_NE(gemm, run.ops.end());
  EXPECT_THAT(gemm->rule, HasSubstr("in the backward of mm"));
  EXPECT_THAT(gemm->result, HasSubstr("result: f32, from inputs of bf16")) << "the weight's gradient, directly in f32";
  EXPECT_THAT(run.ops.back().rule, HasSubstr("does not apply to in-place calls"));
  EXPECT_THAT(run.str(), HasSubstr("mm: policy lower by the table\n  input 0: f32 -> bf16"));
}

TEST(Explain, ShowsThePolicyOfACustomOp) {
  const amp::Explanations run = explain([] {
    const amp::AutocastGuard autocast(device_type());
    amp::custom_op<"mine">(
        Cast::lower, [](const Tensor& x) { return Result{x + x}; }, ones({2}));
  });
  ASSERT_THAT(run.ops, SizeIs(1)) << "the ops inside it are not counted";
  EXPECT_EQ(run.ops[0].rule, "policy lower, given by the op itself");
}

TEST(Explain, ExplainsRefusedOps) {
  const amp::Explanations run = explain([] {
    Tensor h;
    {
      const amp::AutocastGuard autocast(device_type(), kHalf);
      h = mm(ones({2, 2}), ones({2, 2}));
    }
    mm(h, ones({2, 2}));
  });
  EXPECT_THAT(run.error, HasSubstr("mm: "));
  EXPECT_EQ(run.ops[0].result, "result: f16, from inputs of f16");
  EXPECT_THAT(run.str(), HasSubstr("refused: mm: "));
  EXPECT_FALSE(thread_state().observers);
  // Exceptions that are not tandem's pass through.
  EXPECT_THROW(explain([] { throw std::runtime_error("mine"); }), std::runtime_error);
  EXPECT_FALSE(thread_state().observers);
}

TEST(Explain, DoesNotChangeModesOrCache) {
  const Tensor x = ones({2, 8}), w = ones({8, 8}).requires_grad_();
  const amp::AutocastGuard autocast(device_type());
  static_cast<void>(explain("linear", kFloat, kFloat));
  const auto before = amp::autocast_cache_stats();
  static_cast<void>(explain([&] { linear(x, w); }));
  EXPECT_EQ(amp::autocast_cache_stats().entries, before.entries + 1) << "the region's own cast";
  EXPECT_TRUE(amp::is_autocast_enabled(device_type()));
}

}  // namespace
}  // namespace tandem
