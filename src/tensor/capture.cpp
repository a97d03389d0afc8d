#include "tandem/tensor/capture.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "tandem/base/check.h"
#include "tandem/tensor/tensor.h"

namespace tandem {
namespace {

constinit std::atomic<uint64_t> last_id{0};

}  // namespace

bool graphs_were_captured() { return last_id > 0; }

uint64_t current_capture_id() { return current_capture() ? current_capture()->id() : 0; }

void refuse_in_capture(const char* what, const char* cure) {
  TANDEM_THROW(StateError, "{} while a graph is being captured; {}", what, cure);
}

/// Words that are written together by one launch.
struct GraphCapture::Block {
  Tensor slots;                    ///< on the device
  std::vector<uint64_t> now;       ///< the values to write; as many as are in use
  std::vector<uint64_t> launched;  ///< the values written for the last replay; empty before the first
};

GraphCapture::GraphCapture(std::function<Tensor()> new_slots) : id_(++last_id), new_slots_(std::move(new_slots)) {}
GraphCapture::~GraphCapture() = default;

const uint64_t* GraphCapture::words(size_t count, std::function<void(uint64_t*)> get) {
  if (blocks_.empty() || blocks_.back()->now.size() + count > kSlots) {
    auto block = std::make_unique<Block>();
    block->slots = new_slots_();
    blocks_.push_back(std::move(block));
  }
  Block& block = *blocks_.back();
  const size_t first = block.now.size();
  block.now.resize(first + count);
  sources_.push_back({&block, first, std::move(get)});
  return static_cast<const uint64_t*>(block.slots.raw_bytes()) + first;
}

const double* GraphCapture::numbers(size_t count, std::function<void(double*)> get) {
  const uint64_t* slots = words(count, [count, get = std::move(get)](uint64_t* bits) {
    std::vector<double> values(count);
    get(values.data());
    std::memcpy(bits, values.data(), count * sizeof(double));
  });
  return reinterpret_cast<const double*>(slots);
}

void GraphCapture::wrote(Storage& storage) {
  // The weak_ptr keeps the address of a Storage from std::make_shared from being reused.
  if (!storage.device().is_cpu()) written_.try_emplace(&storage, storage.weak_from_this());
}

void GraphCapture::begin() { detail::running_capture = this; }

void GraphCapture::end() {
  detail::running_capture = nullptr;
  for (const Hook& hook : std::exchange(at_end_, {})) hook();
  std::erase_if(written_, [](const auto& entry) { return entry.second.expired(); });
}

std::vector<GraphCapture::Update> GraphCapture::before_launch() {
  for (const Hook& hook : before_) hook();
  for (const auto& [address, weak] : written_) {
    const std::shared_ptr<Storage> storage = weak.lock();
    if (!storage || !storage->has_pending()) continue;
    if (storage->capture_id() == id_) {
      storage->set_pending(nullptr);  // the graph writes the values again
    } else {
      storage->data();  // the graph reads the values, so the pending write is done now
    }
  }
  for (const Source& source : sources_) source.get(source.block->now.data() + source.first);
  std::vector<Update> updates;
  for (const auto& block : blocks_) {
    if (block->now != block->launched) updates.push_back({block->slots, block->now});
  }
  return updates;
}

void GraphCapture::after_launch() {
  for (const auto& block : blocks_) block->launched = block->now;
  for (const auto& [address, weak] : written_) {
    if (const std::shared_ptr<Storage> storage = weak.lock()) storage->bump_version();
  }
  for (const Hook& hook : after_) hook();
}

}  // namespace tandem
