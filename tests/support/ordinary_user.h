#pragma once
// Tests of what the system refuses, also where they run as root.
#include <gtest/gtest.h>
#include <unistd.h>

namespace tandem::testing {

/// Makes root's process one of an ordinary user while it lives: root may do everything.
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
  /// Root's id stays the saved one, from which it can be taken again. Only root may change the group.
  static void change(uid_t id) {
    const bool done = id == 0 ? setresuid(id, id, 0) == 0 && setresgid(id, id, 0) == 0
                              : setresgid(id, id, 0) == 0 && setresuid(id, id, 0) == 0;
    EXPECT_TRUE(done);
  }
  bool is_root_ = geteuid() == 0;
};

}  // namespace tandem::testing
