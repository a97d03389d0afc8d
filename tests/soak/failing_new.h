#pragma once
// Replaces operator new in the test program by one that can fail on request.
#include <cstdint>

namespace tandem::testing {

/// Until the end of its scope, the calling thread's allocations with operator new are counted; number `fails` (from 0)
/// throws std::bad_alloc, and so do all after it if `and_all_after`.
class FailingNew {
 public:
  explicit FailingNew(uint64_t fails = ~uint64_t{0}, bool and_all_after = false);
  ~FailingNew();
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;
  /// Allocations so far.
  uint64_t count() const;
  bool has_failed() const;
};

}  // namespace tandem::testing
