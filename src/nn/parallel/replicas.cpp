#include "src/nn/parallel/replicas.h"

#include <map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/base/check.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/factories.h"

namespace tandem::nn::parallel::detail {
namespace {

int64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, the same on all machines
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash);
}

std::string show(const std::pair<std::string, Tensor>& t) { return t.first + " " + checks::show(t.second); }

/// The numbers of all ranks, [ranks, numbers.size()].
std::vector<Tensor> gathered(distributed::ProcessGroup& group, const std::vector<int64_t>& numbers, Device device) {
  const Tensor mine = tensor(numbers).to(device);
  std::vector<Tensor> all;
  for (int r = 0; r < group.size(); ++r) all.push_back(empty_like(mine));
  group.all_gather(all, mine);
  for (Tensor& t : all) t = t.cpu();
  return all;
}

}  // namespace

void check_equal_on_all_ranks(distributed::ProcessGroup& group, const NamedTensors& tensors) {
  if (group.size() == 1) return;
  const Device device = tensors[0].second.device();
  const std::vector<Tensor> counts = gathered(group, {static_cast<int64_t>(tensors.size())}, device);
  for (int r = 0; r < group.size(); ++r) {
    const int64_t count = counts[static_cast<size_t>(r)].item<int64_t>(), first = counts[0].item<int64_t>();
    TANDEM_CHECK(count == first, StateError,
                 "the module has {} parameters and buffers on rank 0, but {} on rank {}; make the same module on all "
                 "ranks",
                 first, count, r);
  }
  std::vector<int64_t> hashes;
  for (const auto& t : tensors) hashes.push_back(hash_of(show(t)));
  const std::vector<Tensor> all = gathered(group, hashes, device);
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t r = 1; r < all.size(); ++r) {
      TANDEM_CHECK(
          all[r].raw<int64_t>()[i] == all[0].raw<int64_t>()[i], StateError,
          "parameter or buffer {} is not the same on ranks 0 and {}; here, on rank {}, it is {}. Make the same "
          "module on all ranks",
          i, r, group.rank(), show(tensors[i]));
    }
  }
}

void broadcast_from_first_rank(distributed::ProcessGroup& group, const NamedTensors& tensors) {
  if (group.size() == 1) return;
  const NoGradGuard no_grad;
  std::map<DType, std::vector<Tensor>> by_dtype;
  for (const auto& [name, t] : tensors) by_dtype[t.dtype()].push_back(t.detach());
  for (const auto& [dtype, list] : by_dtype) {
    int64_t count = 0;
    for (const Tensor& t : list) count += t.numel();
    const Tensor flat = empty({count}, list[0].options());
    const auto each = [&](auto f) {
      int64_t at = 0;
      for (const Tensor& t : list) {
        f(t, flat.narrow(0, at, t.numel()).view(t.sizes()));
        at += t.numel();
      }
    };
    if (group.rank() == 0) each([](const Tensor& t, const Tensor& part) { part.copy_(t); });
    group.broadcast(flat, 0);
    if (group.rank() != 0) each([](const Tensor& t, const Tensor& part) { t.copy_(part); });
  }
}

}  // namespace tandem::nn::parallel::detail
