#pragma once
// For tests of operations that the system refuses, which must also pass when they run as root.
#include <gtest/gtest.h>
#include <unistd.h>

namespace tandem::testing {

/// Drops root privileges during its lifetime. Root passes all permission checks, so the refusals would not occur.
class OrdinaryUser {
 public:
  static constexpr uid_t kId = 65534;
  OrdinaryUser() {
    if (is_root_) change(kId);
  }
  ~OrdinaryUser() {
    if (is_root_) change(0);
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  /// Keeps root as the saved id, so that it can be restored. Only root may change the group.
  static void change(uid_t id) {
    const bool done = id == 0 ? setresuid(id, id, 0) == 0 && setresgid(id, id, 0) == 0
                              : setresgid(id, id, 0) == 0 && setresuid(id, id, 0) == 0;
    EXPECT_TRUE(done);
  }
  bool is_root_ = geteuid() == 0;
};

}  // namespace tandem::testing
