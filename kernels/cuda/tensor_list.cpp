// Tables too large for a kernel's parameters, on their way to the device.
#include "kernels/cuda/tensor_list.h"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/cuda/runtime.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/memory.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

/// Page-locked blocks that copies still read, each with the event behind its copy.
struct InFlight {
  std::mutex mutex;
  std::deque<std::pair<Event, std::shared_ptr<void>>> blocks;
};
InFlight& in_flight() {
  static InFlight& blocks = *new InFlight;  // never destroyed: the driver may be gone by then
  return blocks;
}

}  // namespace

Tensor upload(const std::vector<uint64_t>& words) {
  const Tensor table =
      empty({static_cast<int64_t>(words.size())}, TensorOptions(kLong).device(Device(kCUDA, current_device())));
  const cudaStream_t stream = current_handle();
  const size_t bytes = words.size() * sizeof(words[0]);
  std::shared_ptr<void> block = allocate_pinned(bytes);
  std::memcpy(block.get(), words.data(), bytes);
  TANDEM_CUDA(cudaMemcpyAsync, table.raw_bytes(), block.get(), bytes, cudaMemcpyHostToDevice, stream);
  if (Capture* capture = current_capture()) {  // the graph copies again whenever it runs
    capture->hold(std::move(block));
    return table;
  }
  InFlight& flight = in_flight();
  const std::lock_guard lock(flight.mutex);
  while (!flight.blocks.empty() && flight.blocks.front().first.query()) flight.blocks.pop_front();
  Event copied;
  copied.record();
  flight.blocks.emplace_back(std::move(copied), std::move(block));
  return table;
}

}  // namespace tandem::cuda
