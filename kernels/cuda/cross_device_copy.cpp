// Copies between devices. Only contiguous blocks of memory cross: conversions and strided gathers are done on one side
// by that device's own copy, with its contract. A copy to the CPU waits for the result, since it may be read at once. A
// copy from pageable memory has read it when the call returns; a copy from page-locked memory reads it later.
#include "kernels/cuda/cross_device_copy.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "kernels/cuda/failure.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"
#include "kernels/walk.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// Whether both tensors are the same sequence of bytes.
bool is_one_block(const Tensor& dst, const Tensor& src) {
  if (dst.dtype() != src.dtype()) return false;
  const auto walk = kernels::make_walk<2>(dst.sizes(), {dst.strides(), src.strides()});
  return walk.linear() && walk.numel == dst.numel();
}

Tensor new_block(const Tensor& like, DType dtype, Device device) {
  return empty(like.sizes(), TensorOptions(dtype).device(device).memory_format(MemoryFormat::Contiguous));
}

void copy_bytes(const Tensor& dst, const Tensor& src, cudaMemcpyKind kind) {
  TANDEM_CUDA(cudaMemcpyAsync, dst.raw_bytes(), src.raw_bytes(), dst.nbytes(), kind, current_handle());
}

void copy_to_device(const Tensor& dst, const Tensor& src) {
  copy_bytes(dst, src, cudaMemcpyHostToDevice);
  record_pinned(src.raw_bytes(), current_stream(dst.device()));
}

void to_device(const Tensor& dst, const Tensor& src) {
  const DeviceGuard on(dst.device());
  if (is_one_block(dst, src)) return copy_to_device(dst, src);
  Tensor host = src;
  if (!src.is_contiguous()) {
    host = new_block(src, src.dtype(), src.device());
    cpu::backend().copy(host, src);
  }
  if (is_one_block(dst, host)) return copy_to_device(dst, host);
  const Tensor arrived = new_block(src, src.dtype(), dst.device());
  copy_to_device(arrived, host);
  copy(dst, arrived);
}

void to_host(const Tensor& dst, const Tensor& src) {
  const DeviceGuard on(src.device());
  Tensor ready = src;
  if (!is_one_block(dst, src) && !(src.dtype() == dst.dtype() && src.is_contiguous())) {
    ready = new_block(src, dst.dtype(), src.device());
    copy(ready, src);
  }
  const Tensor host = is_one_block(dst, ready) ? dst : new_block(dst, dst.dtype(), dst.device());
  copy_bytes(host, ready, cudaMemcpyDeviceToHost);
  TANDEM_CUDA(cudaStreamSynchronize, current_handle());
  throw_if_failed();
  if (host.raw_bytes() != dst.raw_bytes()) cpu::backend().copy(dst, host);
}

void allow_access(int device, int peer) {
  int possible = 0;
  TANDEM_CUDA(cudaDeviceCanAccessPeer, &possible, device, peer);
  if (!possible) return;
  const DeviceGuard on(Device(kCUDA, device));
  const cudaError_t code = driver().cudaDeviceEnablePeerAccess(peer, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {  // by another library in this process
    driver().cudaGetLastError();
  } else {
    check("cudaDeviceEnablePeerAccess", code);
  }
}

/// Lets two devices access each other's memory where the machine can, so that copies do not pass through the host's.
void connect(int a, int b) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> connected;
  const std::lock_guard lock(mutex);
  if (!connected.insert(std::minmax(a, b)).second) return;
  allow_access(a, b);
  allow_access(b, a);
}

/// Copies on dst's stream, after the current work of src's stream. Later work on src's stream waits for the copy, so
/// src may be overwritten.
void to_other_device(const Tensor& dst, const Tensor& src) {
  connect(src.device().index(), dst.device().index());
  const DeviceGuard on(src.device());
  Tensor ready = src;
  if (!is_one_block(dst, src)) {
    ready = new_block(src, dst.dtype(), src.device());
    copy(ready, src);
  }
  const Stream from = current_stream(src.device()), to = current_stream(dst.device());
  const DeviceGuard there(dst.device());
  to.wait_stream(from);
  const Tensor arrived = is_one_block(dst, ready) ? dst : new_block(dst, dst.dtype(), dst.device());
  copy_bytes(arrived, ready, cudaMemcpyDefault);
  from.wait_stream(to);
  if (arrived.raw_bytes() != dst.raw_bytes()) copy(dst, arrived);
}

}  // namespace

void cross_device_copy(const Tensor& dst, const Tensor& src) {
  check_not_capturing(
      "a copy between devices, as in item() or to(device), is impossible",
      "make it before the capture or after a replay; a graph reads its inputs from tensors that stay on "
      "the device, filled by copy_() before each replay");
  if (src.is_cpu()) {
    to_device(dst, src);
  } else if (dst.is_cpu()) {
    to_host(dst, src);
  } else {
    to_other_device(dst, src);
  }
}

}  // namespace tandem::cuda
