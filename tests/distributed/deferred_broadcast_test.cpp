// broadcast_deferred: windows, and tensors of several roots, dtypes and layouts.
#include "src/distributed/deferred_broadcast.h"

#include "distributed/models.h"
#include "support/state.h"

namespace tandem::testing {
namespace {

struct Sent {
  std::vector<Tensor> tensors;
  std::vector<int> roots;
};

/// Tensors of 256 to 704 bytes without known pointers, whose values depend on `seed`, and their roots among `ranks`.
Sent tensors_of(int64_t seed, int ranks) {
  Sent sent;
  for (int i = 0; i < 8; ++i) {
    const Tensor x = numbers({8, 8 + i % 4}, seed + i, i % 3 == 2 ? kDouble : kFloat).clone();
    sent.tensors.push_back(i % 2 == 0 ? x : x.t());
    sent.roots.push_back(i % ranks);
  }
  return sent;
}

TEST(DeferredBroadcast, AllWindowsArrive) {
  on_ranks([](const Group& group) {
    for (const size_t window : {1, 600, 100000}) {
      const Sent sent = tensors_of(100 * group->rank(), group->size());
      distributed::broadcast_deferred(*group, sent.tensors, sent.roots, window);
      for (size_t i = 0; i < sent.tensors.size(); ++i) {
        const int root = sent.roots[i];
        EXPECT_EQ(sent.tensors[i].storage().has_pending(), root != group->rank());
        EXPECT_EQ(difference(sent.tensors[i], tensors_of(100 * root, group->size()).tensors[i]), "") << i;
      }
    }
  });
}

TEST(DeferredBroadcast, EachWindowIsAMessageForEachRootAndDtype) {
  on_threads(2, [](const Group& group) {
    const auto messages = [&](size_t window) {
      const Sent sent = tensors_of(0, 2);
      const int64_t before = group->statistics().calls;
      distributed::broadcast_deferred(*group, sent.tensors, sent.roots, window);
      return group->statistics().calls - before;
    };
    EXPECT_EQ(messages(1), 8) << "one for each tensor";
    EXPECT_EQ(messages(100000), 4) << "2 roots, 2 dtypes";
    EXPECT_EQ(messages(2000), 6) << "3 for the first five tensors, and 3 for the rest";
  });
}

}  // namespace
}  // namespace tandem::testing
