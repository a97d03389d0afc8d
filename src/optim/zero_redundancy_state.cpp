// Saving and loading of ZeroRedundancyOptimizer.
#include <algorithm>
#include <charconv>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/io/safetensors.h"
#include "tandem/optim/zero_redundancy_optimizer.h"
#include "tandem/tensor/factories.h"

namespace tandem::optim {
namespace {

constexpr const char* kRank = "zero_redundancy.rank";
constexpr const char* kOwners = "zero_redundancy.owners";
constexpr std::string_view kOfParameters[] = {"state.", "master_weights."};

/// Whether the key is that of a parameter's state (0) or master (1), and the parameter's number; {2, 0} for others.
std::pair<int, int64_t> place_of_key(const std::string& key) {
  for (int kind = 0; kind < 2; ++kind) {
    const std::string_view prefix = kOfParameters[kind];
    if (!key.starts_with(prefix)) continue;
    int64_t number = 0;
    std::from_chars(key.data() + prefix.size(), key.data() + key.size(), number);
    return {kind, number};
  }
  return {2, 0};
}

/// The entries of parameters.
StateDict of_parameters(const StateDict& state) {
  StateDict part;
  for (const auto& item : state) {
    if (place_of_key(item.key()).first < 2) part.insert(item.key(), item.value());
  }
  return part;
}

/// In host memory, whatever the default device is.
Tensor host_integers(const std::vector<int64_t>& values) { return tensor(values, TensorOptions(kLong).device(kCPU)); }

void send_part(distributed::ProcessGroup& group, const StateDict& part, int to) {
  std::string bytes = io::serialize(part);
  const auto size = static_cast<int64_t>(bytes.size());
  group.send(host_integers({size}), to);
  group.send(from_blob(bytes.data(), {size}, TensorOptions(kByte)), to);
}

StateDict receive_part(distributed::ProcessGroup& group, int from) {
  const Tensor size = host_integers({0});
  group.recv(size, from);
  const Tensor bytes = empty({size.item<int64_t>()}, TensorOptions(kByte).device(kCPU));
  group.recv(bytes, from);
  return io::deserialize({static_cast<const char*>(bytes.raw_bytes()), static_cast<size_t>(bytes.numel())}).tensors;
}

}  // namespace

void ZeroRedundancyOptimizer::consolidate_state_dict(int to) {
  const UserCodeScope op("consolidate_state_dict");
  TANDEM_CHECK(to >= 0 && to < group_->size(), IndexError, "rank {} does not exist; the group has {} ranks", to,
               group_->size());
  consolidated_.reset();
  const StateDict own = of_parameters(Optimizer::state_dict());
  if (group_->rank() != to) return send_part(*group_, own, to);
  std::vector<std::pair<std::string, Tensor>> all;
  for (int r = 0; r < group_->size(); ++r) {
    for (const auto& item : r == to ? own : receive_part(*group_, r)) {
      const Tensor value = item.value().detach();
      all.emplace_back(item.key(), r != to ? value : value.is_cpu() ? value.clone() : value.cpu());
    }
  }
  // The order of the unsharded optimizer: first states, then masters, by the numbers of the parameters.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return place_of_key(a.first) < place_of_key(b.first); });
  StateDict& collected = consolidated_.emplace();
  for (auto& [key, value] : all) collected.insert(key, std::move(value));
}

StateDict ZeroRedundancyOptimizer::state_dict() const {
  if (group_->size() == 1) return Optimizer::state_dict();
  {
    const OpScope op("state_dict");
    TANDEM_CHECK(consolidated_, StateError,
                 "the state is sharded over {} ranks, and rank {} has not collected it since the last step; first call "
                 "consolidate_state_dict({}) on all ranks, or save each rank's local_state_dict()",
                 group_->size(), group_->rank(), group_->rank());
  }
  StateDict groups, rest;
  for (const auto& item : Optimizer::state_dict()) {
    if (place_of_key(item.key()).first < 2) continue;
    (item.key().starts_with("param_groups.") ? groups : rest).insert(item.key(), item.value());
  }
  groups.update(*consolidated_);
  groups.update(rest);
  return groups;
}

StateCommit ZeroRedundancyOptimizer::prepare_load_state_dict(const StateDict& state) {
  {
    const OpScope op("load_state_dict");
    TANDEM_CHECK(
        !state.contains(kRank), StateError,
        "this is the local state of one rank; load it with load_local_state_dict(), or save state_dict() after "
        "consolidate_state_dict()");
  }
  share_options();  // they determine the dtypes of states
  return [this, commit = Optimizer::prepare_load_state_dict(state)] {
    commit();
    consolidated_.reset();
  };
}

StateDict ZeroRedundancyOptimizer::local_state_dict() const {
  StateDict state = Optimizer::state_dict();
  state.insert(kRank, tensor(int64_t{group_->rank()}, TensorOptions(kLong).device(kCPU)));
  state.insert(kOwners, host_integers({owners_.begin(), owners_.end()}));
  return state;
}

void ZeroRedundancyOptimizer::load_local_state_dict(const StateDict& state) {
  StateDict rest;
  {
    const OpScope op("load_local_state_dict");
    const Tensor *rank = state.find(kRank), *owners = state.find(kOwners);
    TANDEM_CHECK(rank && owners, StateError,
                 "this is not the local state of a rank; load a consolidated state with load_state_dict()");
    TANDEM_CHECK(rank->item<int64_t>() == group_->rank(), StateError,
                 "this is the state of rank {}, but this is rank {}; each rank must load what it has saved",
                 rank->item<int64_t>(), group_->rank());
    const Tensor now = host_integers({owners_.begin(), owners_.end()});
    const Tensor saved = owners->cpu();
    bool same = saved.dtype() == kLong && saved.sizes() == now.sizes();
    for (int64_t i = 0; same && i < now.numel(); ++i) {
      same = saved[i].item<int64_t>() == now[i].item<int64_t>();
    }
    TANDEM_CHECK(same, StateError,
                 "the parameters are divided among {} ranks in another way than in this state; save a consolidated "
                 "state (consolidate_state_dict) to resume on another number of ranks or with other parameters",
                 group_->size());
    for (const auto& item : state) {
      if (item.key() != kRank && item.key() != kOwners) rest.insert(item.key(), item.value());
    }
  }
  prepare_load_state_dict(rest)();
}

}  // namespace tandem::optim
