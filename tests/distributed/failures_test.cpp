// Ranks that leave, hang, fail or make different calls: the others learn which rank and which call. For threads; the
// processes of an MPI job end with such errors, see faults/faults_test.py.
#include <chrono>
#include <thread>

#include "distributed/ranks.h"
#include "support/throws.h"
#include "tandem/ops/ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

using distributed::ProcessGroupOptions;
using distributed::ReduceOp;
using std::chrono::milliseconds;

constexpr milliseconds kLimit(500);  // long enough for threads that run on a busy machine

TEST(Failures, DifferentCallsAreNamedOnAllRanks) {
  on_threads(3, [](const Group& group) {
    const auto call = [&] {
      if (group->rank() == 1) return group->broadcast(ones({4}), 0);
      group->all_reduce(ones({4}));
    };
    EXPECT_THROWS(call(), StateError, "ranks 0, 2: all_reduce SUM [4] f32", "rank 1: broadcast [4] f32 from rank 0");
    EXPECT_THROWS(group->barrier(), StateError, "different calls");
  });
}

TEST(Failures, DifferentSizesDtypesAndRoots) {
  on_threads(2, [](const Group& group) {
    EXPECT_THROWS(group->all_reduce(ones({group->rank() + 1})), StateError, "[1] f32", "[2] f32");
  });
  on_threads(2, [](const Group& group) {
    EXPECT_THROWS(group->all_reduce(ones({2}, group->rank() == 0 ? kFloat : kHalf)), StateError, "f32", "f16");
  });
  on_threads(2, [](const Group& group) {
    EXPECT_THROWS(group->broadcast(ones({2}), group->rank()), StateError, "from rank 0", "from rank 1");
  });
  on_threads(2, [](const Group& group) {
    EXPECT_THROWS(group->all_reduce(ones({2}), group->rank() == 0 ? ReduceOp::SUM : ReduceOp::MAX), StateError, "SUM",
                  "MAX");
  });
}

TEST(Failures, ARankThatHangsIsNamed) {
  const auto run = [](const Group& group) {
    if (group->rank() == 1) {
      std::this_thread::sleep_for(3 * kLimit);
      return;
    }
    EXPECT_THROWS(group->all_reduce(ones({4})), StateError, "rank 1 did not join all_reduce SUM [4] f32", "500 ms");
  };
  on_threads(3, run, {.timeout = kLimit});
}

TEST(Failures, ARankThatHasLeftIsNamedAtOnce) {
  on_threads(3, [](const Group& group) {
    group->barrier();
    if (group->rank() == 2) return;
    EXPECT_THROWS(group->all_reduce(ones({4})), StateError, "rank 2 has left", "all_reduce SUM [4] f32");
  });
}

TEST(Failures, ARankThatAbortsEndsTheCallsOfTheOthers) {
  on_threads(3, [](const Group& group) {
    if (group->rank() == 0) {
      group->abort("the data file is damaged");
    } else {
      EXPECT_THROWS(group->barrier(), StateError, "rank 0 left the group: the data file is damaged");
    }
  });
}

TEST(Failures, AnExceptionAborts) {
  std::vector<Group> groups = distributed::make_thread_groups(2);
  std::jthread other([group = groups[1]] { EXPECT_THROWS(group->barrier(), StateError, "rank 0", "exception"); });
  EXPECT_THROW(
      {
        const Group mine = std::move(groups[0]);
        throw std::runtime_error("a bug");
      },
      std::runtime_error);
}

TEST(Failures, OfSendsAndReceives) {
  on_threads(2, [](const Group& group) {
    const auto call = [&] {
      if (group->rank() == 0) {
        group->send(ones({4}), 1);
      } else {
        group->recv(ones({5}), 0);
      }
    };
    EXPECT_THROWS(call(), StateError, "send [4] f32 to rank 1", "recv [5] f32 from rank 0");
  });
}

TEST(Failures, ASendOrReceiveOfARankThatHasLeft) {
  on_threads(3, [](const Group& group) {
    if (group->rank() == 2) return;
    if (group->rank() == 0) {
      EXPECT_THROWS(group->recv(ones({4}), 2), StateError, "rank 2 has left", "recv [4] f32 from rank 2");
    }
  });
}

TEST(Failures, ASendThatNobodyReceivesNamesTheReceiver) {
  const auto run = [](const Group& group) {
    if (group->rank() == 0) {
      std::this_thread::sleep_for(3 * kLimit);
      return;
    }
    EXPECT_THROWS(group->send(ones({4}), 0), StateError, "send: rank 0 did not join send [4] f32 to rank 0");
  };
  on_threads(2, run, {.timeout = kLimit});
}

TEST(Failures, BadTimeLimitsAreRefused) {
  EXPECT_THROWS(distributed::make_thread_groups(1, {.timeout = milliseconds(0)}), StateError, "timeout = 0 ms");
  EXPECT_THROWS(distributed::make_thread_groups(1, {.timeout = milliseconds::max()}), StateError, "ten years");
}

TEST(Failures, AGroupNeedsARank) {
  EXPECT_THROWS(distributed::make_thread_groups(0), StateError, "make_thread_groups: ", "size = 0");
}

}  // namespace
}  // namespace tandem::testing
