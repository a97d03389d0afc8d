#pragma once
// PyTorch's autocast lists in its ATen registrations (aten/src/ATen/autocast_mode.h and autocast_mode.cpp), without
// overloads, and how the rows of the policy table relate to them.
#include <map>
#include <string>
#include <string_view>

#include "tandem/amp/policy.h"

namespace tandem::testing {

using TorchList = std::map<std::string, amp::Cast, std::less<>>;

const TorchList& torch_cuda_list();
const TorchList& torch_cpu_list();

/// Ops that are composites in PyTorch on one of the devices at least, so that their policy there follows from their
/// parts; and ops that only tandem has.
struct Composite {
  amp::Cast cuda, cpu;
  const char* reason;
};
const std::map<std::string_view, Composite>& composites();

/// Returns why tandem has PyTorch's CPU policy of `op` on every device; empty for other ops.
std::string_view reason_for_cpu_policy(std::string_view op);

/// Returns PyTorch's policies of an op of the table.
amp::Cast torch_cuda_policy(std::string_view op);
amp::Cast torch_cpu_policy(std::string_view op);

}  // namespace tandem::testing
