#include "src/optim/partition.h"

#include <algorithm>
#include <numeric>

#include "tandem/ops/overlap.h"

namespace tandem::optim {
namespace {

/// For each parameter, the first one that it shares memory with, directly or through others.
std::vector<size_t> first_sharers(const std::vector<Tensor>& params) {
  std::vector<size_t> by_address(params.size()), first(params.size());
  std::iota(by_address.begin(), by_address.end(), size_t{0});
  first = by_address;
  std::sort(by_address.begin(), by_address.end(), [&](size_t a, size_t b) {
    return detail::memory_of(params[a]).first < detail::memory_of(params[b]).first;
  });
  // Groups of overlapping ranges are neighbours in this order.
  for (size_t begin = 0; begin < by_address.size();) {
    size_t end = begin, lowest = by_address[begin];
    const char* reach = detail::memory_of(params[lowest]).second;
    while (++end < by_address.size()) {
      const auto [start, stop] = detail::memory_of(params[by_address[end]]);
      if (start >= reach) break;
      reach = std::max(reach, stop);
      lowest = std::min(lowest, by_address[end]);
    }
    for (; begin < end; ++begin) first[by_address[begin]] = lowest;
  }
  return first;
}

}  // namespace

void extend_partition(std::vector<int>& owners, const std::vector<Tensor>& params, int ranks) {
  const std::vector<size_t> first = first_sharers(params);
  std::vector<int64_t> sizes(params.size()), loads(static_cast<size_t>(ranks));
  for (size_t i = 0; i < params.size(); ++i) sizes[first[i]] += params[i].numel();
  constexpr int kNone = -1;
  const size_t present = owners.size();
  owners.resize(params.size(), kNone);
  for (size_t i = 0; i < present; ++i) loads[static_cast<size_t>(owners[i])] += params[i].numel();
  std::vector<size_t> groups;  // new parameters that share memory, by the first one
  for (size_t i = present; i < params.size(); ++i) {
    if (first[i] == i) groups.push_back(i);
  }
  std::stable_sort(groups.begin(), groups.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  for (const size_t i : groups) {
    const auto least = std::min_element(loads.begin(), loads.end());
    owners[i] = static_cast<int>(least - loads.begin());
    *least += sizes[i];
  }
  for (size_t i = present; i < params.size(); ++i) owners[i] = owners[first[i]];
}

}  // namespace tandem::optim
