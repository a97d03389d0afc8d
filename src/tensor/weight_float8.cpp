#include "tandem/tensor/weight_float8.h"

#include <mutex>

namespace tandem {

const std::shared_ptr<WeightFloat8>& weight_float8(const Tensor& weight) {
  static std::mutex mutex;
  TensorImpl& impl = weight.impl();
  const std::lock_guard lock(mutex);
  if (!impl.float8) impl.float8 = std::make_shared<WeightFloat8>();
  return impl.float8;
}

}  // namespace tandem
