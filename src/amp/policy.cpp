#include <atomic>

#include "tandem/amp/policy_overrides.h"
#include "tandem/base/check.h"

namespace tandem::amp {
namespace {

constexpr size_t kRows = policy_table.size();

/// The process-wide policies. Read on every call, so each entry costs one relaxed load.
std::array<std::atomic<Cast>, kRows>& process_policies() {
  static auto* policies = [] {
    auto* p = new std::array<std::atomic<Cast>, kRows>;
    for (size_t i = 0; i < kRows; ++i) (*p)[i].store(policy_table[i].cast);
    return p;
  }();
  return *policies;
}

size_t known_row(std::string_view op) {
  const int row = policy_row(op);
  TANDEM_CHECK(row >= 0, StateError, "there is no op named '{}'; include/tandem/amp/policy.h lists the names", op);
  return static_cast<size_t>(row);
}

/// Returns the row of `op`, after checking that its policy may become `cast`.
size_t row_for(std::string_view op, Cast cast) {
  const size_t row = known_row(op);
  TANDEM_CHECK(cast != Cast::f32_dtype || policy_table[row].cast == Cast::f32_dtype, StateError,
               "'{}' has no dtype argument for f32_dtype to set; use Cast::f32", op);
  return row;
}

}  // namespace

PolicyOverrides::PolicyOverrides(const PolicyOverrides* outer, const PolicyChanges& changes) {
  const OpScope scope("PolicyOverrides");
  for (size_t i = 0; i < kRows; ++i) casts_[i] = outer ? outer->casts_[i] : process_policies()[i].load();
  for (const auto& [op, cast] : changes) casts_[row_for(op, cast)] = cast;
}

PolicyGuard::PolicyGuard(const PolicyChanges& changes) : outer_(thread_state().policy) {
  const OpScope op("PolicyGuard");
  thread_state().policy = std::make_shared<const PolicyOverrides>(outer_.get(), changes);
}

PolicyGuard::~PolicyGuard() { thread_state().policy = std::move(outer_); }

void set_policy(std::string_view op, Cast cast) {
  const OpScope scope("set_policy");
  process_policies()[row_for(op, cast)].store(cast);
}

Cast get_policy(std::string_view op) {
  const OpScope scope("get_policy");
  return detail::current_policy(static_cast<int>(known_row(op)));
}

void reset_policies() {
  for (size_t i = 0; i < kRows; ++i) process_policies()[i].store(policy_table[i].cast);
}

PolicyChanges torch_cpu_policy() {
  PolicyChanges changes;
  for (const PolicyRow& row : policy_table) {
    if (row.torch_cpu != row.cast) changes.emplace_back(row.op, row.torch_cpu);
  }
  return changes;
}

namespace detail {

Cast current_policy(int row) {
  if (const PolicyOverrides* overrides = thread_state().policy.get()) [[unlikely]]
    return overrides->of(row);
  return process_policy(row);
}

Cast process_policy(int row) { return process_policies()[static_cast<size_t>(row)].load(std::memory_order_relaxed); }

void throw_banned(std::string_view op) {
  if (op == "binary_cross_entropy") {
    TANDEM_THROW(StateError,
                 "not safe under autocast: the sigmoid before it saturates in 16 bits and its gradient overflows; "
                 "remove the sigmoid and use binary_cross_entropy_with_logits (nn::BCEWithLogitsLoss), or call it on "
                 "f32 inputs in a region with autocast disabled");
  }
  TANDEM_THROW(StateError,
               "{}banned under autocast by the current policy; call it in a region with autocast disabled, or change "
               "its policy with amp::PolicyGuard",
               op == running_op() ? std::string() : fmt::format("it runs {}, which is ", op));
}

}  // namespace detail
}  // namespace tandem::amp
