#include "tandem/autograd/backward_scaler.h"

#include <atomic>
#include <mutex>

#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/math/binary.h"
#include "tandem/tensor/factories.h"

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

const BackwardScaler::Factors*& detail::pass_factors() {
  static thread_local const BackwardScaler::Factors* factors = nullptr;
  return factors;
}

void detail::multiply(const Tensor& product, const Tensor& gradient, const Tensor& factor) {
  const Tensor one = factor.device() == gradient.device() ? factor : factor.to(gradient.device(), true);
  const IntArrayRef sizes = gradient.sizes();
  backend(gradient).binary(product, kernels::Binary::mul, gradient, make_view(one, sizes, Dims(sizes.size(), 0), 0),
                           1.0);
}

Tensor detail::times(const Tensor& gradient, const Tensor& factor) {
  if (GradMode::is_enabled()) {
    return gradient.mul(factor.device() == gradient.device() ? factor : factor.to(gradient.device(), true));
  }
  const Tensor product = empty_like(gradient);
  multiply(product, gradient, factor);
  return product;
}

}  // namespace tandem::autograd
