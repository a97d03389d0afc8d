// Checks that the case table is complete and matches the golden values.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cases/cases.h"
#include "support/golden.h"

namespace tandem::testing {
namespace {

TEST(CaseTable, EveryOpHasACase) {
  std::set<std::string_view> covered;
  for (const Case& c : all_cases()) covered.insert(c.op);
  for (const amp::PolicyRow& row : amp::policy_table) {
    if (row.role == amp::Role::derivative) {
      EXPECT_EQ(covered.count(row.op), 0u) << row.op << " is marked as a derivative and has a case";
    } else {
      EXPECT_EQ(covered.count(row.op), 1u) << row.op << " has no case: add one to tests/cases";
    }
  }
}

TEST(CaseTable, CasesNameOpsOfThePolicyTable) {
  for (const Case& c : all_cases()) EXPECT_GE(amp::policy_row(c.op), 0) << full_name(c);
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
