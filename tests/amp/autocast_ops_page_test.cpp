// docs/autocast-ops.md is generated from the policy table.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "amp/torch_lists.h"
#include "support/paths.h"

namespace tandem::testing {
namespace {

using amp::Cast;

const char* name(Cast cast) {
  constexpr const char* names[] = {"lower", "f32", "f32_dtype", "promote", "keep", "banned"};
  return names[static_cast<int>(cast)];
}

/// Why tandem's policy is not PyTorch's for CUDA, or where that policy comes from.
std::string note(const amp::PolicyRow& row) {
  std::string text;
  if (const auto composite = composites().find(row.op); composite != composites().end()) {
    text = composite->second.reason;
  }
  if (const std::string_view reason = reason_for_cpu_policy(row.op); !reason.empty()) {
    text = "PyTorch's CPU policy on every device: " + std::string(reason);
  }
  return text;
}

std::string join(const TorchList& list, Cast cast) {
  std::string text;
  for (const auto& [op, policy] : list) {
    if (policy == cast && amp::policy_row(op) < 0) text += (text.empty() ? "`" : ", `") + op + '`';
  }
  return text;
}

std::string page() {
  std::ostringstream out;
  out << R"(# Autocast by op

What autocast does with the inputs of each op, beside PyTorch's lists. Generated from
[policy.h](../include/tandem/amp/policy.h) by a test, which fails if this page is out of date; to write it again:

    TANDEM_UPDATE_DOCS=1 build/release/tests/amp_test --gtest_filter='AutocastOpsPage.*'

- **lower**: inputs are cast to the region's dtype.
- **f32**: inputs are cast to f32.
- **f32_dtype**: the op's `dtype` argument becomes f32, unless the caller gave one.
- **promote**: inputs are cast to the widest dtype among them.
- **keep**: no cast; the ordinary promotion rules apply.
- **banned**: an error that names a safe op.

tandem has one policy per op for all devices, so that a program computes the same on each. It is PyTorch's policy for
CUDA unless the last column says otherwise. `amp::PolicyGuard guard(amp::torch_cpu_policy())` gives PyTorch's CPU
policies in a region; `amp::set_policy` changes single ops.

| op | tandem | PyTorch, CUDA | PyTorch, CPU | note |
|---|---|---|---|---|
)";
  for (const amp::PolicyRow& row : amp::policy_table) {
    if (row.role == amp::Role::derivative) continue;
    out << "| `" << row.op << "` | " << name(row.cast) << " | " << name(torch_cuda_policy(row.op)) << " | "
        << name(torch_cpu_policy(row.op)) << " | " << note(row) << " |\n";
  }
  out << R"(
## In PyTorch's lists only

Ops of PyTorch's lists that tandem does not have under this name. Some are internal names of ops that are listed above
(`_convolution`, `cudnn_convolution`, `native_layer_norm`); Fourier transforms, decompositions, quantisation and complex
numbers are out of tandem's scope.

| list | policy | ops |
|---|---|---|
)";
  for (const auto& [which, list] : {std::pair{"CUDA", &torch_cuda_list()}, {"CPU", &torch_cpu_list()}}) {
    for (Cast cast : {Cast::lower, Cast::f32, Cast::f32_dtype, Cast::promote, Cast::banned}) {
      if (const std::string ops = join(*list, cast); !ops.empty()) {
        out << "| " << which << " | " << name(cast) << " | " << ops << " |\n";
      }
    }
  }
  return out.str();
}

TEST(AutocastOpsPage, IsUpToDate) {
  const std::string path = source_path("../docs/autocast-ops.md"), expected = page();
  if (std::getenv("TANDEM_UPDATE_DOCS")) std::ofstream(path) << expected;
  std::ifstream file(path);
  std::ostringstream actual;
  actual << file.rdbuf();
  EXPECT_TRUE(actual.str() == expected) << path << " is out of date; run this test with TANDEM_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace tandem::testing
