#pragma once
// Changes of the policy table at run time: for the process, or for a region of one thread.
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/amp/policy.h"
#include "tandem/tensor/context.h"

namespace tandem::amp {

/// Op names with the policy that they get instead of the table's.
using PolicyChanges = std::vector<std::pair<std::string, Cast>>;

/// The policy of every op inside a PolicyGuard.
class PolicyOverrides {
 public:
  /// The outer region's policies (null: the process's), with `changes` applied. Throws StateError for an unknown op.
  PolicyOverrides(const PolicyOverrides* outer, const PolicyChanges& changes);
  Cast of(int row) const { return casts_[static_cast<size_t>(row)]; }

 private:
  std::array<Cast, policy_table.size()> casts_;
};

/// Changes the policy of ops on this thread until the end of the scope; guards nest.
///
///   amp::PolicyGuard guard({{"softmax", amp::Cast::keep}, {"layer_norm", amp::Cast::lower}});
class [[nodiscard]] PolicyGuard {
 public:
  explicit PolicyGuard(const PolicyChanges& changes);
  ~PolicyGuard();
  PolicyGuard(const PolicyGuard&) = delete;
  PolicyGuard& operator=(const PolicyGuard&) = delete;

 private:
  std::shared_ptr<const PolicyOverrides> outer_;
};

/// Changes the policy of an op for the whole process, from the next call on. Throws StateError for an unknown op.
void set_policy(std::string_view op, Cast cast);
/// The policy of an op on this thread now. Throws StateError for an unknown op.
Cast get_policy(std::string_view op);
/// Undoes every set_policy.
void reset_policies();

/// PyTorch's CPU lists as changes of this table, for comparisons with PyTorch on the CPU.
/// Source: aten/src/ATen/autocast_mode.cpp (AutocastCPU).
PolicyChanges torch_cpu_policy();

namespace detail {
/// The policy in force for a row of the table.
Cast current_policy(int row);
/// The policy of a row outside of every PolicyGuard.
Cast process_policy(int row);
/// Throws StateError: the op is banned inside autocast; says what to use.
[[noreturn]] void throw_banned(std::string_view op);
}  // namespace detail

}  // namespace tandem::amp
