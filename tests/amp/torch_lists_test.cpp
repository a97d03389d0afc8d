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

TEST(TorchLists, CompositesAgreeWithPyTorchsLists) {
  for (const auto& [op, composite] : composites()) {
    EXPECT_GE(amp::policy_row(op), 0) << op;
    EXPECT_FALSE(torch_cpu_list().contains(op)) << op << ": " << composite.reason;
    if (const auto listed = torch_cuda_list().find(op); listed != torch_cuda_list().end()) {
      EXPECT_EQ(static_cast<int>(listed->second), static_cast<int>(composite.cuda)) << op;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
