#include "kernels/cuda/failure.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "kernels/cuda/accelerator.h"

namespace tandem::cuda {
namespace {

std::atomic<bool> failed = false;  // whether there is an error, for a look without the mutex

struct Failure {
  std::mutex mutex;
  std::exception_ptr error;
};

Failure& failure() {
  static auto* one = new Failure;  // static tensors may be read later than static objects end
  return *one;
}

}  // namespace

void CudaAccelerator::fail(std::exception_ptr error) const noexcept {
  const std::lock_guard lock(failure().mutex);
  failure().error = std::move(error);
  failed = failure().error != nullptr;
}

void throw_if_failed() {
  if (!failed) [[likely]]
    return;
  const std::lock_guard lock(failure().mutex);
  if (failure().error) std::rethrow_exception(failure().error);
}

}  // namespace tandem::cuda
