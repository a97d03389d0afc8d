#pragma once
// Reports the leaves that ops use. Internal.
#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// During its scope, receives every leaf that requires grad whose use this thread records. All nested observers are
/// called.
class LeafObserver {
 public:
  LeafObserver();
  virtual ~LeafObserver();
  LeafObserver(const LeafObserver&) = delete;
  LeafObserver& operator=(const LeafObserver&) = delete;
  virtual void used(const Tensor& leaf) = 0;

  /// Calls the observers of this thread.
  static void tell(const Tensor& leaf) {
    for (LeafObserver* o = innermost; o; o = o->outer_) [[unlikely]] o->used(leaf);
  }

 private:
  static inline constinit thread_local LeafObserver* innermost = nullptr;
  LeafObserver* outer_;
};

}  // namespace tandem::autograd
