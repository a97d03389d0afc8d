#include "src/distributed/deferred_broadcast.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "src/distributed/flat_broadcast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/backend.h"
#include "tandem/tensor/capture.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/stream.h"

namespace tandem::distributed {
namespace {

/// The tensors of one storage that other ranks send. On an accelerator, they are written by the stream that was current
/// when the call started, so that all work that is ordered after that stream finds them.
class PendingBroadcast final : public PendingWrite {
 public:
  explicit PendingBroadcast(Storage& storage) : storage_(storage) {
    if (!storage.device().is_cpu()) home_ = current_stream(storage.device());
  }

  void add(const Tensor& t, Tensor part, Work work) {
    const TensorImpl& x = t.impl();
    parts_.push_back({x.sizes, x.strides, x.offset, std::move(part), std::move(work)});
  }

  void apply() override {
    const NoGradGuard no_grad;
    if (!home_) return write();
    const Stream here = current_stream(storage_.device());
    {
      const StreamGuard on(*home_);
      write();
    }
    if (here != *home_) here.wait_stream(*home_);
  }
  [[noreturn]] void refuse_in_capture() const override {
    tandem::refuse_in_capture("receiving parameters that other ranks have stepped is impossible",
                              "use the parameters once between the step and the capture");
  }

 private:
  struct Part {
    Dims sizes, strides;
    int64_t offset;
    Tensor values;
    Work work;
  };

  void write() const {
    for (const Part& p : parts_) p.work.wait();
    for (const Part& p : parts_) {
      const auto count = static_cast<int64_t>(storage_.nbytes() / p.values.element_size());
      const Tensor block = from_blob(storage_.data_unresolved(), {count}, p.values.options());
      backend(block).copy(make_view(block, p.sizes, p.strides, p.offset), p.values);
    }
  }

  Storage& storage_;
  std::optional<Stream> home_;
  std::vector<Part> parts_;
};

/// Whether memory of this storage may be read other than by Storage::data().
bool is_read_elsewhere(const Storage& storage) {
  return storage.escaped_pointer() != Storage::Pointer::none || (!storage.device().is_cpu() && graphs_were_captured());
}

}  // namespace

void broadcast_deferred(ProcessGroup& group, const std::vector<Tensor>& tensors, const std::vector<int>& roots,
                        size_t window) {
  if (group.size() == 1) return;
  const NoGradGuard no_grad;
  for (const Tensor& t : tensors) t.impl().storage->data();
  std::unordered_map<Storage*, std::unique_ptr<PendingBroadcast>> pending;
  const auto send = [&](size_t first, size_t last) {
    for (FlatBroadcast& message : flat_broadcasts(tensors, roots, first, last)) {
      message.start(group);
      if (group.rank() == message.root()) continue;
      message.each([&](const Tensor& t, const Tensor& part) {
        Storage& storage = *t.impl().storage;
        std::unique_ptr<PendingBroadcast>& write = pending[&storage];
        if (!write) write = std::make_unique<PendingBroadcast>(storage);
        write->add(t, part, message.work());
      });
    }
  };
  size_t first = 0, bytes = 0, most = std::min(window, kFirstWindow);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > first && bytes + tensors[i].nbytes() > most) {
      send(first, i);
      first = i;
      bytes = 0;
      most = window;
    }
    bytes += tensors[i].nbytes();
  }
  send(first, tensors.size());
  for (auto& [storage, write] : pending) {
    storage->bump_version();
    storage->set_pending(std::move(write));
  }
  for (const auto& [storage, write] : pending) {
    if (is_read_elsewhere(*storage)) storage->data();
  }
}

}  // namespace tandem::distributed
