// The table of ops against PyTorch's autocast lists.
#include "amp/torch_lists.h"

#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

TEST(TorchLists, RowsMatchPyTorchsCudaPolicy) {
  for (const amp::PolicyRow& row : amp::policy_table) {
    const amp::Cast expected =
        reason_for_cpu_policy(row.op).empty() ? torch_cuda_policy(row.op) : torch_cpu_policy(row.op);
    EXPECT_EQ(static_cast<int>(row.cast), static_cast<int>(expected)) << row.op;
  }
}

TEST(TorchLists, RowsMatchPyTorchsCpuPolicy) {
  for (const amp::PolicyRow& row : amp::policy_table) {
    EXPECT_EQ(static_cast<int>(row.torch_cpu), static_cast<int>(torch_cpu_policy(row.op))) << row.op;
  }
}

TEST(TorchLists, CompositesAreNotListedByPyTorch) {
  for (const auto& [op, composite] : composites()) {
    EXPECT_GE(amp::policy_row(op), 0) << op;
    EXPECT_FALSE(torch_cuda_list().contains(op)) << op << ": " << composite.reason;
  }
}

}  // namespace
}  // namespace tandem::testing
