// The code of docs/how_do_i.md: a function for each answer, which also checks it.
#include <tandem/amp/tools.h>
#include <tandem/autograd/checkpoint.h>
#include <tandem/base/assert.h>
#include <tandem/data/data.h>
#include <tandem/io/io.h>
#include <tandem/nn/averaged_model.h>
#include <tandem/nn/utils/rnn.h>
#include <tandem/optim/optim.h>
#include <tandem/tandem.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

using namespace tandem;

namespace {

struct NetImpl : nn::Module {
  NetImpl() {
    register_module("body", body);
    register_module("head", head);
  }
  Tensor forward(const Tensor& x) { return head(relu(body(x))); }

  nn::Linear body{4, 16}, head{16, 3};
};
TANDEM_MODULE(Net);

struct Batch {
  Tensor x, y;
};

/// Points whose class is the largest of their first three coordinates.
Batch draw(int64_t count = 32) {
  const Tensor x = randn({count, 4});
  return {x, x.narrow(1, 0, 3).argmax(1)};
}

Tensor loss_of(const Net& net, const Batch& batch) { return cross_entropy(net->forward(batch.x), batch.y); }

void train_step(const Net& net, optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  loss_of(net, draw()).backward();
  optimizer.step();
}

bool equal(const Net& a, const Net& b) {
  for (const auto& entry : a->state_dict()) {
    if (!equal(entry.value(), b->state_dict()[entry.key()])) return false;
  }
  return true;
}

// ---- saving and loading

int64_t resume(int64_t epochs) {
  int64_t trained = 0;
  Net net;
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-3));
  amp::GradScaler scaler;
  int64_t epoch = 0;

  io::Checkpoint run;
  run.add("model", net).add("optimizer", optimizer).add("scaler", scaler).add("epoch", epoch);
  if (std::filesystem::exists("run.safetensors")) run.load("run.safetensors");
  while (epoch < epochs) {
    train_step(net, optimizer);
    ++trained;
    ++epoch;
    run.save("run.safetensors");
  }
  return trained;
}

void checkpoints() { TANDEM_ASSERT(resume(2) == 2 && resume(5) == 3); }

void weights() {
  Net net, other, python;
  save(net, "net.safetensors");
  load(other, "net.safetensors");
  save(net, "net.pt");     // for model.load_state_dict(torch.load("net.pt"))
  load(python, "net.pt");  // what torch.save(model.state_dict(), "net.pt") wrote, too
  TANDEM_ASSERT(equal(net, other) && equal(net, python));
}

void a_part_of_the_weights() {
  Net saved, net;
  nn::Linear old_head(16, 10);
  StateDict file;
  add_below(file, "module.body", saved->body->state_dict());
  add_below(file, "module.old_head", old_head->state_dict());
  io::save_state(file, "backbone.pt");

  const StateDict state = state_below(io::load_state("backbone.pt"), "module");
  const IncompatibleKeys keys = net->load_state_dict(state, /*strict=*/false);
  for (const std::string& key : keys.missing_keys) std::cout << key << " is not in the file\n";
  TANDEM_ASSERT(keys.missing_keys.size() == 2 && keys.unexpected_keys.size() == 2);
  TANDEM_ASSERT(equal(net->body->weight, saved->body->weight));
}

void numpy() {
  const Tensor x = randn({3, 4});
  io::save_npy(x, "x.npy");
  const Tensor y = io::load_npy("x.npy");
  TANDEM_ASSERT(equal(x, y));
}

// ---- training

void mixed_precision() {
  Net net;
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(1e-2));
  amp::GradScaler scaler;
  Tensor loss;
  for (int step = 0; step < 100; ++step) {
    const Batch batch = draw();
    optimizer.zero_grad();
    {
      amp::AutocastGuard autocast(kCPU);  // bf16; on kCUDA f16
      loss = loss_of(net, batch);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  TANDEM_ASSERT(loss.item<double>() < 0.9);
}

void not_a_number() {
  Net net;
  amp::GradScaler scaler;
  const Batch batch = draw();
  {
    const NoGradGuard no_grad;
    net->body->weight.fill_(1e30);
  }
  Tensor loss;
  amp::OverflowFinder finder(*net);
  {
    amp::AutocastGuard autocast(kCPU, kHalf);
    loss = loss_of(net, batch);
  }
  scaler.scale(loss).backward();
  if (auto found = finder.found()) std::cout << *found;  // the op, its inputs, its module
  TANDEM_ASSERT(finder.found());
}

void accumulation() {
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  amp::GradScaler scaler;
  const Batch batch = draw(32);
  const Tensor expected =
      net->head->weight.detach() - 0.1 * autograd::grad({loss_of(net, batch)}, {net->head->weight})[0];
  for (int64_t i = 0; i < 4; ++i) {  // a batch of 32, 8 at a time
    const Batch part{batch.x.narrow(0, 8 * i, 8), batch.y.narrow(0, 8 * i, 8)};
    scaler.scale(loss_of(net, part) / 4).backward();
  }
  scaler.step(optimizer);
  scaler.update();
  optimizer.zero_grad();
  TANDEM_ASSERT(allclose(net->head->weight, expected, 1e-4, 1e-4));
}

void averages() {
  Net net, averaged;
  optim::SGD optimizer(net->parameters(), 0.1);
  nn::AveragedModel ema(*net, averaged.ptr(), nn::AveragedModelOptions().ema_decay(0.999));
  for (int step = 0; step < 3; ++step) {
    train_step(net, optimizer);
    ema.update_parameters(*net);
  }
  TANDEM_ASSERT(ema.n_averaged() == 3 && !equal(net, averaged));
}

void freezing() {
  Net net;
  const Tensor before = net->body->weight.detach().clone();
  for (Tensor& parameter : net->body->parameters()) parameter.requires_grad_(false);
  optim::SGD optimizer(net->head->parameters(), 0.1);
  train_step(net, optimizer);
  TANDEM_ASSERT(equal(net->body->weight, before) && !net->body->weight.grad().defined());
}

void parameter_groups() {
  Net net;
  std::vector<Tensor> matrices, vectors;  // no weight decay for biases and normalisations
  for (const Tensor& p : net->parameters()) (p.dim() > 1 ? matrices : vectors).push_back(p);
  using Options = optim::AdamWOptions;
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(matrices, std::make_unique<Options>(Options(1e-3).weight_decay(0.1)));
  groups.emplace_back(vectors, std::make_unique<Options>(Options(1e-2).weight_decay(0)));
  optim::AdamW optimizer(groups);
  TANDEM_ASSERT(optimizer.param_groups()[1].options().get_lr() == 1e-2 && optimizer.size() == 4);
}

void learning_rates() {
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  auto warm_up = std::make_shared<optim::LinearLR>(optimizer, 0.1, 1.0, 5);
  auto cosine = std::make_shared<optim::CosineAnnealingLR>(optimizer, 95);
  optim::SequentialLR schedule(optimizer, {warm_up, cosine}, {5});
  for (int epoch = 0; epoch < 100; ++epoch) {
    train_step(net, optimizer);
    schedule.step();
  }
  TANDEM_ASSERT(schedule.get_last_lr()[0] < 1e-3, schedule.get_last_lr()[0]);

  for (optim::OptimizerParamGroup& group : optimizer.param_groups()) group.options().set_lr(0.01);
  TANDEM_ASSERT(optimizer.param_groups()[0].options().get_lr() == 0.01);
}

void early_stop() {
  double best = INFINITY;
  int epochs_without_gain = 0, epoch = 0;
  Net net;
  for (; epoch < 100; ++epoch) {
    const double loss = std::fabs(epoch - 10.0);  // on data that are not trained on
    if (loss < best) {
      best = loss;
      epochs_without_gain = 0;
      save(net, "best.safetensors");
    } else if (++epochs_without_gain == 5) {
      break;
    }
  }
  TANDEM_ASSERT(epoch == 15 && best == 0);
}

void validation() {
  Net net;
  const std::vector<Batch> batches = {draw(), draw()};
  int64_t right = 0, count = 0;
  net->eval();  // dropout off, batch norm by its running statistics
  {
    const NoGradGuard no_grad;
    for (const Batch& batch : batches) {
      right += net->forward(batch.x).argmax(1).eq(batch.y).sum().item<int64_t>();
      count += batch.y.size(0);
    }
  }
  net->train();
  TANDEM_ASSERT(count == 64 && right > 0 && right < 64 && net->is_training());
}

void initial_weights() {
  Net net;
  net->apply([](nn::Module& module) {
    if (auto* linear = module.as<nn::Linear>()) {
      nn::init::kaiming_normal_(linear->weight, 0, kFanIn, kReLU);
      nn::init::zeros_(linear->bias);
    }
  });
  TANDEM_ASSERT(net->head->bias.abs().max().item<float>() == 0);
}

void logs() {
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  amp::GradScaler scaler;
  amp::TrainLog log({"run.jsonl"});  // a name that ends in .tfevents is a file for TensorBoard
  const Tensor loss = loss_of(net, draw());
  scaler.scale(loss).backward();
  const amp::StepResult result = scaler.step(optimizer);
  log.step({.loss = loss, .scaler = &scaler, .result = result});
  scaler.update();
  log.flush();
  std::string line;
  TANDEM_ASSERT(std::getline(std::ifstream("run.jsonl"), line) && line.find("\"scale\"") != std::string::npos, line);
}

void class_weights() {
  Net net;
  const Batch batch = draw();
  const Tensor weight = tensor({1.0, 2.0, 5.0}, kFloat);  // one for each class
  const auto options = nn::functional::CrossEntropyFuncOptions().weight(weight);
  const Tensor loss = nn::functional::cross_entropy(net->forward(batch.x), batch.y, options);
  TANDEM_ASSERT(loss.dim() == 0 && loss.requires_grad());
}

// ---- inference

void inference() {
  Net net;
  const Tensor x = draw().x;
  load(net, "net.safetensors");
  net->eval();
  const InferenceMode guard;
  const amp::AutocastGuard autocast(kCPU);  // bf16; leave it out to compute in f32
  const Tensor answer = net->forward(x).argmax(1);
  TANDEM_ASSERT(!answer.requires_grad() && answer.size(0) == 32);
}

void low_precision_weights() {
  Net net;
  const Tensor x = draw().x;
  const InferenceMode guard;
  net->to(kBFloat16);  // half the memory
  const Tensor y = net->forward(x.to(kBFloat16));
  TANDEM_ASSERT(y.dtype() == kBFloat16);
}

// ---- data

struct Squares : data::datasets::Dataset<Squares> {
  data::Example<> get(size_t index) override {
    const Tensor x = full({1}, static_cast<double>(index));
    return {x, x.square()};
  }
  std::optional<size_t> size() const override { return 100; }
};

void own_data() {
  auto squares = Squares().map(data::transforms::Stack<>());
  auto loader = data::make_data_loader(squares, data::DataLoaderOptions(32).workers(2));
  int64_t count = 0;
  for (auto& batch : *loader) {  // batch.data and batch.target are f32, [32, 1]
    TANDEM_ASSERT(equal(batch.data.square(), batch.target));
    count += batch.data.size(0);
  }
  TANDEM_ASSERT(count == 100);
}

void data_in_memory() {
  const Batch all = draw(100);
  auto pairs = data::datasets::StackedDataset(all.x, all.y);
  auto parts = data::datasets::random_split(pairs, {0.8, 0.2});
  auto train = data::make_data_loader(parts[0], 16);
  TANDEM_ASSERT(train->begin()->data.size(0) == 16 && parts[1].size() == 20U);
}

void tables() {
  std::ofstream("a.csv") << "width,height\n1,2\n3,4\n";
  const data::CSVTable table = data::read_csv("a.csv", data::CSVOptions().header(true));
  const Tensor heights = table.values.select(1, 1);  // the second column
  TANDEM_ASSERT(heights.sum().item<float>() == 6);
}

void padding() {
  const Tensor a = ones({5, 8}), b = ones({3, 8});
  const Tensor batch = nn::utils::rnn::pad_sequence({a, b}, /*batch_first=*/true);  // [2, 5, 8]
  TANDEM_ASSERT(batch.size(1) == 5 && batch.sum().item<float>() == 64);
}

// ---- speed and memory

void profile() {
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  amp::Profiler profiler;
  for (int step = 0; step < 5; ++step) train_step(net, optimizer);
  std::cout << profiler;  // op by op: time, share, dtype, casts
  TANDEM_ASSERT(!profiler.ops().empty());
}

void less_memory() {
  Net net;
  const Tensor x = draw().x;
  const Tensor h = autograd::checkpoint([&](const Tensor& x) { return relu(net->body(x)); }, x);
  TANDEM_ASSERT(allclose(net->head(h), net->forward(x)));
}

void memory_in_use() {
  cpu::reset_peak_memory_stats();
  const Tensor x = zeros({1024, 1024});
  std::cout << cpu::max_memory_allocated() / 1048576 << " MiB at most\n";  // or cuda::
  TANDEM_ASSERT(cpu::max_memory_allocated() >= x.numel() * 4);
}

void threads() {
  const int before = get_num_threads();
  set_num_threads(1);  // or OMP_NUM_THREADS=1 in the environment
  TANDEM_ASSERT(get_num_threads() == 1);
  set_num_threads(before);
}

void own_threads() {
  Net net;
  const Tensor x = draw().x;
  Tensor y;
  amp::AutocastGuard autocast(kCPU);
  const ThreadContext context = ThreadContext::capture();
  std::thread worker([&] {
    const ThreadContextGuard guard(context);  // the modes of the other thread
    y = net->forward(x);
  });
  worker.join();
  TANDEM_ASSERT(y.dtype() == kBFloat16);
}

// ---- repeating and looking

Net trained_with_seed(uint64_t seed) {
  manual_seed(seed);
  cuda::set_deterministic(true);  // on GPUs; costs speed
  Net net;
  optim::SGD optimizer(net->parameters(), 0.1);
  for (int step = 0; step < 3; ++step) train_step(net, optimizer);
  return net;
}

void same_results() {
  TANDEM_ASSERT(equal(trained_with_seed(1), trained_with_seed(1)));
  TANDEM_ASSERT(!equal(trained_with_seed(1), trained_with_seed(2)));
}

void layers_and_sizes() {
  Net net;
  int64_t count = 0;
  for (const Tensor& parameter : net->parameters()) count += parameter.numel();
  std::cout << net << "\n" << count << " parameters\n";
  TANDEM_ASSERT(count == 4 * 16 + 16 + 16 * 3 + 3);
}

void gradients() {
  Net net;
  loss_of(net, draw()).backward();
  for (const auto& entry : net->named_parameters()) {
    std::cout << entry.key() << " " << entry.value().grad().norm().item<float>() << "\n";
  }
  TANDEM_ASSERT(net->head->bias.grad().norm().item<float>() > 0);
}

void activations() {
  Net net;
  const Tensor x = draw().x;
  Tensor hidden;
  net->body->register_forward_hook([&](nn::Module&, const auto&, auto& outputs) { hidden = outputs[0].detach(); });
  net->forward(x);
  TANDEM_ASSERT(hidden.size(1) == 16);
}

void gpu() {
  Net net;
  const Batch batch = draw();
  const Device device = cuda::is_available() ? Device(kCUDA) : Device(kCPU);
  net->to(device);
  const Tensor y = net->forward(batch.x.to(device));
  TANDEM_ASSERT(y.device().type() == device.type());
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "tandem_how_do_i_XXXXXX").string();
  TANDEM_ASSERT(mkdtemp(folder.data()));
  std::filesystem::current_path(folder);
  manual_seed(1);
  void (*const answers[])() = {checkpoints,
                               weights,
                               a_part_of_the_weights,
                               numpy,
                               mixed_precision,
                               not_a_number,
                               accumulation,
                               averages,
                               freezing,
                               parameter_groups,
                               learning_rates,
                               early_stop,
                               validation,
                               initial_weights,
                               logs,
                               class_weights,
                               inference,
                               low_precision_weights,
                               own_data,
                               data_in_memory,
                               tables,
                               padding,
                               profile,
                               less_memory,
                               memory_in_use,
                               threads,
                               own_threads,
                               same_results,
                               layers_and_sizes,
                               gradients,
                               activations,
                               gpu};
  for (const auto answer : answers) answer();
  std::filesystem::current_path("/");
  std::filesystem::remove_all(folder);
}
