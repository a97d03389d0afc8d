// What programs add to libtorch: names in its namespaces, optimizers, schedules, datasets, samplers, formats of files.
#include <ATen/autocast_mode.h>

#include <sstream>

#include "tests/libtorch/programs/program.h"

namespace torch {

namespace amp {
/// A program's own scaler, which tandem has, too.
struct GradScaler {
  Tensor scale(const Tensor& x) const { return x * factor; }
  double factor = 2;
};
}  // namespace amp

namespace nn {
struct GateImpl : Cloneable<GateImpl> {
  GateImpl() { reset(); }
  void reset() override { fc = register_module("fc", Linear(3, 3)); }
  Tensor forward(const Tensor& x) { return functional::relu(fc(x)) * torch::sigmoid(x); }
  Linear fc{nullptr};
};
TORCH_MODULE(Gate);
namespace functional {
inline Tensor gate(const Tensor& x) { return torch::relu(x) * torch::sigmoid(x); }
}  // namespace functional
}  // namespace nn

namespace data {
namespace datasets {
struct Squares : Dataset<Squares> {
  Example<> get(size_t i) override {
    const auto x = static_cast<double>(i);
    return {torch::full({2}, x), torch::full({1}, x * x)};
  }
  optional<size_t> size() const override { return 7; }
};
}  // namespace datasets
namespace transforms {
struct Twice : TensorTransform<> {
  Tensor operator()(Tensor x) override { return x * 2; }
};
}  // namespace transforms
}  // namespace data

namespace optim {
struct Warmup : LRScheduler {
  explicit Warmup(Optimizer& optimizer) : LRScheduler(optimizer) {}

 private:
  std::vector<double> get_lrs() override {
    std::vector<double> rates = get_current_lrs();
    for (double& rate : rates) rate = 0.1 * (step_count_ + 1);
    return rates;
  }
};
}  // namespace optim

}  // namespace torch

namespace at {
inline Tensor doubled(const Tensor& x) { return at::add(x, x); }
}  // namespace at

using namespace torch;

namespace {

/// Declarations that must compile: copies of the holder of an incomplete module, and names after using-directives.
struct TreeImpl;
struct Tree : torch::nn::ModuleHolder<TreeImpl> {
  using torch::nn::ModuleHolder<TreeImpl>::ModuleHolder;
};
[[maybe_unused]] std::tuple<Tree, int> with_depth(Tree tree) { return {tree, 1}; }
struct TreeImpl : torch::nn::Module {};
namespace directives {
using namespace torch::cuda;
using namespace torch::optim;
struct RateOptions : OptimizerCloneableOptions<RateOptions> {};
struct RateState : OptimizerCloneableParamState<RateState> {};
[[maybe_unused]] void wait_for_device() { synchronize(); }
}  // namespace directives

// Names that libtorch has not.
struct Kernel {};
struct Cell {};
struct StateDict {};
int version = 3;
namespace io {
int lines = 4;
}

void names() {
  const amp::GradScaler scaler;
  program::report("own scaler", scaler.scale(torch::ones({2})).sum());
  program::report("qualified", torch::amp::GradScaler().factor);
  nn::Gate gate;
  program::set_weights(*gate, 1);
  const Tensor x = program::numbers({2, 3}, 2);
  program::report("module", gate(x).sum());
  program::report("function", torch::nn::functional::gate(x).sum());
  program::report("at", at::doubled(x).sum());
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      data::datasets::Squares().map(data::transforms::Twice()).map(data::transforms::Stack<>()), 3);
  for (const auto& batch : *loader) program::report("batch", (batch.data.sum() + batch.target.sum()));
  static_cast<void>(Kernel());
  static_cast<void>(Cell());
  static_cast<void>(StateDict());
  program::report("names", version + io::lines);
}

/// Momentum without tandem's or libtorch's code; its state is in the base class.
class Momentum : public optim::Optimizer {
 public:
  struct Options : optim::OptimizerCloneableOptions<Options> {
    Options(double lr) : lr_(lr) {}
    double get_lr() const override { return lr(); }
    void set_lr(const double lr) override { this->lr(lr); }
    TORCH_ARG(double, lr);
  };
  struct State : optim::OptimizerCloneableParamState<State> {
    TORCH_ARG(Tensor, sum);
  };
  Momentum(std::vector<Tensor> parameters, const Options& defaults)
      : Optimizer({optim::OptimizerParamGroup(std::move(parameters))}, std::make_unique<Options>(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override {
    NoGradGuard no_grad;
    Tensor loss;
    if (closure) {
      at::AutoGradMode enable(true);
      loss = closure();
    }
    for (auto& group : param_groups_) {
      for (auto& p : group.params()) {
        if (!p.grad().defined()) continue;
        if (state_.find(p.unsafeGetTensorImpl()) == state_.end()) {
          auto state = std::make_unique<State>();
          state->sum(torch::zeros_like(p));
          state_[p.unsafeGetTensorImpl()] = std::move(state);
        }
        auto& state = static_cast<State&>(*state_[p.unsafeGetTensorImpl()]);
        state.sum().mul_(0.9).add_(p.grad());
        p.data().add_(state.sum(), -static_cast<Options&>(group.options()).lr());
      }
    }
    ++steps;
    return loss;
  }
  void save(serialize::OutputArchive& archive) const override { archive.write("steps", torch::tensor(steps)); }
  void load(serialize::InputArchive& archive) override {
    Tensor read;
    archive.read("steps", read);
    steps = read.item<int64_t>();
  }
  int64_t steps = 0;
};

/// Saves a counter beside its tensors.
struct CountedImpl : nn::Cloneable<CountedImpl> {
  CountedImpl() { reset(); }
  void reset() override { fc = register_module("fc", nn::Linear(3, 2)); }
  Tensor forward(const Tensor& x) {
    ++calls;
    return fc(x);
  }
  void save(serialize::OutputArchive& archive) const override {
    nn::Module::save(archive);
    archive.write("calls", torch::tensor(calls));
    archive.write("note", c10::IValue("counted"));
  }
  void load(serialize::InputArchive& archive) override {
    nn::Module::load(archive);
    Tensor read;
    archive.read("calls", read);
    calls = read.item<int64_t>();
    c10::IValue note;
    archive.read("note", note);
    std::cout << "note is " << note.toStringRef() << "\n";
  }
  nn::Linear fc{nullptr};
  int64_t calls = 0;
};
TORCH_MODULE(Counted);

struct OuterImpl : nn::Module {
  OuterImpl() : inner(register_module("inner", Counted())), head(register_module("head", nn::Linear(2, 1))) {}
  Tensor forward(const Tensor& x) { return head(inner(x)); }
  Counted inner;
  nn::Linear head;
};
TORCH_MODULE(Outer);

void training_and_files() {
  Outer net, other;
  program::set_weights(*net, 10);
  Momentum optimizer(net->parameters(), Momentum::Options(0.5));
  optim::Warmup schedule(optimizer);
  for (uint64_t step = 0; step < 4; ++step) {
    schedule.step();
    optimizer.zero_grad();
    const Tensor loss = net->forward(program::numbers({4, 3}, 20 + step)).pow(2).mean();
    loss.backward();
    optimizer.step();
    program::report("lr", optimizer.param_groups()[0].options().get_lr());
    program::report_step(static_cast<int64_t>(step), loss);
  }
  std::stringstream stream;
  torch::save(net, stream);
  torch::load(other, stream);
  program::report("calls", static_cast<double>(other->inner->calls));
  program::report("nested", other->forward(program::numbers({4, 3}, 30)).sum());
  std::stringstream of_optimizer;
  torch::save(optimizer, of_optimizer);
  Momentum again(other->parameters(), Momentum::Options(1));
  torch::load(again, of_optimizer);
  program::report("steps", static_cast<double>(again.steps));
}

struct Countdown : data::datasets::StatefulDataset<Countdown> {
  optional<std::vector<data::Example<>>> get_batch(size_t size) override {
    if (left == 0) return nullopt;
    --left;
    return std::vector<data::Example<>>(size, {torch::full({1}, static_cast<double>(left)), torch::ones({1})});
  }
  void reset() override { left = 3; }
  optional<size_t> size() const override { return nullopt; }
  void save(serialize::OutputArchive& archive) const override { archive.write("left", torch::tensor(left)); }
  void load(serialize::InputArchive& archive) override {
    Tensor read;
    archive.read("left", read);
    left = read.item<int64_t>();
  }
  int64_t left = 0;
};

struct Backwards : data::samplers::Sampler<> {
  explicit Backwards(size_t size) : size_(size), next_(size) {}
  void reset(optional<size_t> new_size = nullopt) override { next_ = size_ = new_size.value_or(size_); }
  optional<std::vector<size_t>> next(size_t batch_size) override {
    std::vector<size_t> batch;
    while (batch.size() < batch_size && next_ > 0) batch.push_back(--next_);
    return batch.empty() ? nullopt : optional<std::vector<size_t>>(batch);
  }
  void save(serialize::OutputArchive&) const override {}
  void load(serialize::InputArchive&) override {}

 private:
  size_t size_, next_;
};

void loading() {
  auto stream = data::make_data_loader(Countdown(), data::DataLoaderOptions().batch_size(2));
  for (const auto& batch : *stream) program::report("countdown", batch[1].data.sum());
  auto loader = data::make_data_loader(data::datasets::Squares(), Backwards(7), data::DataLoaderOptions(4));
  for (const auto& batch : *loader) program::report("backwards", batch[0].target.sum());
  Countdown dataset, read;
  dataset.left = 2;
  serialize::OutputArchive written;
  dataset.save(written);
  std::stringstream file;
  written.save_to(file);
  serialize::InputArchive archive;
  archive.load_from(file);
  read.load(archive);
  program::report("left", static_cast<double>(read.left));
}

template <class T>
double sum_of(const Tensor& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<double>(x.data_ptr<T>()[i]);
  return sum;
}

void functions() {
  const Tensor x = program::numbers({1, 2, 6, 5}, 40), w = program::numbers({3, 2, 3, 2}, 41);
  program::report("same", torch::conv2d(x, w, {}, 1, "same", {2, 1}).pow(2).sum());
  program::report("valid", torch::conv2d(x, w, {}, {2, 1}, "valid").pow(2).sum());
  program::report("conv1d", torch::conv1d(x[0], program::numbers({4, 6, 4}, 42), {}, {1}, "same").pow(2).sum());
  program::report("conv3d", torch::conv3d(x, program::numbers({1, 1, 2, 3, 4}, 43), {}, 1, "same").pow(2).sum());
  for (const ScalarType type : {kFloat, kDouble, kLong, kByte}) {
    const Tensor y = torch::arange(5).to(type);
    program::report("all types", AT_DISPATCH_ALL_TYPES(y.scalar_type(), "sum", [&] { return sum_of<scalar_t>(y); }));
  }
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "sum", ([&] { program::report("bytes", sizeof(scalar_t)); }));
  try {
    AT_DISPATCH_FLOATING_TYPES(kLong, "sum", [&] { program::report("long", sizeof(scalar_t)); });
  } catch (const std::exception&) {
    std::cout << "no case for Long\n";
  }
  std::cout << at::autocast::cached_cast(kBFloat16, x, kCPU).dtype() << "\n"
            << at::autocast::cached_cast(kBFloat16, x.to(kDouble), kCPU).dtype() << "\n"
            << torch::ones({1}, torch::dtype<double>()).dtype() << "\n";
  program::report("numel", static_cast<double>(torch::numel(x) + at::size(x, 1)));
  nn::AnyModule any(nn::Linear(5, 2));
  program::report("any", static_cast<double>(any.forward<Tensor>(x).size(-1)));
  const std::vector<indexing::TensorIndex> index{0, indexing::Slice(), 1};
  program::report("index", x.index(at::ArrayRef<indexing::TensorIndex>(index)).sum());
  program::report("gradient", torch::gradient(x, at::ArrayRef<Scalar>{0.5}, std::optional<int64_t>(3))[0].sum());
  std::cout << std::boolalpha << torch::is_floating_point(x) << x.is_sparse() << x.sizes().equals({1, 2, 6, 5})
            << x.sizes().slice(2) << x.sizes().slice(1, 2) << "\n";
}

}  // namespace

int main() {
  names();
  training_and_files();
  loading();
  functions();
}
