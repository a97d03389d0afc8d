#include "tandem/autograd/backward_scaler.h"

#include <atomic>
#include <mutex>

namespace tandem::autograd {
namespace {

std::mutex mutex;
std::atomic<bool> present{false};

std::shared_ptr<BackwardScaler>& current() {
  static auto* scaler = new std::shared_ptr<BackwardScaler>;
  return *scaler;
}

}  // namespace

void set_backward_scaler(std::shared_ptr<BackwardScaler> scaler) {
  std::lock_guard lock(mutex);
  current() = std::move(scaler);
  present.store(current() != nullptr);
}

std::shared_ptr<BackwardScaler> detail::backward_scaler() {
  if (!present.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard lock(mutex);
  return current();
}

const Tensor*& detail::leaf_factor() {
  static thread_local const Tensor* factor = nullptr;
  return factor;
}

}  // namespace tandem::autograd
