#pragma once
// Which leaves an op uses. Internal.
#include "tandem/tensor/tensor.h"

namespace tandem::autograd {

/// Sees every leaf that requires grad and that this thread records a use of, until the end of the scope. Of nested
/// observers all see it.
class LeafObserver {
 public:
  LeafObserver();
  virtual ~LeafObserver();
  LeafObserver(const LeafObserver&) = delete;
  LeafObserver& operator=(const LeafObserver&) = delete;
  virtual void used(const Tensor& leaf) = 0;

  /// Tells the observers of this thread, of which there usually are none.
  static void tell(const Tensor& leaf) {
    for (LeafObserver* o = innermost; o; o = o->outer_) [[unlikely]] o->used(leaf);
  }

 private:
  static inline constinit thread_local LeafObserver* innermost = nullptr;
  LeafObserver* outer_;
};

}  // namespace tandem::autograd
