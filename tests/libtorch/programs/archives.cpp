// An agent's state in nested archives, and the ways to save and load each kind of object. archives.pt is what libtorch
// wrote: the program writes the file if there is none.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/libtorch/programs/program.h"

namespace {

namespace nn = torch::nn;

struct ActorImpl : nn::Module {
  ActorImpl() {
    fc1 = register_module("fc1", nn::Linear(3, 4));
    layers = register_module("layers", nn::Sequential(nn::ReLU(), nn::BatchNorm1d(4), nn::Linear(4, 2)));
    scale = register_parameter("scale_weight", torch::ones({2}));
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(fc1->forward(x)) * scale; }

  nn::Linear fc1{nullptr};
  nn::Sequential layers{nullptr};
  torch::Tensor scale;
};
TORCH_MODULE(Actor);

void train(Actor& actor, torch::optim::Optimizer& optimizer, uint64_t seed) {
  optimizer.zero_grad();
  actor->forward(program::numbers({8, 3}, seed)).pow(2).mean().backward();
  optimizer.step();
}

double state_sum(Actor& actor) {
  double sum = 0;
  for (const auto& p : actor->parameters()) sum += p.abs().sum().item<double>();
  for (const auto& b : actor->buffers()) sum += b.abs().sum().item<double>();
  return sum;
}

void write(const std::string& path) {
  Actor actor;
  program::set_weights(*actor, 1);
  torch::optim::Adam optimizer(actor->parameters(), torch::optim::AdamOptions(0.1));
  for (uint64_t step = 0; step < 3; ++step) train(actor, optimizer, 10 + step);
  torch::serialize::OutputArchive archive, agent, policy, state;
  actor->save(policy);
  optimizer.save(state);
  agent.write("actor", policy);
  agent.write("optimizer", state);
  archive.write("agent", agent);
  archive.write("steps", torch::tensor(3), /*is_buffer=*/true);
  archive.write("epoch", c10::IValue(7));
  archive.write("name", c10::IValue("walker"));
  archive.save_to(path);
}

void read(const std::string& path) {
  torch::serialize::InputArchive archive, agent, policy, state, none;
  archive.load_from(path, torch::Device(torch::kCPU));
  std::vector<std::string> keys = archive.keys();
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) std::cout << "key " << key << "\n";
  torch::Tensor steps;
  torch::IValue epoch, name;
  archive.read("steps", steps);
  archive.read("epoch", epoch);
  archive("name", name);
  program::report("steps", steps);
  std::cout << "epoch " << epoch.toInt() << "\n"
            << "name is " << name.toStringRef() << "\n";
  archive.read("agent", agent);
  agent.read("actor", policy);
  agent.read("optimizer", state);
  std::cout << std::boolalpha << "unknown: " << archive.try_read("x", steps) << archive.try_read("x", epoch)
            << archive.try_read("x", none) << "\n";
  Actor actor;
  torch::optim::Adam optimizer(actor->parameters(), torch::optim::AdamOptions(1));
  actor->load(policy);
  optimizer.load(state);
  program::report("read", state_sum(actor));
  for (uint64_t step = 0; step < 3; ++step) {
    train(actor, optimizer, 20 + step);
    program::report_step(static_cast<int64_t>(step), actor->scale.abs().sum());
  }
}

/// Saves and loads with paths, streams, memory and functions, with a device and without.
void exchange() {
  const std::string path = "archives_exchange.tmp";
  Actor actor, other;
  program::set_weights(*actor, 30);
  const torch::Tensor x = program::numbers({2, 3}, 31);
  const std::vector<torch::Tensor> list{x, x * 2};
  torch::save(actor, path);
  torch::load(other, path, torch::kCPU);
  program::report("module", state_sum(other));
  std::stringstream stream;
  torch::save(actor, stream);
  torch::load(other, stream, torch::Device("cpu"));
  torch::save(x, path);
  torch::Tensor y;
  torch::load(y, path, torch::Device(torch::kCPU));
  program::report("tensor", y.sum());
  torch::save(list, path);
  std::vector<torch::Tensor> loaded;
  torch::load(loaded, path, torch::kCPU);
  program::report("list", loaded.at(1).sum());
  std::string bytes;
  torch::save(actor, [&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  torch::load(other, bytes.data(), bytes.size(), torch::kCPU);
  torch::load(
      other,
      [&](uint64_t position, void* to, size_t size) {
        std::memcpy(to, bytes.data() + position, size);
        return size;
      },
      [&] { return bytes.size(); });
  program::report("memory", state_sum(other));
  torch::optim::SGD sgd(actor->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  train(actor, sgd, 32);
  torch::save(sgd, path);
  torch::load(actor, bytes.data(), bytes.size());
  torch::optim::SGD again(actor->parameters(), torch::optim::SGDOptions(0.5));
  torch::load(again, path, torch::kCPU);
  train(actor, again, 33);
  program::report("optimizer", actor->scale.sum());
  std::remove(path.c_str());
}

/// A custom optimizer: gradient descent with momentum.
struct HeavyBallOptions : torch::optim::OptimizerCloneableOptions<HeavyBallOptions> {
  explicit HeavyBallOptions(double lr = 0.1) : lr_(lr) {}
  TORCH_ARG(double, lr);
  using pair = std::tuple<double, int64_t>;
  TORCH_ARG(pair, momentum_and_delay) = {0.5, 1};
  TORCH_ARG(std::optional<int64_t>, limit) = std::nullopt;

 public:
  double get_lr() const override { return lr(); }
  void set_lr(double lr) override { lr_ = lr; }
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(lr);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(momentum_and_delay);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(limit);
  }
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(double, lr);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(pair, momentum_and_delay);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG_OPTIONAL(int64_t, limit);
  }
};
struct HeavyBallParamState : torch::optim::OptimizerCloneableParamState<HeavyBallParamState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(torch::Tensor, velocity);
  TORCH_ARG(torch::Tensor, unused);

 public:
  void serialize(torch::serialize::OutputArchive& archive) const override {
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(step);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(velocity);
    _TORCH_OPTIM_SERIALIZE_TORCH_ARG(unused);
  }
  void serialize(torch::serialize::InputArchive& archive) override {
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(int64_t, step);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(torch::Tensor, velocity);
    _TORCH_OPTIM_DESERIALIZE_TORCH_ARG(torch::Tensor, unused);
  }
};
class HeavyBall : public torch::optim::Optimizer {
 public:
  HeavyBall(std::vector<torch::Tensor> params, HeavyBallOptions defaults = HeavyBallOptions())
      : Optimizer({torch::optim::OptimizerParamGroup(std::move(params))},
                  std::make_unique<HeavyBallOptions>(defaults)) {}
  using Optimizer::step;
  torch::Tensor step(LossClosure /*closure*/ = nullptr) override {
    const torch::NoGradGuard no_grad;
    for (auto& group : param_groups_) {
      auto& options = static_cast<HeavyBallOptions&>(group.options());
      for (auto& p : group.params()) {
        if (!p.grad().defined()) continue;
        auto& entry = state_[p.unsafeGetTensorImpl()];
        if (!entry) {
          auto made = std::make_unique<HeavyBallParamState>();
          made->velocity(torch::zeros_like(p));
          entry = std::move(made);
        }
        auto& state = static_cast<HeavyBallParamState&>(*entry);
        state.step(state.step() + 1);
        state.velocity().mul_(std::get<0>(options.momentum_and_delay())).add_(p.grad());
        if (state.step() > std::get<1>(options.momentum_and_delay())) p.add_(state.velocity(), -options.lr());
      }
    }
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override { serialize(*this, archive); }
  void load(torch::serialize::InputArchive& archive) override { serialize(*this, archive); }

 private:
  template <typename Self, typename Archive>
  static void serialize(Self& self, Archive& archive) {
    _TORCH_OPTIM_SERIALIZE_WITH_TEMPLATE_ARG(HeavyBall);
  }
};

void own_optimizer() {
  const std::string path = "archives_own.tmp";
  Actor actor;
  program::set_weights(*actor, 40);
  HeavyBall first(actor->parameters(), HeavyBallOptions(0.2).momentum_and_delay({0.75, 2}).limit(5));
  for (uint64_t step = 0; step < 3; ++step) train(actor, first, 41 + step);
  torch::save(first, path);
  HeavyBall second(actor->parameters());
  torch::load(second, path);
  const auto& options = static_cast<HeavyBallOptions&>(second.param_groups()[0].options());
  program::report("own rate", options.lr());
  program::report("own limit", static_cast<double>(options.limit().value()));
  for (uint64_t step = 0; step < 2; ++step) train(actor, second, 50 + step);
  program::report("own optimizer", state_sum(actor));
  std::remove(path.c_str());
}

}  // namespace

int main() {
  const std::string path = "archives.pt";
  if (!std::ifstream(path)) write(path);
  read(path);
  exchange();
  own_optimizer();
}
