// Checkpointing. Each tensor that the forward pass saves is replaced by its index. The first read of one in backward
// runs the function again, which saves the same tensors in the same order.
#include "tandem/autograd/checkpoint.h"

#include <optional>
#include <unordered_map>

#include "src/autograd/leaf_observer.h"
#include "tandem/amp/thread_context.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/base/check.h"
#include "tandem/tensor/current_capture.h"
#include "tandem/tensor/random.h"

namespace tandem::autograd::detail {
namespace {

/// The position of the default generator, on the host and in the CUDA graph that this thread captures.
struct RandomPosition {
  uint64_t capture = current_capture_id();
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

/// Sets the default generator to `position` for the scope.
class RandomPositionGuard {
 public:
  explicit RandomPositionGuard(const RandomPosition& position) { position.go_there(); }
  ~RandomPositionGuard() { previous_.go_there(); }
  RandomPositionGuard(const RandomPositionGuard&) = delete;
  RandomPositionGuard& operator=(const RandomPositionGuard&) = delete;

 private:
  RandomPosition previous_;
};

/// Collects the saved tensors.
class Recorder final : public SaveObserver {
 public:
  explicit Recorder(std::vector<SavedTensor>& list) : list_(list) {}
  void saved(SavedTensor& tensor) override { list_.push_back(tensor.without_history()); }

 private:
  std::vector<SavedTensor>& list_;
};

/// One call of checkpoint(): what the second run needs, and the tensors that it saved. Owned by the saved tensors that
/// it replaces.
class Frame {
 public:
  Frame(const CheckpointOptions& options, const std::vector<Tensor>& inputs, CheckpointScope::Again again)
      : modes_(ThreadContext::capture_unobserved()), again_(std::move(again)) {
    if (options.preserve_rng_state()) random_.emplace();
    // In a nested checkpoint, the outer one drops and recomputes these too.
    for (const Tensor& x : inputs) inputs_.push_back(SavedTensor::of(x, {}));
  }

  /// Records a leaf that the first run uses. Held weakly: whatever still uses the leaf in backward keeps it alive.
  void note_leaf(const Tensor& leaf) {
    leaves_.try_emplace(&leaf.impl(), Leaf{leaf.impl_ptr(), leaf.impl().storage, leaf._version()});
  }
  /// Records a tensor that the first run saved; returns its index.
  size_t add(const Tensor& x) {
    first_.emplace_back(x);
    return first_.size() - 1;
  }
  void finish() {
    finished_ = true;
    draws_ = random_ && !random_->is_same(RandomPosition());
  }

  Tensor get(size_t number) {
    const UserCodeScope op("checkpoint");
    if (number >= second_.size() || !second_[number].defined()) run_again();
    // During the forward pass (if the function itself runs a backward pass) not all tensors have been saved yet.
    const size_t saved = second_.size();
    TANDEM_CHECK(finished_ ? saved == first_.size() : saved > number, AutogradError,
                 "the first run of the function saved {} tensors for backward, but the second saved {}; it must "
                 "compute the same both times: do not change its branches or captures in between",
                 first_.size(), saved);
    Tensor x = second_[number].data(number);
    TANDEM_CHECK(first_[number].fits(x), AutogradError,
                 "saved tensor {} was {} in the first run of the function and is {} in the second; it must compute the "
                 "same both times: do not change its branches or captures in between",
                 number, first_[number].str(), OutputMeta(x).str());
    return x;
  }

  void forget(size_t number) {
    if (number < second_.size()) second_[number] = SavedTensor();
  }

 private:
  /// A leaf's state in the first run.
  struct Leaf {
    std::weak_ptr<TensorImpl> tensor;
    std::weak_ptr<Storage> storage;
    uint64_t version;
  };

  /// Throws if a leaf has changed: the second run would use other values, and its own saved tensors cannot detect the
  /// change.
  void check_leaves() const {
    for (const auto& [address, leaf] : leaves_) {
      const Tensor now(leaf.tensor.lock());
      if (!now.defined()) continue;
      TANDEM_CHECK(now.impl().storage == leaf.storage.lock() && now._version() == leaf.version, AutogradError,
                   "a tensor that the function uses was changed since the first run: {} is at version {}{}, "
                   "expected {}; change it after backward",
                   OutputMeta(now).str(), now._version(),
                   now.impl().storage == leaf.storage.lock() ? "" : " of other data", leaf.version);
    }
  }

  void run_again() {
    std::vector<Tensor> inputs;
    {
      AutoGradMode record(true);  // recorded: what an op saves depends on its inputs' histories
      for (size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(inputs_[i].unpack(i, nullptr));
    }
    check_leaves();
    TANDEM_CHECK(!draws_ || random_->capture == current_capture_id(), StateError,
                 "the function draws random numbers, but its first and second run are not in the same CUDA graph; "
                 "capture forward and backward together");
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
  bool draws_ = false;  // the first run drew random numbers
  CheckpointScope::Again again_;
  std::vector<SavedTensor> inputs_;
  std::unordered_map<const TensorImpl*, Leaf> leaves_;
  std::vector<OutputMeta> first_;
  std::vector<SavedTensor> second_;  // undefined: already used
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

/// Replaces saved tensors and records the leaves.
class Dropper final : public SaveObserver, public LeafObserver {
 public:
  explicit Dropper(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}
  void saved(SavedTensor& tensor) override {
    const size_t number = frame_->add(tensor.data(0));
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
