// PyTorch's files: those that PyTorch wrote (tests/golden/torch_files.py), and round trips.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "io/torch_files.h"
#include "support/compare.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/base/warn.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

nn::Sequential new_model() { return nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2)); }

// ---- files of PyTorch

TEST(TorchFile, ModulesLoad) {
  for (const char* name : {"module.pt", "deflated.pt"}) {
    auto model = new_model();
    load(model, torch_file(name));
    EXPECT_EQ(difference(model->state_dict(), expected_tensors("module")), "") << name;
    model->load_state_dict(io::load_pt(torch_file(name)));
  }
}

TEST(TorchFile, EveryDtypeAndGeometryLoads) {
  const StateDict state = io::load_pt(torch_file("tensors.pt"));
  EXPECT_EQ(difference(state, expected_tensors("tensors")), "");
  EXPECT_EQ(state.keys(), expected_tensors("tensors").keys());
  EXPECT_EQ(state["transposed"].strides(), IntArrayRef({1, 4, 12}));
  EXPECT_EQ(state["expanded"].strides(), IntArrayRef({0, 0}));
  EXPECT_EQ(state["channels_last"].strides(), IntArrayRef({16, 1, 8, 2}));
  for (const char* view : {"row", "transposed", "steps"})
    EXPECT_TRUE(shares_memory(state["base"], state[view])) << view;
  EXPECT_FALSE(shares_memory(state["base"], state["scalar"]));
  NoGradGuard no_grad;
  state["base"].fill_(7);
  EXPECT_EQ(state["row"].sum().item<float>(), 28);
  EXPECT_TRUE(state["parameter"].requires_grad());
  EXPECT_TRUE(state["gradient"].requires_grad() && state["gradient"].is_leaf());
  EXPECT_FALSE(state["base"].requires_grad());
}

TEST(TorchFile, AttributesOfTensorsAreIgnored) {
  const StateDict state = io::load_pt(torch_file("attributes.pt"));
  EXPECT_EQ(difference(state, expected_tensors("attributes")), "");
  EXPECT_EQ(state["tensor"].strides(), IntArrayRef({1, 3}));
  EXPECT_TRUE(state["parameter"].requires_grad());
}

TEST(TorchFile, LegacyFilesLoad) {
  const StateDict state = io::load_pt(torch_file("legacy.pt"));
  EXPECT_EQ(difference(state, expected_tensors("tensors")), "");
  EXPECT_EQ(difference(io::load_state(torch_file("legacy.pt")), state), "");
  EXPECT_TRUE(shares_memory(state["base"], state["row"]));
  EXPECT_EQ(state["transposed"].strides(), IntArrayRef({1, 4, 12}));
  EXPECT_TRUE(state["parameter"].requires_grad());
}

TEST(TorchFileErrors, DamagedLegacyFiles) {
  const std::string bytes = file_bytes(torch_file("legacy.pt"));
  const auto load = [](const std::string& part) { pickle_load({part.begin(), part.end()}); };
  EXPECT_THROWS(load(bytes.substr(0, bytes.size() - 1)), IoError, "malformed, or cut off: the storage '", "is cut off");
  for (size_t size = 1; size < bytes.size(); size += 7) EXPECT_THROW(load(bytes.substr(0, size)), IoError) << size;
}

void check_values(const IValue& value) {
  const GenericDict& values = value.toGenericDict();
  EXPECT_TRUE(values.at("none").isNone());
  EXPECT_TRUE(values.at("true").toBool());
  EXPECT_FALSE(values.at("false").toBool());
  const std::vector<int64_t> ints = {
      0, 255, 256, 65535, 65536, -1, INT32_MAX, INT32_MIN, int64_t{1} << 31, int64_t{1} << 62, INT64_MIN};
  EXPECT_EQ(values.at("ints").toIntVector(), ints);
  EXPECT_EQ(values.at("floats").toDoubleVector(), std::vector<double>({0.0, -2.5, 1e300, INFINITY}));
  EXPECT_EQ(values.at("text").toStringRef(), "\u00fcber \u2603 \U0001f600");
  EXPECT_EQ(values.at("bytes").toBytes(), std::string("\x00\xff\x80 b", 5));
  EXPECT_EQ(values.at("bytearray").toBytes(), "ab");
  const auto& tuples = values.at("tuples").toTuple()->elements();
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(tuples[i].toTupleRef().size(), i);
  EXPECT_EQ(values.at(7).toStringRef(), "seven");
  EXPECT_EQ(values.at(2.5).toStringRef(), "float");
  EXPECT_EQ(values.at("set").toIntVector(), std::vector<int64_t>{4});
  EXPECT_EQ(values.at("size").toTupleRef().elements()[1].toInt(), 3);
  EXPECT_EQ(values.at("dtype").toScalarType(), kBFloat16);
  EXPECT_EQ(values.at("device").toDevice(), Device(kCUDA, 1));
  EXPECT_EQ(values.at("counter").toGenericDict().at("a").toInt(), 2);
  const Tensor y =
      values.at("nested").toListRef()[0].toGenericDict().at("x").toListRef()[0].toGenericDict().at("y").toTensor();
  EXPECT_EQ(difference(y, tensor({1, 2})), "");
  EXPECT_EQ(values.at("long list").toIntVector().size(), 1001u);
}

TEST(TorchFile, EveryValueLoads) {
  check_values(io::load_pickle(torch_file("values.pt")));
  check_values(io::load_pickle(torch_file("protocol4.pt")));
  check_values(io::load_pickle(torch_file("legacy_values.pt")));
}

/// Collects the warnings while it exists.
class Warnings {
 public:
  Warnings() : before_(set_warning_handler([this](const std::string& text) { text_ += text + "\n"; })) {}
  ~Warnings() { set_warning_handler(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::function<void(const std::string&)> before_;
};

TEST(TorchFile, WhatTandemLacksIsNamedAndTheRestLoads) {
  const Warnings warnings;
  StateDict state = io::load_pt(torch_file("left_out.pt")), expected = expected_tensors("left_out");
  expected["float8"] = from_blob(expected["float8"].data_ptr(), {2}, kFloat8_e4m3fn).clone();
  expected.insert("uint16", zeros({2}, TensorOptions(kUInt16).device(kCPU)));
  EXPECT_EQ(difference(state, expected), "");
  for (const char* part :
       {"load_pt: ", "left_out.pt: left out", "'complex' ('torch.ComplexFloatStorage')",
        "'sparse' ('torch._utils._rebuild_sparse_tensor')", "'class' ('__main__.Custom')", "'numpy' ('numpy.",
        "'large' (an integer of more than 64 bits)", "an entry with a Tuple as its key", "'type' ('torch.Tensor')",
        "'storage' (a storage)", "'types' (a tuple of a class or storage)",
        "an item of a list (an integer of more than 64 bits)", "'pair' (an integer of more than 64 bits)"}) {
    EXPECT_NE(warnings.text().find(part), std::string::npos) << part << " in " << warnings.text();
  }
}

TEST(TorchFile, LegacyStoragesOfOtherDtypesAreSkipped) {
  const Warnings warnings;
  EXPECT_EQ(difference(io::load_pt(torch_file("legacy_left_out.pt")), expected_tensors("legacy_left_out")), "");
  for (const char* part : {"'complex' ('torch.ComplexFloatStorage')", "'quantized' ('torch.", "'complex double' ("}) {
    EXPECT_NE(warnings.text().find(part), std::string::npos) << part << " in " << warnings.text();
  }
}

/// Read from files of PyTorch, from what tandem makes of them, and by PyTorch (tests/golden/torch_check.py).
TEST(TorchFile, DtypesWithoutTypedStorages) {
  const char* const kept = std::getenv("TANDEM_REWRITTEN");
  const TemporaryFolder folder;
  const std::string rewritten = (kept ? kept : folder.path()) + std::string("/untyped.pt");
  io::save_pt(io::load_pt(torch_file("untyped.pt")), rewritten);
  for (const std::string& path : {torch_file("untyped.pt"), torch_file("legacy_untyped.pt"), rewritten}) {
    const StateDict state = io::load_pt(path);
    const TensorOptions cpu = TensorOptions().device(kCPU);
    EXPECT_TRUE(state["u16"].equal(tensor({{0, 1, 65535}, {2, 3, 4}}, cpu.dtype(kUInt16)))) << path;
    EXPECT_TRUE(state["part"].equal(state["u16"].slice(1, 1))) << path;
    EXPECT_EQ(state["part"].data_ptr(), state["u16"].slice(1, 1).data_ptr()) << path;
    EXPECT_TRUE(state["u32"].equal(tensor({int64_t{1}, int64_t{0xffffffff}}, cpu.dtype(kUInt32)))) << path;
    EXPECT_TRUE(state["u64"].equal(tensor({~uint64_t{0}, uint64_t{5}}, cpu))) << path;
    EXPECT_TRUE(state["f8e5m2"].to(kFloat).equal(tensor({0.5, -2.0}, cpu))) << path;
  }
}

TEST(TorchFile, SavedWithoutChecksumsLoads) {
  Tensor t;
  load(t, torch_file("no_crc.pt"));
  EXPECT_EQ(difference(t, expected_tensors("tensors")["transposed"]), "");
}

/// Resumes a run of PyTorch and compares the next step.
template <class Optimizer>
void check_resumed(const std::string& name, const nn::Sequential& model, Optimizer& optimizer,
                   const std::string& next) {
  const StateDict saved = io::load_pt(torch_file(name + ".pt"));
  EXPECT_EQ(saved["epoch"].item<int64_t>(), 3);
  model->load_state_dict(state_below(saved, "net"));
  optimizer.load_state_dict(state_below(saved, "optimizer"));
  set_gradients(model->parameters(), 2);
  optimizer.step();
  const StateDict now = model->state_dict(), expected = expected_tensors(next);
  for (const auto& item : expected) {
    EXPECT_TRUE(allclose(now[item.key()].cpu(), item.value(), 1e-6, 1e-7)) << name << " " << item.key();
  }
}

TEST(TorchFile, OptimizersResume) {
  const auto model = new_model();
  const std::vector<Tensor> p = model->parameters();
  optim::SGD sgd(p, optim::SGDOptions(0.5).momentum(0.9).nesterov(true));
  check_resumed("train_sgd", model, sgd, "train_sgd.next");
  EXPECT_EQ(sgd.param_groups()[0].options().get_lr(), 0.1);
  optim::Adam adam(p, optim::AdamOptions(0.5).amsgrad(true));
  check_resumed("train_adam", model, adam, "train_adam.next");
  optim::AdamW adamw({optim::OptimizerParamGroup({p[0], p[1]}), optim::OptimizerParamGroup({p[2], p[3]})});
  for (const char* name : {"train_adamw", "train_named"}) check_resumed(name, model, adamw, "train_adamw.next");
  EXPECT_EQ(adamw.param_groups()[0].options().get_lr(), 0.02);
}

template <class Optimizer>
void check_other(const std::string& name) {
  const StateDict run = state_below(io::load_pt(torch_file("optimizers.pt")), name);
  const Tensor p = run["p"].clone().to(get_default_device()).requires_grad_();
  Optimizer optimizer(std::vector<Tensor>{p});
  optimizer.load_state_dict(state_below(run, "optimizer"));
  set_gradients({p}, 2);
  optimizer.step();
  EXPECT_TRUE(allclose(p.cpu(), expected_tensors("optimizers.next")[name], 1e-6, 1e-7)) << name;
}

TEST(TorchFile, OtherOptimizersResume) {
  check_other<optim::RMSprop>("RMSprop");
  check_other<optim::Adagrad>("Adagrad");
  check_other<optim::Adadelta>("Adadelta");
  check_other<optim::Adamax>("Adamax");
  check_other<optim::NAdam>("NAdam");
  check_other<optim::RAdam>("RAdam");
}

// ---- round trips

TEST(TorchFile, RoundTripKeepsValues) {
  const TemporaryFolder folder;
  io::save_pickle(io::load_pickle(torch_file("values.pt")), folder.path("values.pt"));
  check_values(io::load_pickle(folder.path("values.pt")));
  check_values(pickle_load(pickle_save(io::load_pickle(torch_file("protocol4.pt")))));
  for (const int64_t count : {0, 1, 999, 1000, 1001, 2000}) {
    std::vector<int64_t> list;
    GenericDict dict;
    for (int64_t i = 0; i < count; ++i) {
      list.push_back(i);
      dict.insert(i, -i);
    }
    EXPECT_EQ(pickle_load(pickle_save(list)).toIntVector(), list);
    const GenericDict back = pickle_load(pickle_save(dict)).toGenericDict();
    EXPECT_EQ(back.size(), dict.size());
    for (const auto& entry : back) EXPECT_EQ(entry.value().toInt(), -entry.key().toInt());
  }
}

TEST(TorchFile, DecoupledWeightDecayIsKept) {
  const TemporaryFolder folder;
  const auto expect_kept = [&](auto optimizer, auto other) {
    save(optimizer, folder.path("o.pt"));
    load(other, folder.path("o.pt"));
    EXPECT_EQ(difference(optimizer.state_dict(), other.state_dict()), "");
  };
  const std::vector<Tensor> p{ones({2})};
  expect_kept(optim::NAdam(p, optim::NAdamOptions(0.1).decoupled_weight_decay(true)), optim::NAdam(p, 0.2));
  expect_kept(optim::RAdam(p, optim::RAdamOptions(0.1).decoupled_weight_decay(true)), optim::RAdam(p, 0.2));
}

TEST(TorchFile, RoundTripKeepsGeometryAndSharing) {
  const TemporaryFolder folder;
  const StateDict state = io::load_pt(torch_file("tensors.pt"));
  io::save_pt(state, folder.path("a.pt"));
  const StateDict back = io::load_pt(folder.path("a.pt"));
  EXPECT_EQ(difference(back, state), "");
  for (const auto& item : state) {
    EXPECT_EQ(back[item.key()].strides(), item.value().strides()) << item.key();
    EXPECT_EQ(back[item.key()].requires_grad(), item.value().requires_grad()) << item.key();
    EXPECT_EQ(shares_memory(back[item.key()], back["base"]), shares_memory(item.value(), state["base"])) << item.key();
  }
}

TEST(TorchFile, Rewritten) {
  const char* const kept = std::getenv("TANDEM_REWRITTEN");  // for tests/golden/torch_check.py
  const TemporaryFolder folder;
  const std::string to = kept ? kept : folder.path();
  for (const char* name : {"module.pt", "tensors.pt", "tensor.pt", "values.pt", "train_adamw.pt", "train_sgd.pt"}) {
    const IValue value = io::load_pickle(torch_file(name));
    io::save_pickle(value, to + "/" + name);
    EXPECT_EQ(difference(io::load_pt(to + "/" + name), io::to_state_dict(value)), "") << name;
  }
  for (const std::string kind : {"adamw", "sgd"}) {
    const StateDict state = state_below(io::load_pt(torch_file("train_" + kind + ".pt")), "optimizer");
    io::save_pt(state, to + "/optimizer_" + kind + ".pt");
    const StateDict back = io::load_pt(to + "/optimizer_" + kind + ".pt");
    for (const auto& item : state) EXPECT_EQ(difference(back[item.key()], item.value()), "") << item.key();
    EXPECT_EQ(back.size(), state.size());
  }
}

TEST(TorchFile, SaveChoosesTheFormatByName) {
  const TemporaryFolder folder;
  auto model = new_model(), other = new_model();
  optim::Adam adam(model->parameters(), optim::AdamOptions(0.1)), again(other->parameters(), optim::AdamOptions(0.3));
  set_gradients(model->parameters(), 0);
  adam.step();
  for (const char* name : {"x.pt", "x.pth", "x.safetensors"}) {
    const std::string path = folder.path(name);
    save(model, path);
    EXPECT_EQ(file_bytes(path).starts_with("PK"), name[2] == 'p') << name;
    load(other, path);
    EXPECT_EQ(difference(other->state_dict(), model->state_dict()), "");
    save(adam, path);
    load(again, path);
    EXPECT_EQ(difference(again.state_dict(), adam.state_dict()), "");
    save(ones({2}), path);
    Tensor t;
    load(t, path);
    EXPECT_EQ(difference(t, ones({2})), "");
    save(std::vector<Tensor>{ones({2}), zeros({1})}, path);
    std::vector<Tensor> list;
    load(list, path);
    EXPECT_EQ(list.size(), 2u);
  }
  const GenericDict dict = [&] {
    save(adam, folder.path("adam.pt"));
    return io::load_pickle(folder.path("adam.pt")).toGenericDict();
  }();
  const GenericDict& group = dict.at("param_groups").toListRef()[0].toGenericDict();
  EXPECT_EQ(group.at("params").toIntVector(), std::vector<int64_t>({0, 1, 2, 3}));
  EXPECT_EQ(group.at("betas").toTupleRef().elements()[0].toDouble(), 0.9);
  EXPECT_EQ(difference(dict.at("state").toGenericDict().at(1).toGenericDict().at("exp_avg").toTensor(),
                       adam.state_dict()["state.1.exp_avg"]),
            "");
}

TEST(TorchFile, CheckpointsResume) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run.pt");
  auto model = new_model(), other = new_model();
  optim::AdamW adamw(model->parameters(), optim::AdamWOptions(0.1)), again(other->parameters(), optim::AdamWOptions(1));
  int64_t least = std::numeric_limits<int64_t>::min(), number = 0;
  set_gradients(model->parameters(), 0);
  adamw.step();
  io::Checkpoint a, b;
  a.add("model", model).add("optimizer", adamw).add("number", least);
  b.add("model", other).add("optimizer", again).add("number", number);
  a.save(path);
  EXPECT_TRUE(file_bytes(path).starts_with("PK"));
  EXPECT_EQ(io::load_pickle(path).toGenericDict().at("number").toTensor().item<int64_t>(), least);
  b.load(path);
  EXPECT_EQ(difference(b.state_dict(), a.state_dict()), "");
  EXPECT_THROWS(a.save(path, {{"note", "third"}}), IoError, "save: " + path, "no metadata", ".safetensors");
}

TEST(TorchFile, EmptyNamesAreKept) {
  const TemporaryFolder folder;
  const StateDict state{{"", ones({1})}, {"0", zeros({2})}, {".a", ones({3})}, {"b.", ones({4})}};
  for (const char* name : {"a.pt", "a"}) {
    io::save_state(state, folder.path(name));
    EXPECT_EQ(difference(io::load_state(folder.path(name)), state), "") << name;
  }
  const GenericDict nested{{"", GenericDict{{"a", ones({3})}, {"", ones({1})}}}};
  EXPECT_EQ(difference(io::to_state_dict(nested), {{".a", ones({3})}, {".", ones({1})}}), "");
  EXPECT_EQ(difference(io::to_state_dict(ones({1})), {{"0", ones({1})}}), "");
}

TEST(TorchFileErrors, WritersRefuseWhatReadersWould) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.pt");
  // Shared lists and texts, so that the values need little memory.
  const IValue row = std::vector<IValue>(1 << 12, 0);
  std::vector<IValue> rows((1 << 12) - 1, row);  // 1 + 4095 * 4097 values are 2^24
  EXPECT_NO_THROW(pickle_save(rows));
  rows.emplace_back(0);
  EXPECT_THROWS(io::save_pickle(rows, path), StateError, "more than 16777216 values", "in parts");
  const IValue text = std::string((size_t{1} << 27) + 1, 'x');
  EXPECT_THROWS(io::save_pickle(std::vector<IValue>{text, text}, path), StateError, "more than 268435456 bytes");
  std::vector<IValue> many(1 << 22, 0);
  EXPECT_THROWS(io::save_pickle(ivalue::Tuple(std::move(many)), path), StateError, "a tuple of more than",
                "save a list");
  StateDict names;
  const Tensor x = ones({1});
  for (int i = 0; i <= 1 << 20; ++i) names.insert(std::to_string(i), x);
  EXPECT_THROWS(io::save_pt(names, path), StateError, "save_pt: more than 1048576 tensors", "safetensors");
  EXPECT_THROWS(save(std::vector<Tensor>((1 << 20) + 1, x), path), StateError, "save: more than 1048576 tensors");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TorchFileErrors, NamesOfNumPysFiles) {
  const TemporaryFolder folder;
  const Tensor x = ones({2});
  auto model = new_model();
  io::Checkpoint run;
  run.add("model", model);
  const std::string array = folder.path("a.npy"), archive = folder.path("a.npz");
  EXPECT_THROWS(save(x, array), IoError, "save: " + array, "call io::save_npy(tensor, path)");
  EXPECT_THROWS(save(std::vector<Tensor>{x}, archive), IoError, "save: ", "call io::save_npz(tensors, path)");
  EXPECT_THROWS(save(model, archive), IoError, "save: ", "io::save_npz");
  EXPECT_THROWS(run.save(archive), IoError, "save: ", "io::save_npz");
  EXPECT_THROWS(io::save_state({{"x", x}}, array), IoError, "save_state: ", "io::save_npy");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  for (const char* name : {"a", "a.bin", "a.ckpt", "a.tandem", "npy", "a.npy.safetensors"}) {
    save(x, folder.path(name));
    EXPECT_EQ(difference(io::load_file(folder.path(name)).tensors["0"], x), "") << name;
  }
}

TEST(Serialize, Streams) {
  auto model = new_model(), other = new_model();
  std::stringstream stream;
  save(model, stream);
  load(other, stream);
  EXPECT_EQ(difference(other->state_dict(), model->state_dict()), "");
  std::stringstream tensors;
  save(std::vector<Tensor>{ones({2}), zeros({1}, kLong)}, tensors);
  std::vector<Tensor> list;
  load(list, tensors);
  EXPECT_EQ(list.size(), 2u);
  std::stringstream one;
  save(ones({3}), one);
  Tensor t;
  load(t, one);
  EXPECT_EQ(difference(t, ones({3})), "");
  std::ifstream file(torch_file("module.pt"), std::ios::binary);
  load(other, file);
  EXPECT_EQ(difference(other->state_dict(), expected_tensors("module")), "");
  std::stringstream empty;
  EXPECT_THROWS(load(t, empty), IoError, "load: ", "0 bytes");
  std::ofstream closed;
  EXPECT_THROWS(save(t, closed), IoError, "save: cannot write", "stream");
}

// ---- errors

TEST(TorchFileErrors, RefusedFilesAreNamed) {
  const auto load = [](const std::string& name) { return io::load_pt(torch_file("refused_" + name + ".pt")); };
  EXPECT_THROWS(load("module"), IoError, "load_pt: ", "refused_module.pt: ", "'torch.nn.modules.activation.ReLU'",
                "torch.save(model.state_dict(), path)");
  EXPECT_THROWS(load("complex"), IoError, "'torch.ComplexFloatStorage'");
  EXPECT_THROWS(load("sparse"), IoError, "'torch._utils._rebuild_sparse_tensor'");
  EXPECT_THROWS(load("frozen"), IoError, "2 constants, which have no names", "torch.jit.freeze",
                "torch.save(module.state_dict(), path)");
  EXPECT_THROWS(load("loop"), IoError, "contains a value that contains itself");
  EXPECT_THROWS(load("integer"), IoError, "it contains an integer of more than 64 bits");
  EXPECT_THROWS(io::load_pt(torch_file("module.safetensors")), IoError, "not a file of PyTorch, but a safetensors file",
                "io::load_file");
  EXPECT_THROWS(io::load_pt(torch_file("stored.npz")), IoError, "an archive of NumPy arrays", "io::load_npz");
  EXPECT_THROWS(io::load_pt(torch_file("none.pt")), IoError, "No such file");
  EXPECT_THROWS(pickle_load({}), IoError, "pickle_load: ", "0 bytes");
}

TEST(TorchFileErrors, PartsOfFilesAreAdvised) {
  nn::Linear model(3, 2);
  const StateDict own = model->state_dict();
  for (const char* prefix : {"module", "model", "_orig_mod", "run.model"}) {
    StateDict state{{"epoch", tensor(1)}};
    add_below(state, prefix, own);
    EXPECT_THROWS(model->load_state_dict(state), StateError,
                  "state_below(io::load_state(path), \"" + std::string(prefix));
  }
  EXPECT_THROWS(model->load_state_dict({{"a.weights", own["weight"]}}), StateError, "that it was saved from");
}

TEST(TorchFileErrors, ModulesThatDoNotFitAreUnchanged) {
  nn::Sequential model(nn::Linear(3, 4), nn::BatchNorm1d(nn::BatchNorm1dOptions(2).affine(false)), nn::Linear(1, 1));
  const StateDict before = clone(model->state_dict());
  EXPECT_THROWS(load(model, torch_file("module.pt")), StateError,
                "'0.weight' is [2, 3] f32 in the state, but [4, 3] f32", "missing keys: '2.weight', '2.bias'",
                "unexpected keys: '1.weight', '1.bias'", "nothing was changed");
  EXPECT_EQ(difference(model->state_dict(), before), "");
}

TEST(TorchFileErrors, Saving) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.pt");
  const Tensor x = ones({2}), none;
  EXPECT_THROWS(io::save_pickle(none, path), StateError, "save_pickle: a tensor is undefined", "omit it");
  EXPECT_THROWS(io::save_pt({{"x", none}}, path), StateError, "save_pt: a tensor is undefined");
  EXPECT_THROWS(io::save_pickle("\xff", path), StateError, "not UTF-8", "IValue::bytes");
  EXPECT_THROWS(io::save_pickle(io::load_pickle(torch_file("libtorch_module.pt")), path), StateError,
                "class '__torch__.Module' cannot be saved");
  IValue deep;
  for (int i = 0; i < 100; ++i) deep = std::vector<IValue>{deep};
  EXPECT_THROWS(io::save_pickle(deep, path), StateError, "more than 100 deep");
  const Tensor bits = from_blob(x.data_ptr(), {2}, kInt);
  EXPECT_THROWS(io::save_pickle(std::vector<Tensor>{x, bits}, path), StateError, "dtypes f32 and i32 share memory");
  EXPECT_THROWS(io::to_state_dict(GenericDict{{"a", GenericDict{{"b", 1}}}, {"a.b", 2}}), StateError, "'a.b'");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(IValue, AccessorsCheckTheType) {
  const IValue value = 3;
  EXPECT_EQ(value.tagKind(), "Int");
  EXPECT_THROWS(value.toTensor(), StateError, "of type Int, not Tensor");
  EXPECT_THROWS(value.toStringRef(), StateError, "not String");
  EXPECT_THROWS(IValue(GenericDict{{"a", 1}}).toGenericDict().at("b"), IndexError, "no key b");
  EXPECT_THROWS((GenericDict{{ones({1}), 1}}), StateError, "a Tensor cannot be a key");
  GenericDict dict{{"a", 1}};
  dict.insert("a", 2);
  EXPECT_EQ(dict.at("a").toInt(), 1);
  dict.insert_or_assign("a", 3);
  EXPECT_EQ(dict.at("a").toInt(), 3);
  EXPECT_EQ(IValue(true).toScalar().kind(), kBool);
}

}  // namespace
}  // namespace tandem::testing
