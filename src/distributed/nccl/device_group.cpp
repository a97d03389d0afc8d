#include "src/distributed/device_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "src/distributed/fnv1a.h"
#include "src/distributed/nccl/check.h"
#include "src/distributed/nccl/watchdog.h"
#include "src/distributed/signature.h"
#include "tandem/base/check.h"
#include "tandem/distributed/init.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/checks.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/factories.h"

namespace tandem::distributed {
namespace {

using Kind = Collective::Kind;

class DeviceGroup;

const Tensor* any_tensor(const Collective& call) {
  if (!call.inputs.empty()) return &call.inputs[0];
  return call.outputs.empty() ? nullptr : &call.outputs[0];
}

bool is_peer_call(const Collective& call) { return call.kind == Kind::send || call.kind == Kind::recv; }

int64_t hash_of_sizes(const Tensor& t) { return static_cast<int64_t>(fnv1a(to_string(t.sizes()))); }

Tensor words_on_host(int64_t count) { return empty({count}, TensorOptions(kLong).device(kCPU)); }

/// A call that the host's group carries out.
class HostCall final : public Work::State {
 public:
  explicit HostCall(Work work) : work_(std::move(work)) {}
  void wait() override { work_.wait(); }
  bool is_completed() const override { return work_.is_completed(); }
  std::exception_ptr exception() const override { return work_.exception(); }

 private:
  Work work_;
};

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown error";
  }
}

/// The groups that use GPUs. One that lives until the end of the process must then wait for its calls, because other
/// ranks need them.
class OpenGroups {
 public:
  static OpenGroups& instance() {
    static auto* one = new OpenGroups;
    return *one;
  }
  void add(DeviceGroup* group) {
    const std::lock_guard lock(mutex_);
    groups_.push_back(group);
    // Registered after CUDA's own functions of this kind, and therefore called before them.
    if (!std::exchange(registered_, true)) std::atexit([] { instance().close_all(); });
  }
  void remove(DeviceGroup* group) {
    const std::lock_guard lock(mutex_);
    std::erase(groups_, group);
  }

 private:
  void close_all();

  std::mutex mutex_;
  std::vector<DeviceGroup*> groups_;
  bool registered_ = false;
};

/// Every call on GPUs is compared between the ranks by a call of the host's group, which does not wait for the GPUs. It
/// finds ranks that make other calls, that left, or that hang, and its error names them.
class DeviceGroup final : public ProcessGroup {
 public:
  DeviceGroup(std::shared_ptr<ProcessGroup> host, const ProcessGroupOptions& options)
      : ProcessGroup(host->rank(), host->size()), host_(std::move(host)), options_(options) {}
  ~DeviceGroup() override {
    if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
    close();
  }
  const char* name() const override { return host_->name(); }
  Statistics statistics() const override {
    Statistics s = ProcessGroup::statistics();
    s.run_seconds = host_->statistics().run_seconds;
    return s;
  }
  void abort(const std::string& reason) noexcept override {
    host_->abort(reason);
    try {
      if (const std::exception_ptr error = host_->failure(); error && watchdog_) watchdog_->fail(error);
    } catch (...) {  // no memory: the watchdog finds the failure later
    }
  }
  std::exception_ptr failure() const override {
    const std::exception_ptr error = watchdog_ ? watchdog_->failure() : nullptr;
    return error ? error : host_->failure();
  }
  /// Waits for the running calls, and disconnects the ranks.
  void close() noexcept {
    if (!watchdog_) return;
    OpenGroups::instance().remove(this);
    watchdog_->drain();
    for (const auto& [key, communicator] : communicators_) {
      try {
        communicator->close();
      } catch (...) {
        communicator->abort();
      }
    }
    watchdog_.reset();
    communicators_.clear();
  }

 protected:
  std::shared_ptr<Work::State> run(Collective call) override {
    const Tensor* any = any_tensor(call);
    if (!any || any->is_cpu()) return std::make_shared<HostCall>(host_->start(std::move(call)));
    check_not_capturing("a call between ranks is impossible", "make it before the capture or after a replay");
    TANDEM_CHECK(call.tag == 0, StateError, "tag = {}, but NCCL has no tags; use 0, or send from the CPU with .cpu()",
                 call.tag);
    if (!watchdog_) watchdog_ = make_watchdog();
    if (const std::exception_ptr error = watchdog_->failure()) std::rethrow_exception(error);
    Watchdog::Watched watched;
    watched.description = describe(call);
    watched.communicator = communicator_for(call, any->device());
    agree(call, watched);
    watched.call = std::make_shared<DeviceCall>(any->device(), watched.communicator->start(call));
    const std::shared_ptr<DeviceCall> state = watched.call;
    watchdog_->watch(std::move(watched));
    return state;
  }

 private:
  /// The ranks of a communicator: all, or the two sides of messages in one direction.
  struct Key {
    int device;
    int source = -1, destination = -1;
    auto operator<=>(const Key&) const = default;
  };

  std::unique_ptr<Watchdog> make_watchdog() {
    OpenGroups::instance().add(this);
    return std::make_unique<Watchdog>(host_, options_.timeout, [this](const std::exception_ptr& error) {
      host_->abort(message_of(error));  // first: a thread that waits for NCCL sees it and lets the communicator go
      const std::lock_guard lock(mutex_);
      for (const auto& [key, communicator] : communicators_) communicator->abort();
    });
  }

  /// Returns the communicator for the call. The first call makes it, and waits for the other ranks.
  std::shared_ptr<Communicator> communicator_for(const Collective& call, Device device) {
    if (!is_peer_call(call)) return known_or_new({device.index()}, device);
    const int low = std::min(rank(), call.peer), high = std::max(rank(), call.peer);
    // For both directions at once, and in the same order on both sides, so that two ranks that send to each other do
    // not wait forever.
    const auto up = known_or_new({device.index(), low, high}, device);
    const auto down = known_or_new({device.index(), high, low}, device);
    return (call.kind == Kind::send) == (rank() == low) ? up : down;
  }

  std::shared_ptr<Communicator> known_or_new(const Key& key, Device device) {
    if (const auto known = communicators_.find(key); known != communicators_.end()) return known->second;
    const auto made = connect(key, device);
    const std::lock_guard lock(mutex_);
    communicators_[key] = made;
    return made;
  }

  std::shared_ptr<Communicator> connect(const Key& key, Device device) {
    const bool is_pair = key.source >= 0, makes_id = rank() == (is_pair ? key.source : 0);
    const Tensor bytes = empty({NCCL_UNIQUE_ID_BYTES}, TensorOptions(kByte).device(kCPU));
    ncclUniqueId id;
    if (makes_id) {
      check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
      std::memcpy(bytes.raw_bytes(), id.internal, sizeof(id.internal));
    }
    if (!is_pair) {
      host_->start({.kind = Kind::broadcast, .outputs = {bytes}, .label = "for the first call on GPUs"}).wait();
    } else if (makes_id) {
      static_cast<void>(
          host_->start({.kind = Kind::send, .peer = key.destination, .tag = kInternalTag, .inputs = {bytes}}));
    } else {
      host_->start({.kind = Kind::recv, .peer = key.source, .tag = kInternalTag, .outputs = {bytes}}).wait();
    }
    std::memcpy(id.internal, bytes.raw_bytes(), sizeof(id.internal));
    const int rank_of_pair = makes_id ? 0 : 1;
    return std::make_shared<Communicator>(id, is_pair ? rank_of_pair : rank(), is_pair ? 2 : size(), device, host_,
                                          options_.timeout);
  }

  /// Starts the messages by which the hosts compare the call.
  void agree(const Collective& call, Watchdog::Watched& watched) {
    if (call.kind == Kind::send) {
      watched.agreement = host_->start(
          {.kind = Kind::send, .peer = call.peer, .tag = kInternalTag, .inputs = {description_of(call.inputs[0])}});
    } else if (call.kind == Kind::recv) {
      const Tensor theirs = words_on_host(2), own = description_of(call.outputs[0]);
      watched.agreement =
          host_->start({.kind = Kind::recv, .peer = call.peer, .tag = kInternalTag, .outputs = {theirs}});
      watched.check = [theirs, own, text = watched.description, peer = call.peer] {
        const OpScope op("recv");
        const auto* sent = theirs.raw<int64_t>();
        TANDEM_CHECK(std::equal(sent, sent + 2, own.raw<int64_t>()), StateError,
                     "rank {} sent {} of {} sizes for {}; sizes and dtype must be those of the sent tensor", peer,
                     tandem::name(static_cast<DType>(sent[0])), sent[1] == own.raw<int64_t>()[1] ? "these" : "other",
                     text);
      };
    } else if (call.kind == Kind::all_to_all) {
      agree_on_sizes(call, watched);
    } else {
      watched.agreement = host_->start({.kind = Kind::barrier, .label = watched.description + on_gpus});
    }
  }

  /// The sizes of an all_to_all may differ between the ranks, but not between the two sides.
  void agree_on_sizes(const Collective& call, Watchdog::Watched& watched) {
    std::vector<Tensor> sent, received;
    for (const Tensor& t : call.inputs) {
      sent.push_back(words_on_host(1));
      sent.back().raw<int64_t>()[0] = hash_of_sizes(t);
      received.push_back(words_on_host(1));
    }
    watched.agreement = host_->start(
        {.kind = Kind::all_to_all, .inputs = sent, .outputs = received, .label = watched.description + on_gpus});
    watched.check = [received, outputs = call.outputs] {
      const OpScope op("all_to_all");
      for (size_t r = 0; r < outputs.size(); ++r) {
        TANDEM_CHECK(received[r].raw<int64_t>()[0] == hash_of_sizes(outputs[r]), ShapeError,
                     "rank {} sends a tensor of other sizes than those of outputs[{}], {}; they must be equal", r, r,
                     checks::show(outputs[r]));
      }
    };
  }

  /// Two words: dtype and sizes.
  static Tensor description_of(const Tensor& t) {
    const Tensor words = words_on_host(2);
    words.raw<int64_t>()[0] = static_cast<int64_t>(t.dtype());
    words.raw<int64_t>()[1] = hash_of_sizes(t);
    return words;
  }

  static constexpr const char* on_gpus = ", on GPUs";

  const std::shared_ptr<ProcessGroup> host_;
  const ProcessGroupOptions options_;
  const int exceptions_ = std::uncaught_exceptions();
  std::mutex mutex_;  // of changes of the list below, which the watchdog reads
  std::map<Key, std::shared_ptr<Communicator>> communicators_;
  std::unique_ptr<Watchdog> watchdog_;  // made by the first call on GPUs
};

void OpenGroups::close_all() {
  while (true) {
    DeviceGroup* group = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (groups_.empty()) return;
      group = groups_.back();
    }
    group->close();  // removes it
  }
}

std::shared_ptr<ProcessGroup> make_device_group(std::shared_ptr<ProcessGroup> host,
                                                const ProcessGroupOptions& options) {
  return std::make_shared<DeviceGroup>(std::move(host), options);
}

const Provide provider(make_nccl_group, make_device_group);

}  // namespace
}  // namespace tandem::distributed
