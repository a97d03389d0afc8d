// Archives, and devices for load(). tests/libtorch/programs/archives.cpp reads an archive of libtorch.
#include "tandem/io/archive.h"

#include <gtest/gtest.h>

#include "io/torch_files.h"
#include "support/compare.h"
#include "support/device.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/cuda/device.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

nn::Sequential new_model() { return nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2)); }

TEST(Serialize, DevicesOfLoadedObjects) {
  TemporaryFolder folder;
  const Device cpu(kCPU), device(device_type());
  for (const char* name : {"x.pt", "x.safetensors"}) {
    const std::string path = folder.path(name);
    auto model = new_model(), other = new_model();
    other->to(cpu);
    save(model, path);
    load(other, path);
    EXPECT_TRUE(other->parameters()[0].is_cpu()) << name;
    load(other, path, device_type());
    EXPECT_EQ(other->parameters()[0].device().type(), device.type()) << name;
    EXPECT_EQ(difference(other->state_dict(), model->state_dict()), "") << name;
    load(*other, path, cpu);
    EXPECT_TRUE(other->buffers()[0].is_cpu()) << name;
    save(ones({3}), path);
    Tensor x;
    load(x, path);
    EXPECT_TRUE(x.is_cpu()) << name;
    load(x, path, device);
    EXPECT_EQ(difference(x, ones({3})), "") << name;
  }
  if (cuda::is_available()) return;
  auto model = new_model();
  const StateDict before = model->state_dict();
  EXPECT_THROWS(load(model, torch_file("module.pt"), kCUDA), DeviceError, "load: ", "cuda");
  EXPECT_EQ(difference(model->state_dict(), before), "");
}

/// Saves a counter, and not its bias.
struct CountedImpl : nn::Module {
  CountedImpl() { register_module("fc", fc); }
  void save(serialize::OutputArchive& archive) const override {
    archive.write("weight", fc->weight);
    archive.write("calls", IValue(calls));
  }
  void load(serialize::InputArchive& archive) override {
    NoGradGuard no_grad;
    Tensor weight;
    archive.read("weight", weight);
    fc->weight.copy_(weight);
    IValue read;
    archive.read("calls", read);
    calls = read.toInt();
  }
  nn::Linear fc{nn::LinearOptions(2, 2)};
  int64_t calls = 0;
};
TANDEM_MODULE(Counted);

/// Notes that its values were there when load() ran.
struct DerivedValueImpl : nn::Module {
  DerivedValueImpl() { register_module("fc", fc); }
  void load(serialize::InputArchive& archive) override {
    nn::Module::load(archive);
    sum = fc->weight.sum().item<double>();
  }
  nn::Linear fc{nn::LinearOptions(2, 2)};
  double sum = 0;
};
TANDEM_MODULE(DerivedValue);

struct OuterImpl : nn::Module {
  OuterImpl() {
    register_module("counted", counted);
    register_module("derived", derived);
    register_module("head", head);
  }
  Counted counted;
  DerivedValue derived;
  nn::Linear head{nn::LinearOptions(2, 1)};
};
TANDEM_MODULE(Outer);

TEST(Archive, ModulesSaveAndLoadTheirPartsThemselves) {
  TemporaryFolder folder;
  const std::string path = folder.path("outer.pt");
  Outer model, other;
  model->counted->calls = 7;
  save(model, path);
  const Tensor bias = other->counted->fc->bias.detach().clone();
  load(other, path);
  EXPECT_EQ(other->counted->calls, 7);
  EXPECT_EQ(difference(other->counted->fc->weight, model->counted->fc->weight), "");
  EXPECT_EQ(difference(other->counted->fc->bias, bias), "");
  EXPECT_EQ(difference(other->head->state_dict(), model->head->state_dict()), "");
  EXPECT_EQ(other->derived->sum, model->derived->fc->weight.sum().item<double>());
  serialize::InputArchive archive;
  archive.load_from(path);
  EXPECT_FALSE(archive.keys().empty());
  Tensor missing;
  EXPECT_FALSE(archive.try_read("counted.fc.bias", missing));
  // A class that overrides load() alone keeps the format and the checks of state_dict().
  save(model->derived, folder.path("derived.safetensors"));
  EXPECT_EQ(difference(io::load_state(folder.path("derived.safetensors")), model->derived->state_dict()), "");
  EXPECT_THROWS(load(other->derived, path), StateError, "unexpected", "'head.weight'");
  // An archive that lacks a part leaves the model unchanged.
  const StateDict before = other->state_dict();
  nn::Sequential partial(nn::Linear(2, 1));
  save(partial, path);
  EXPECT_THROWS(load(other, path), StateError, "missing", "'head.weight'");
  EXPECT_EQ(difference(other->state_dict(), before), "");
}

/// Keeps one number in files.
struct CountingOptimizer : optim::SGD {
  using SGD::SGD;
  void save(serialize::OutputArchive& archive) const override { archive.write("count", tensor(count)); }
  void load(serialize::InputArchive& archive) override {
    Tensor read;
    archive.read("count", read);
    count = read.item<int64_t>();
  }
  int64_t count = 0;
};

TEST(Archive, OptimizersSaveAndLoadThemselves) {
  TemporaryFolder folder;
  auto model = new_model();
  CountingOptimizer optimizer(model->parameters(), optim::SGDOptions(0.1)), other(model->parameters(), 0.2);
  optimizer.count = 3;
  save(optimizer, folder.path("optimizer.pt"));
  load(static_cast<optim::Optimizer&>(other), folder.path("optimizer.pt"));
  EXPECT_EQ(other.count, 3);
}

TEST(Archive, EntriesKeepNamesAndValues) {
  TemporaryFolder folder;
  auto model = new_model(), other = new_model();
  optim::Adam adam(model->parameters(), optim::AdamOptions(0.1));
  model->forward(ones({4, 3})).sum().backward();
  adam.step();
  serialize::OutputArchive all, part, empty;
  model->save(all);  // in the same archive as other values
  adam.save(all);
  part << model;
  all.write("agent.part", part);
  all.write("nothing", empty);
  for (const char* name : {"a.pt", "a.bin"}) {
    all.save_to(folder.path(name));
    serialize::InputArchive archive, nested, none;
    archive.load_from(folder.path(name), device_type());
    other->load(archive);
    EXPECT_EQ(difference(other->state_dict(), model->state_dict()), "") << name;
    optim::Adam again(other->parameters(), optim::AdamOptions(0.5));
    again.load(archive);
    EXPECT_EQ(difference(again.state_dict(), adam.state_dict()), "") << name;
    archive.read("agent", nested);
    nested.read("part", nested);
    EXPECT_EQ(nested.keys(), (std::vector<std::string>{"0", "1"})) << name;
    EXPECT_TRUE(archive.try_read("nothing", none)) << name;
    EXPECT_TRUE(none.keys().empty()) << name;
    const Tensor weight = other->parameters()[0];
    Tensor same = weight;
    archive.read("agent.part.0.weight", same);
    EXPECT_TRUE(same.is_same(weight)) << name;
    EXPECT_THROWS(archive.read("agent", same), StateError, "read: ", name, "no tensor 'agent'", "nothing");
    EXPECT_THROWS(nested.read("x", none), StateError, "read: ", "'part' of 'agent' of", "nested archive 'x'", "0, 1");
  }
  // As a state_dict() for Python.
  serialize::OutputArchive plain;
  plain << model;
  plain.save_to(folder.path("plain.pt"));
  EXPECT_EQ(difference(io::load_pt(folder.path("plain.pt")), model->state_dict()), "");
  auto larger = nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2), nn::Linear(2, 2));
  serialize::InputArchive archive;
  archive.load_from(folder.path("plain.pt"));
  EXPECT_THROWS(larger->load(archive), StateError, "missing", "'2.weight'");
  EXPECT_THROWS(plain.write("x", Tensor()), StateError, "write: ", "'x' is undefined");
  EXPECT_THROWS(plain.save_to([](const void*, size_t) { return size_t{0}; }), IoError, "save_to: ", "wrote 0 of");
  EXPECT_THROWS(archive.load_from([](uint64_t, void*, size_t) { return size_t{1}; }, [] { return size_t{9}; }), IoError,
                "load_from: ", "read 1 of 9 bytes");
}

}  // namespace
}  // namespace tandem::testing
