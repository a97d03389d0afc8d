// Files that libtorch wrote (tests/golden/torch_files_libtorch.cpp), and TorchScript's.
#include <gtest/gtest.h>

#include "io/torch_files.h"
#include "support/compare.h"
#include "support/state.h"
#include "tandem/io/io.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

nn::Sequential libtorch_model() {
  return nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(nn::BatchNorm1dOptions(2).affine(false)));
}

TEST(LibtorchFile, ModulesAndTensorsLoad) {
  auto model = libtorch_model();
  load(model, torch_file("libtorch_module.pt"));
  EXPECT_EQ(difference(model->state_dict(), expected_tensors("libtorch_module")), "");
  const Tensor base = arange(6.0).reshape({2, 3});
  Tensor t;
  load(t, torch_file("libtorch_tensor.pt"));
  EXPECT_EQ(difference(t, base), "");
  std::vector<Tensor> list;
  load(list, torch_file("libtorch_tensors.pt"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(difference(list[1], base.t()), "");
  EXPECT_TRUE(shares_memory(list[0], list[1]));
  EXPECT_EQ(difference(list[2], ones({2}, kLong)), "");
}

TEST(LibtorchFile, ScriptModulesLoad) {
  nn::Linear linear(3, 2);
  load(linear, torch_file("script.pt"));
  const IValue script = io::load_pickle(torch_file("script.pt"));
  EXPECT_EQ(script.toObject()->name(), "__torch__.torch.nn.modules.linear.Linear");
  EXPECT_TRUE(script.toObject()->getAttr("training").toBool());
  EXPECT_EQ(difference(linear->weight, script.toObject()->getAttr("weight").toTensor()), "");
}

TEST(LibtorchFile, ScriptModulesHaveTheKeysOfTheirStateDict) {
  const StateDict state = io::load_pt(torch_file("scripted.pt")), expected = expected_tensors("scripted");
  EXPECT_EQ(difference(state, expected), "");
  EXPECT_EQ(state.size(), expected.size());
}

TEST(LibtorchFile, OptimizersResume) {
  auto model = libtorch_model();
  load(model, torch_file("libtorch_module.pt"));
  optim::Adam adam(model->parameters(), optim::AdamOptions(0.5).amsgrad(true));
  load(adam, torch_file("libtorch_adam.pt"));
  EXPECT_EQ(adam.param_groups()[0].options().get_lr(), 0.01);
  set_gradients(model->parameters(), 2);
  adam.step();
  const StateDict now = model->state_dict(), expected = expected_tensors("libtorch_next");
  for (const auto& item : expected)
    EXPECT_TRUE(allclose(now[item.key()].cpu(), item.value(), 1e-6, 1e-7)) << item.key();

  optim::SGD sgd(model->parameters(), optim::SGDOptions(0.5).momentum(0.5));
  load(sgd, torch_file("libtorch_sgd.pt"));
  const StateDict state = sgd.state_dict();
  EXPECT_EQ(state["param_groups.0.momentum"].item<double>(), 0.9);
  EXPECT_TRUE(allclose(state["state.1.momentum_buffer"], golden_gradient(model->parameters()[1], 1)));
}

std::vector<char> bytes_of(const std::string& name) {
  const std::string bytes = file_bytes(torch_file(name));
  return {bytes.begin(), bytes.end()};
}

TEST(LibtorchFile, PickledValuesLoad) {
  const Tensor base = arange(6.0).reshape({2, 3});
  const GenericDict dict = pickle_load(bytes_of("libtorch_dict.pt")).toGenericDict();
  EXPECT_EQ(difference(dict.at("b").toTensor(), base[1]), "");
  EXPECT_TRUE(shares_memory(dict.at("a").toTensor(), dict.at("b").toTensor()));
  const IValue lists = pickle_load(bytes_of("libtorch_lists.pt"));
  const auto& elements = lists.toTupleRef().elements();
  EXPECT_EQ(elements[0].toIntVector(), std::vector<int64_t>({1, -2, int64_t{1} << 40}));
  EXPECT_EQ(elements[1].toDoubleVector(), std::vector<double>({0.5, 1e100}));
  EXPECT_TRUE(elements[2].isBoolList());
  EXPECT_EQ(difference(elements[3].toTensorVector()[0], base), "");
  EXPECT_EQ(elements[4].toStringRef(), "text");
  EXPECT_TRUE(elements[5].isNone());
}

}  // namespace
}  // namespace tandem::testing
