// The case table itself: complete, and in step with the golden values.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cases/cases.h"
#include "support/golden.h"

namespace tandem::testing {
namespace {

/// Ops without a case of their own.
const std::map<std::string_view, const char*> exceptions = [] {
  const char* derivative = "runs in the backward pass of the op that it belongs to, whose cases check it";
  std::map<std::string_view, const char*> e;
  for (std::string_view op :
       {"adaptive_avg_pool2d_backward", "avg_pool2d_backward", "batch_norm_backward", "binary_cross_entropy_backward",
        "conv2d_backward_input", "conv2d_backward_weight", "cross_entropy_backward", "dropout_backward",
        "gelu_backward", "layer_norm_backward", "log_softmax_backward", "max_pool2d_backward", "max_pool2d_gather",
        "mse_loss_backward", "relu_backward", "sigmoid_backward", "softmax_backward", "tanh_backward"}) {
    e[op] = derivative;
  }
  e["gemm"] = "the product with a chosen result dtype; runs in the backward pass of mm, bmm, addmm, matmul and linear";
  return e;
}();

TEST(CaseTable, EveryOpHasACase) {
  std::set<std::string_view> covered;
  for (const Case& c : all_cases()) covered.insert(c.op);
  for (const amp::PolicyRow& row : amp::policy_table) {
    const bool excepted = exceptions.count(row.op) > 0;
    if (covered.count(row.op) == 0) {
      EXPECT_TRUE(excepted) << row.op << " has no case: add one to tests/cases";
    } else {
      EXPECT_FALSE(excepted) << row.op << " has a case and is listed as an exception";
    }
  }
}

TEST(CaseTable, CasesAndExceptionsNameOpsOfThePolicyTable) {
  for (const Case& c : all_cases()) EXPECT_NO_THROW(policy_of(c));
  for (const Case& c : all_cases()) EXPECT_GE(amp::policy_row(c.op), 0) << full_name(c);
  for (const auto& [op, reason] : exceptions) EXPECT_GE(amp::policy_row(op), 0) << op;
}

TEST(CaseTable, NamesAreUnique) {
  std::set<std::string> names;
  for (const Case& c : all_cases()) EXPECT_TRUE(names.insert(full_name(c)).second) << full_name(c);
}

TEST(CaseTable, EveryCaseHasAnExpressionOrAReason) {
  for (const Case& c : all_cases()) EXPECT_NE(c.torch.empty(), c.no_golden.empty()) << full_name(c);
}

TEST(CaseTable, GoldenValuesBelongToCases) {
  std::set<std::string> names;
  for (const Case& c : all_cases()) {
    if (c.no_golden.empty()) names.insert(full_name(c));
  }
  for (const std::string& golden : golden_names()) {
    EXPECT_TRUE(names.count(golden)) << golden << " has golden values but no case: run tests/golden/generate.py";
  }
}

TEST(CaseTable, InputsAreTheSameOnEveryCall) {
  for (const Case& c : all_cases()) {
    const Out first = make_inputs(c, kFloat), second = make_inputs(c, kFloat);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_FALSE(first[i].is_same(second[i]));
      EXPECT_EQ(to_string(first[i].strides()), to_string(second[i].strides()));
    }
  }
}

}  // namespace
}  // namespace tandem::testing
