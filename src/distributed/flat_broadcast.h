#pragma once
// FlatBroadcast: tensors that one rank sends together to all others. Internal.
#include <vector>

#include "tandem/distributed/process_group.h"

namespace tandem::distributed {

/// Tensors of one root, dtype and device, which are sent as one flat tensor.
class FlatBroadcast {
 public:
  FlatBroadcast(int root, Tensor first) : root_(root), tensors_{std::move(first)} {}

  int root() const { return root_; }
  bool fits(int root, const Tensor& t) const;
  void add(Tensor t) { tensors_.push_back(std::move(t)); }

  /// Copies the tensors of the root, and starts the call.
  void start(ProcessGroup& group);
  const Work& work() const { return work_; }
  /// Calls f(tensor, its part of the flat tensor). The parts may be read after work().wait(), on all ranks but the
  /// root.
  template <class F>
  void each(const F& f) const {
    int64_t at = 0;
    for (const Tensor& t : tensors_) {
      f(t, flat_.narrow(0, at, t.numel()).view(t.sizes()));
      at += t.numel();
    }
  }

 private:
  int root_;
  std::vector<Tensor> tensors_;
  Tensor flat_;
  Work work_;
};

/// Groups tensors[i], which rank roots[i] sends, for i in [first, last). The order is the same on all ranks: that of
/// the first tensors of the messages.
std::vector<FlatBroadcast> flat_broadcasts(const std::vector<Tensor>& tensors, const std::vector<int>& roots,
                                           size_t first, size_t last);

}  // namespace tandem::distributed
