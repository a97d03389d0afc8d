// The code of docs/saving.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "io/torch_files.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "tandem/io/io.h"
#include "tandem/tandem.h"
#include "tandem/tensor/dlpack.h"

namespace tandem::testing {
namespace {

/// The tests run in a folder of their own.
struct SavingPage : ::testing::Test {
  /// torch_file(), whose path may be relative to the folder in which the program was started.
  std::filesystem::path file_of_torch(const std::string& name) const { return current.before() / torch_file(name); }
  void copy_torch_file(const std::string& name, const std::string& to) const {
    std::filesystem::copy_file(file_of_torch(name), to, std::filesystem::copy_options::overwrite_existing);
  }
  static nn::Sequential new_model() { return nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2)); }

  const TemporaryFolder folder;
  const WorkingFolder current{folder.path()};
};

struct Killed {};

/// Trains until iteration `last`, from the state in run.safetensors if that exists. Throws Killed in iteration
/// `killed_in`. Returns the model's state.
StateDict train(uint64_t seed, int64_t last, int64_t killed_in = -1) {
  const Device device = get_default_device();
  auto dataset = data::datasets::StackedDataset(rand({48, 4}, Generator(7)).cpu(), arange(48).remainder(3).cpu());
  manual_seed(seed);
  nn::Sequential model(nn::Linear(4, 8), nn::Dropout(0.2), nn::Linear(8, 3));

  optim::AdamW adamw(model->parameters(), 1e-3);
  optim::CosineAnnealingLR schedule(adamw, 1000);
  amp::GradScaler scaler;
  auto loader = data::make_data_loader(dataset, 4);
  int64_t iteration = 0;

  io::Checkpoint run;  // refers to the objects: a list of what a run is
  run.add("model", model).add("optimizer", adamw).add("schedule", schedule).add("scaler", scaler);
  run.add("rng", default_generator()).add("loader", loader).add("iteration", iteration);

  if (std::filesystem::exists("run.safetensors")) run.load("run.safetensors");
  while (iteration < last) {
    for (auto& batch : *loader) {
      if (iteration == killed_in) throw Killed();
      adamw.zero_grad();
      Tensor loss;
      {
        amp::AutocastGuard autocast(device.type(), kHalf);
        loss = cross_entropy(model->forward(batch.data.to(device)), batch.target.to(device));
      }
      scaler.scale(loss).backward();
      scaler.step(adamw);
      scaler.update();
      schedule.step();
      if (++iteration % 10 == 0) run.save("run.safetensors");
    }
  }
  return clone(model->state_dict());
}

TEST_F(SavingPage, ResumesBitForBit) {
  const StateDict expected = train(1, 24);
  std::filesystem::remove("run.safetensors");
  EXPECT_THROW(train(1, 24, 17), Killed);
  EXPECT_EQ(difference(train(2, 24), expected), "");
}

TEST_F(SavingPage, PyTorchsFiles) {
  copy_torch_file("module.pt", "model.pt");
  nn::Sequential model = new_model();
  load(model, "model.pt");  // torch.save(model.state_dict(), "model.pt"), or libtorch's torch::save
  save(model, "model.pt");  // .pt and .pth: model.load_state_dict(torch.load("model.pt"))
  nn::Sequential again = new_model();
  load(again, "model.pt");
  EXPECT_EQ(difference(again->state_dict(), model->state_dict()), "");
  const StateDict expected = io::load_file(file_of_torch("module.safetensors").string()).tensors;
  EXPECT_EQ(difference(model->state_dict()["0.weight"], expected["0.weight"]), "");

  copy_torch_file("train_adam.pt", "checkpoint.pt");
  nn::Sequential net = new_model();
  optim::Adam adam(net->parameters(), optim::AdamOptions().amsgrad(true));
  // torch.save({"net": net.state_dict(), "optimizer": adam.state_dict(), "epoch": 3}, "checkpoint.pt")
  StateDict run = io::load_pt("checkpoint.pt");
  net->load_state_dict(state_below(run, "net"));
  adam.load_state_dict(state_below(run, "optimizer"));
  int64_t epoch = run["epoch"].item<int64_t>();
  EXPECT_EQ(epoch, 3);
  EXPECT_EQ(difference(adam.state_dict()["state.0.exp_avg"], run["optimizer.state.0.exp_avg"]), "");

  copy_torch_file("train_adam.pt", "values.pt");
  std::ostringstream printed;
  std::streambuf* const terminal = std::cout.rdbuf(printed.rdbuf());
  IValue value = io::load_pickle("values.pt");  // nested lists, tuples, dictionaries, texts, with libtorch's accessors
  for (const auto& entry : value.toGenericDict()) std::cout << entry.key().toStringRef() << "\n";
  std::cout.rdbuf(terminal);
  EXPECT_EQ(printed.str(), "net\noptimizer\nepoch\n");
}

TEST_F(SavingPage, NumPysFiles) {
  copy_torch_file("array.npy", "x.npy");
  copy_torch_file("stored.npz", "arrays.npz");
  Tensor x = io::load_npy("x.npy");               // numpy.save: versions 1 to 3, either byte order, Fortran order
  StateDict arrays = io::load_npz("arrays.npz");  // numpy.savez, numpy.savez_compressed
  EXPECT_GT(arrays.size(), 0U);
  const Tensor y = x + x;
  io::save_npy(x, "x.npy");
  io::save_npz({{"x", x}, {"y", y}}, "arrays.npz", /*compressed=*/true);
  EXPECT_EQ(difference(io::load_npy("x.npy"), x), "");
  EXPECT_EQ(difference(io::load_npz("arrays.npz")["y"], y), "");
}

TEST_F(SavingPage, MemoryOfOtherLibraries) {
  const Tensor x = arange(6.0).reshape({2, 3}).requires_grad_();
  DLManagedTensor* managed = toDLPack(x.detach());  // for the other library, which calls managed->deleter(managed)
  Tensor y = fromDLPack(managed);                   // as the other library: calls the deleter with the last view of y
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  EXPECT_EQ(difference(y, x), "");
}

TEST_F(SavingPage, SchedulesInSequence) {
  nn::Linear net(2, 2);
  optim::SGD sgd(net->parameters(), 0.1);
  std::vector<double> rates;
  auto warm_up = std::make_shared<optim::LinearLR>(sgd, 0.1, 1.0, 5);
  auto cosine = std::make_shared<optim::CosineAnnealingLR>(sgd, 95);
  optim::SequentialLR schedule(sgd, {warm_up, cosine}, {5});
  for (int epoch = 0; epoch < 100; ++epoch) {
    rates.push_back(sgd.param_groups()[0].options().get_lr());
    schedule.step();
  }
  EXPECT_NEAR(rates[0], 0.01, 1e-9);
  EXPECT_NEAR(rates[5], 0.1, 1e-9);
  EXPECT_LT(rates[99], 1e-3);
}

}  // namespace
}  // namespace tandem::testing
