#include "src/distributed/flat_broadcast.h"

#include <algorithm>

#include "tandem/tensor/factories.h"

namespace tandem::distributed {

bool FlatBroadcast::fits(int root, const Tensor& t) const {
  return root_ == root && tensors_[0].dtype() == t.dtype() && tensors_[0].device() == t.device();
}

void FlatBroadcast::start(ProcessGroup& group) {
  int64_t count = 0;
  for (const Tensor& t : tensors_) count += t.numel();
  flat_ = empty({count}, tensors_[0].options());
  if (group.rank() == root_) each([](const Tensor& t, const Tensor& part) { part.copy_(t); });
  work_ = group.broadcast_async(flat_, root_);
}

std::vector<FlatBroadcast> flat_broadcasts(const std::vector<Tensor>& tensors, const std::vector<int>& roots,
                                           size_t first, size_t last) {
  std::vector<FlatBroadcast> messages;
  for (size_t i = first; i < last; ++i) {
    const Tensor t = tensors[i].detach();
    const auto message = std::ranges::find_if(messages, [&](const FlatBroadcast& m) { return m.fits(roots[i], t); });
    if (message == messages.end()) {
      messages.emplace_back(roots[i], t);
    } else {
      message->add(t);
    }
  }
  return messages;
}

}  // namespace tandem::distributed
