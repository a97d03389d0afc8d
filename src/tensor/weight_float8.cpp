#include "tandem/tensor/weight_float8.h"

#include <mutex>

namespace tandem {
namespace {

/// Threads that share a model ask for the same weight.
std::mutex& mutex_of(const TensorImpl& weight) {
  static std::mutex mutexes[16];
  return mutexes[reinterpret_cast<uintptr_t>(&weight) / 64 % 16];
}

}  // namespace

std::shared_ptr<WeightFloat8> weight_float8(const Tensor& weight) {
  TensorImpl& impl = weight.impl();
  const std::lock_guard lock(mutex_of(impl));
  if (!impl.float8) impl.float8 = std::make_shared<WeightFloat8>();
  return impl.float8;
}

std::shared_ptr<WeightFloat8> find_weight_float8(const Tensor& weight) {
  const std::lock_guard lock(mutex_of(weight.impl()));
  return weight.impl().float8;
}

}  // namespace tandem
