// Every tensor that the forward pass of a checkpoint saves is replaced by its number. Whoever asks for one in backward
// makes the function run again, which saves the same tensors in the same order.
#include "tandem/autograd/checkpoint.h"

#include <optional>
#include <unordered_map>

#include "src/autograd/leaf_observer.h"
#include "tandem/amp/thread_context.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"
#include "tandem/cuda/capture.h"
#include "tandem/tensor/random.h"

namespace tandem::autograd::detail {
namespace {

/// Where the default generator stands, on the host and in the CUDA graph that this thread records.
struct RandomPosition {
  uint64_t capture = cuda::current_capture_id();
  PhiloxState host = default_generator().get_state();
  uint64_t drawn_in_capture = default_generator().drawn_in_capture();

  void go_there() const {
    default_generator().set_state(host);
    default_generator().set_drawn_in_capture(drawn_in_capture);
  }
  bool is_same(const RandomPosition& other) const {
    return host.seed == other.host.seed && host.offset == other.host.offset &&
           drawn_in_capture == other.drawn_in_capture;
  }
};

/// Puts the default generator to `position` until the end of the scope.
class RandomPositionGuard {
 public:
  explicit RandomPositionGuard(const RandomPosition& position) { position.go_there(); }
  ~RandomPositionGuard() { previous_.go_there(); }
  RandomPositionGuard(const RandomPositionGuard&) = delete;
  RandomPositionGuard& operator=(const RandomPositionGuard&) = delete;

 private:
  RandomPosition previous_;
};

/// Lists what is saved.
class Recorder final : public SaveObserver {
 public:
  explicit Recorder(std::vector<SavedTensor>& list) : list_(list) {}
  void saved(SavedTensor& tensor) override { list_.push_back(tensor.without_history()); }

 private:
  std::vector<SavedTensor>& list_;
};

/// One call of checkpoint(): what it takes to run it again, and what that gave. Kept by the saved tensors that it
/// serves.
class Frame {
 public:
  Frame(const CheckpointOptions& options, const std::vector<Tensor>& inputs, CheckpointScope::Again again)
      : modes_(ThreadContext::capture_unobserved()), again_(std::move(again)) {
    if (options.preserve_rng_state()) random_.emplace();
    // Within another checkpoint these, too, are dropped and made again by it.
    for (const Tensor& x : inputs) inputs_.push_back(SavedTensor::of(x, {}));
  }

  /// Notes a leaf that the first run uses. Held weakly: what still uses it in backward holds it.
  void note_leaf(const Tensor& leaf) {
    leaves_.try_emplace(&leaf.impl(), Leaf{leaf.impl_ptr(), leaf.impl().storage, leaf._version()});
  }
  /// Notes a tensor that the first run saved; returns its number.
  size_t add(const Tensor& x) {
    first_.emplace_back(x);
    return first_.size() - 1;
  }
  void finish() {
    finished_ = true;
    draws_ = random_ && !random_->is_same(RandomPosition());
  }

  Tensor get(size_t number) {
    if (number >= second_.size() || !second_[number].defined()) run_again();
    // Within the forward pass (its function runs a backward pass of its own) not all have been saved yet.
    const size_t saved = second_.size();
    TANDEM_CHECK(finished_ ? saved == first_.size() : saved > number, AutogradError,
                 "checkpoint: the first run of the function saved {} tensors for backward, the second {}; it must "
                 "compute the same again: keep its branches, and what it captures, as they were",
                 first_.size(), saved);
    Tensor x = second_[number].data("checkpoint", number);
    TANDEM_CHECK(first_[number].fits(x), AutogradError,
                 "checkpoint: saved tensor {} was {} in the first run of the function and is {} in the second; it must "
                 "compute the same again: keep its branches, and what it captures, as they were",
                 number, first_[number].str(), OutputMeta(x).str());
    return x;
  }

  void forget(size_t number) {
    if (number < second_.size()) second_[number] = SavedTensor();
  }

 private:
  /// A leaf as the first run found it.
  struct Leaf {
    std::weak_ptr<TensorImpl> tensor;
    std::weak_ptr<Storage> storage;
    uint64_t version;
  };

  /// The second run would compute with other values. The saved tensors that it makes know of no earlier version.
  void check_leaves() const {
    for (const auto& [address, leaf] : leaves_) {
      const Tensor now(leaf.tensor.lock());
      if (!now.defined()) continue;
      TANDEM_CHECK(
          now.impl().storage == leaf.storage.lock() && now._version() == leaf.version, AutogradError,
          "checkpoint: a tensor that the function uses was changed since the first run: {} is at version {}{}, "
          "expected {}; change it after backward",
          OutputMeta(now).str(), now._version(), now.impl().storage == leaf.storage.lock() ? "" : " of other data",
          leaf.version);
    }
  }

  void run_again() {
    std::vector<Tensor> inputs;
    {
      AutoGradMode record(true);  // with their histories: what an op saves depends on them
      for (size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(inputs_[i].unpack("checkpoint", i, nullptr));
    }
    check_leaves();
    TANDEM_CHECK(!draws_ || random_->capture == cuda::current_capture_id(), StateError,
                 "checkpoint: the function has drawn random numbers, and its second run, which is to draw the same, is "
                 "in another CUDA graph than the first, or only one of them in a graph; capture forward and backward "
                 "together");
    const ThreadContextGuard modes(modes_);
    std::optional<RandomPositionGuard> random;
    if (random_) random.emplace(*random_);
    std::vector<SavedTensor> saved;
    {
      Recorder recorder(saved);
      again_(inputs);
    }
    second_ = std::move(saved);
    for (const SavedTensor& x : inputs_) x.used();
  }

  ThreadContext modes_;
  std::optional<RandomPosition> random_;
  bool draws_ = false;  // the first run has moved the generator on
  CheckpointScope::Again again_;
  std::vector<SavedTensor> inputs_;
  std::unordered_map<const TensorImpl*, Leaf> leaves_;
  std::vector<OutputMeta> first_;
  std::vector<SavedTensor> second_;  // undefined: used already
  bool finished_ = false;
};

/// One saved tensor of a frame.
class FrameTensor final : public SavedSource {
 public:
  FrameTensor(std::shared_ptr<Frame> frame, size_t number) : frame_(std::move(frame)), number_(number) {}
  ~FrameTensor() override { frame_->forget(number_); }
  FrameTensor(const FrameTensor&) = delete;
  FrameTensor& operator=(const FrameTensor&) = delete;
  Tensor get() override { return frame_->get(number_); }
  void used() override { frame_->forget(number_); }

 private:
  std::shared_ptr<Frame> frame_;
  size_t number_;
};

/// Replaces what is saved, and notes the leaves.
class Dropper final : public SaveObserver, public LeafObserver {
 public:
  explicit Dropper(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}
  void saved(SavedTensor& tensor) override {
    const size_t number = frame_->add(tensor.data("checkpoint", 0));
    tensor.set_source(std::make_shared<FrameTensor>(frame_, number));
  }
  void used(const Tensor& leaf) override { frame_->note_leaf(leaf); }

 private:
  std::shared_ptr<Frame> frame_;
};

}  // namespace

struct CheckpointScope::State {
  std::shared_ptr<Frame> frame;
  Dropper dropper;
};

CheckpointScope::CheckpointScope(const CheckpointOptions& options, const std::vector<Tensor>& inputs, Again again) {
  auto frame = std::make_shared<Frame>(options, inputs, std::move(again));
  state_.reset(new State{frame, Dropper(frame)});
}
CheckpointScope::~CheckpointScope() = default;
void CheckpointScope::finish() { state_->frame->finish(); }

}  // namespace tandem::autograd::detail
