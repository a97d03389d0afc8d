#pragma once
// Changes the policies of ops at run time: for the process, or for a scope on one thread.
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/amp/policy.h"
#include "tandem/tensor/context.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// Ops and their new policies.
using PolicyChanges = std::vector<std::pair<std::string, Cast>>;

/// The policies of all ops inside a PolicyGuard.
class PolicyOverrides {
 public:
  /// Applies `changes` to the policies of `outer` (null: those of the process). Throws StateError for an unknown op or
  /// a policy that the op cannot have.
  PolicyOverrides(const PolicyOverrides* outer, const PolicyChanges& changes);
  /// The policy of a row of policy_table.
  Cast of(int row) const { return casts_[static_cast<size_t>(row)]; }

 private:
  std::array<Cast, policy_table.size()> casts_;
};

/// Changes the policies of ops on this thread until the end of the scope. Guards can be nested.
///
///   amp::PolicyGuard guard({{"softmax", amp::Cast::keep}, {"layer_norm", amp::Cast::lower}});
class PolicyGuard {
 public:
  [[nodiscard]] explicit PolicyGuard(const PolicyChanges& changes);
  ~PolicyGuard();
  PolicyGuard(const PolicyGuard&) = delete;
  PolicyGuard& operator=(const PolicyGuard&) = delete;

 private:
  std::shared_ptr<const PolicyOverrides> outer_;
};

/// Changes the policy of an op for the whole process, from its next call on. Throws StateError for an unknown op or a
/// policy that the op cannot have.
void set_policy(std::string_view op, Cast cast);
/// Returns the policy of an op in force on this thread. Throws StateError for an unknown op.
Cast get_policy(std::string_view op);
/// Undoes all set_policy() calls.
void reset_policies();

/// PyTorch's CPU policies, as changes to this table, for comparisons with PyTorch on the CPU.
/// Source: aten/src/ATen/autocast_mode.cpp (AutocastCPU).
PolicyChanges torch_cpu_policy();

namespace detail {
/// The policy in force on this thread for a row of the table.
Cast current_policy(int row);
/// The policy of a row outside PolicyGuards.
Cast process_policy(int row);
/// Throws a StateError that says that the op is banned under autocast and what to use instead.
[[noreturn]] void throw_banned(std::string_view op);
}  // namespace detail

}  // namespace tandem::amp
#pragma GCC visibility pop
