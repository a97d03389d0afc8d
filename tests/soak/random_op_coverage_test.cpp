// Checks that the random calls leave out no op: every op of the policy table and every function in the headers of ops/
// has a random call on the C++ side, and every op of that side is in the recorded calls, which the Python side made.
#include <gtest/gtest.h>

#include <set>

#include "soak/random_call_ops.h"
#include "soak/random_calls.h"
#include "support/bad_input.h"
#include "tandem/amp/policy.h"

namespace tandem::testing {
namespace {

/// Ops and functions without a random call, with the reason.
const std::map<std::string, const char*> exceptions = {
    {"attention", "internal: scaled_dot_product_attention with a mask and is_causal together"},
    {"alpha_dropout", "random"},
    {"bernoulli", "random"},
    {"binomial", "random"},
    {"alpha_dropout_", "random"},
    {"dropout", "random"},
    {"dropout_", "random"},
    {"feature_alpha_dropout_", "random"},
    {"feature_dropout_", "random"},
    {"feature_alpha_dropout", "random"},
    {"feature_dropout", "random"},
    {"gumbel_softmax", "random"},
    {"multinomial", "random"},
    {"native_dropout", "random"},
    {"normal", "random"},
    {"poisson", "random"},
    {"rand_like", "random"},
    {"randint_like", "random"},
    {"randn_like", "random"},
    {"pad_circular", "pad with the mode circular"},
    {"reflection_pad1d", "pad with the mode reflect"},
    {"reflection_pad2d", "pad with the mode reflect"},
    {"reflection_pad3d", "pad with the mode reflect"},
    {"replication_pad1d", "pad with the mode replicate"},
    {"replication_pad2d", "pad with the mode replicate"},
    {"replication_pad3d", "pad with the mode replicate"},
    {"result_type", "a dtype, not a tensor"},
    {"conv_with_padding", "conv1d, conv2d and conv3d with a padding by name"},
    {"copy", "the op behind copy_ and fill_"},
    {"cast_float8", "PyTorch has no such function"},
    {"view_dtype", "bits, which the random calls do not compare"},
    {"detach", "no computation; the random programs use it"},
    {"gemm", "mm with another result dtype, for backward passes"},
    {"round_decimals", "round with decimals: round.decimals"},
    {"trunc_divide", "div with a rounding mode: div.rounded"},
    {"wait_until_read", "internal: what a copy does at its end"},
    {"triplet_margin_with_distance_loss", "takes a function"},
};

/// The same op under another name.
bool is_other_name(const std::string& name) {
  static const std::set<std::string> names = {
      "absolute", "arccos",    "arccosh",       "arcsin",   "arcsinh",     "arctan",     "arctan2",
      "arctanh",  "divide",    "fix",           "greater",  "less",        "less_equal", "multiply",
      "negative", "not_equal", "greater_equal", "subtract", "true_divide", "exp_",       "range"};
  return names.count(name) > 0;
}

/// The function that a random call is a form of: "max" for "max.dim".
std::string function_of(const std::string& name) { return name.substr(0, name.find('.')); }

std::set<std::string> called_functions() {
  std::set<std::string> functions;
  for (const auto& [name, run] : random_call_ops()) functions.insert(function_of(name));
  return functions;
}

TEST(RandomOpCoverage, EveryOpIsCalled) {
  const std::set<std::string> called = called_functions();
  std::set<std::string> functions, derivatives;
  for (const amp::PolicyRow& row : amp::policy_table)
    (row.role == amp::Role::derivative ? derivatives : functions).emplace(row.op);
  for (const std::string& header : included_headers("ops/ops.h")) {
    for (const std::string& name : declared_functions(header)) {
      if (!name.ends_with("_backward") && !name.ends_with("_out")) functions.insert(name);
    }
  }
  for (const std::string& name : functions) {
    if (called.count(name) || exceptions.count(name) || derivatives.count(name) || is_other_name(name)) continue;
    ADD_FAILURE() << name << " has no random call: add a line to tests/soak/random_*_ops.cpp and to differential_*.py, "
                  << "or the reason to the exceptions here";
  }
  for (const auto& [name, reason] : exceptions) {
    EXPECT_FALSE(called.count(name)) << name << " has a random call and is listed as an exception";
  }
}

TEST(RandomOpCoverage, EveryCallIsRecorded) {
  std::set<std::string> recorded;
  for (const std::string& line : recorded_calls()) recorded.insert(nlohmann::json::parse(line).at("op"));
  for (const auto& [name, run] : random_call_ops()) {
    EXPECT_TRUE(recorded.count(name)) << name << " is in no recorded call: run tests/soak/differential.py --record";
  }
}

}  // namespace
}  // namespace tandem::testing
