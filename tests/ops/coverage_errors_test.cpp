// Checks that every op of the policy table, every function in the headers of ops/ and every in-place method has a test
// of bad input.
#include <map>

#include "ops/bad_input.h"
#include "tandem/amp/policy.h"

namespace tandem::testing {
namespace {

/// Functions without a row, with the reason.
const std::map<std::string, const char*> exceptions = {
    {"attention", "internal: scaled_dot_product_attention, which has rows, with a mask and is_causal together"},
    {"binary_cross_entropy_backward", "no function: runs in the backward pass of binary_cross_entropy only"},
    {"cdist_backward", "no function: runs in the backward pass of cdist only"},
    {"cross_entropy_backward", "no function: runs in the backward pass of cross_entropy only"},
    {"conv_with_padding", "conv1d, conv2d and conv3d with a padding by name, which have rows"},
    {"copy", "the op behind copy_ and fill_, which have rows"},
    {"ctc_loss_backward", "no function: runs in the backward pass of ctc_loss only"},
    {"detach", "takes every tensor"},
    {"embedding_bag_backward", "no function: runs in the backward pass of embedding_bag only"},
    {"fractional_argmax", "no function: runs in fractional max pooling only"},
    {"grid_sampler_backward", "no function: runs in the backward pass of grid_sampler only"},
    {"pad_backward", "no function: runs in the backward pass of padding only"},
    {"unfold_backward", "no function: runs in the backward pass of unfold only"},
    {"round_decimals", "no function: round with decimals, which has rows"},
    {"trunc_divide", "no function: div with a rounding mode, which has rows"},
    {"multilabel_margin_loss_backward", "no function: runs in the backward pass of multilabel_margin_loss only"},
    {"pair_loss_backward", "no function: runs in the backward passes of losses only"},
    {"sgn_", "calls sign_, which has rows"},
    {"resample_backward", "no function: runs in the backward passes of resampling only"},
    {"wait_until_read", "internal: what a copy does at its end"},
    {"window_argmax", "no function: runs in max pooling only"},
};

/// In-place methods that are tested with the tensor class.
const std::set<std::string> not_ops = {"bernoulli_", "cauchy_",     "detach_", "exponential_", "geometric_",
                                       "index_put_", "log_normal_", "normal_", "random_",      "requires_grad_",
                                       "resize_",    "resize_as_",  "set_",    "uniform_"};

BadInputs all_bad_input() {
  BadInputs all;
  for (const BadInputs& rows : {elementwise_bad_input(), in_place_bad_input(),
                                matmul_bad_input(),      reduce_bad_input(),
                                shape_bad_input(),       softmax_bad_input(),
                                norm_layers_bad_input(), conv_bad_input(),
                                pool_bad_input(),        dropout_bad_input(),
                                index_bad_input(),       advanced_index_bad_input(),
                                loss_bad_input(),        out_bad_input(),
                                sort_bad_input(),        rearrange_bad_input(),
                                pad_bad_input(),         random_bad_input(),
                                functions_bad_input(),   arithmetic_bad_input(),
                                statistics_bad_input(),  products_bad_input(),
                                distance_bad_input(),    group_norm_bad_input(),
                                attention_bad_input(),   pointwise_loss_bad_input(),
                                margin_loss_bad_input(), pool_nd_bad_input(),
                                interpolate_bad_input(), sampling_bad_input(),
                                rnn_bad_input()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(BadInput, ReportsCallsThatWereNotRefused) {
  const auto refuse = [] { throw ShapeError("mm", "a is [2]"); };
  const auto outcome = [](const BadInput& row) { return row.mismatch(); };
  EXPECT_EQ(outcome(BAD_INPUT("mm", refuse(), ShapeError, "a is", "[2]")), "");
  EXPECT_NE(outcome(BAD_INPUT("mm", refuse(), ShapeError, "[3]")).find("no '[3]'"), std::string::npos);
  EXPECT_NE(outcome(BAD_INPUT("bmm", refuse(), ShapeError, "[2]")).find("op is not 'bmm'"), std::string::npos);
  EXPECT_NE(outcome(BAD_INPUT("mm", refuse(), DTypeError, "[2]")).find("another exception"), std::string::npos);
  EXPECT_EQ(outcome(BAD_INPUT("mm", 1, ShapeError, "[2]")), "nothing was thrown");
}

TEST(OpErrors, EveryOpHasARow) {
  std::set<std::string> functions;
  for (const amp::PolicyRow& row : amp::policy_table) functions.insert(std::string(row.op));
  for (const std::string& header : included_headers("ops/ops.h")) functions.merge(declared_functions(header));
  for (const char* header : {"tensor/methods.inc", "tensor/tensor.h"}) {
    for (const std::string& name : declared_functions(header)) {
      if (name.ends_with('_') && !not_ops.count(name)) functions.insert(name);
    }
  }
  for (const char* name : {"add", "chunk", "relu", "index_add_", "tanh_", "copy_"}) {
    EXPECT_TRUE(functions.count(name)) << name << " was not found in the headers";
  }
  expect_covered(functions, all_bad_input(), exceptions);
}

}  // namespace
}  // namespace tandem::testing
