#include "src/distributed/replicas.h"

#include "src/distributed/flat_broadcast.h"
#include "src/distributed/fnv1a.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

/// What must be equal on all ranks. Buckets have the memory order of the parameters, so strides count too.
std::string show(const std::pair<std::string, Tensor>& named) {
  const Tensor& t = named.second;
  return fmt::format("{} {}{}{}", named.first, checks::show(t),
                     t.is_contiguous() ? "" : fmt::format(" with strides {}", to_string(t.strides())),
                     t.requires_grad() ? "" : ", which requires no gradient");
}

/// The numbers of all ranks, [ranks, numbers.size()].
std::vector<Tensor> gathered(ProcessGroup& group, const std::vector<int64_t>& numbers, Device device) {
  const Tensor mine = tensor(numbers).to(device);
  std::vector<Tensor> all;
  for (int r = 0; r < group.size(); ++r) all.push_back(empty_like(mine));
  group.all_gather(all, mine);
  for (Tensor& t : all) t = t.cpu();
  return all;
}

}  // namespace

void check_equal_on_all_ranks(ProcessGroup& group, const NamedTensors& tensors, const ReplicaWords& words) {
  if (group.size() == 1) return;
  const Device device = tensors[0].second.device();
  const std::vector<Tensor> counts = gathered(group, {static_cast<int64_t>(tensors.size())}, device);
  for (int r = 0; r < group.size(); ++r) {
    const int64_t count = counts[static_cast<size_t>(r)].item<int64_t>(), first = counts[0].item<int64_t>();
    TANDEM_CHECK(count == first, StateError,
                 "the {0} has {1} {2} on rank 0, but {3} on rank {4}; make the same {0} on all ranks", words.owner,
                 first, words.many, count, r);
  }
  std::vector<int64_t> hashes;
  for (const auto& t : tensors) hashes.push_back(static_cast<int64_t>(fnv1a(show(t))));
  const std::vector<Tensor> all = gathered(group, hashes, device);
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t r = 1; r < all.size(); ++r) {
      TANDEM_CHECK(all[r].raw<int64_t>()[i] == all[0].raw<int64_t>()[i], StateError,
                   "{} {} is not the same on ranks 0 and {}; here, on rank {}, it is {}. Make the same {} on all ranks",
                   words.one, i, r, group.rank(), show(tensors[i]), words.owner);
    }
  }
}

void broadcast_from(ProcessGroup& group, const std::vector<Tensor>& tensors, const std::vector<int>& roots) {
  if (group.size() == 1) return;
  const NoGradGuard no_grad;
  std::vector<FlatBroadcast> messages = flat_broadcasts(tensors, roots, 0, tensors.size());
  for (FlatBroadcast& m : messages) m.start(group);
  for (const FlatBroadcast& m : messages) {
    m.work().wait();
    if (group.rank() != m.root()) m.each([](const Tensor& t, const Tensor& part) { t.copy_(part); });
  }
}

void broadcast_from_first_rank(ProcessGroup& group, const NamedTensors& tensors) {
  std::vector<Tensor> list;
  for (const auto& named : tensors) list.push_back(named.second);
  broadcast_from(group, list, std::vector<int>(list.size(), 0));
}

}  // namespace tandem::distributed
