// The expressions in the table of docs/python.md.
#include <gtest/gtest.h>
#include <tandem/tandem.h>

#include "support/compare.h"
#include "support/device.h"
#include "support/temporary_folder.h"
#include "tandem/amp/custom_function.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/nn/averaged_model.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"

using namespace tandem;

namespace {

struct Net : nn::Module {
  Net() { register_module("fc", fc); }
  Tensor forward(const Tensor& x) { return fc(x); }
  nn::Linear fc{3, 2};
};

struct DoubledImpl : Net {
  Tensor forward(const Tensor& x) { return Net::forward(x) * 2; }
};
TANDEM_MODULE(Doubled);

struct Square : amp::CustomFunction<Square, kFloat> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    return {grads[0] * 2 * ctx->get_saved_variables()[0]};
  }
};

bool equal(const Tensor& x, const std::vector<double>& values) { return tandem::testing::values_of(x) == values; }

TEST(PythonPage, Tensors) {
  using namespace tandem::indexing;
  Tensor x = arange(6.0).reshape({2, 3});
  const Tensor y = x.t(), mask = x > 3;
  EXPECT_TRUE(equal(tensor({1.0, 2.0}), {1, 2}));
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(equal(x[0], {0, 1, 2}));
  EXPECT_TRUE(equal(x.index({Slice(), Slice(1, 3)}), {1, 2, 4, 5}));
  EXPECT_TRUE(equal(x.sum({1}, true), {3, 12}));
  EXPECT_TRUE(equal(x.matmul(y), {5, 14, 14, 50}));
  EXPECT_TRUE(equal(x.pow(2), {0, 1, 4, 9, 16, 25}));
  EXPECT_TRUE(equal((~mask).to(kLong), {1, 1, 1, 1, 0, 0}));
  x.index_put_({mask}, 0);
  EXPECT_TRUE(equal(x, {0, 1, 2, 3, 0, 0}));
  {
    const Tensor y = x.clone();
    EXPECT_TRUE((x == y).all().item<bool>());
  }
  x = ones({1});
  EXPECT_EQ(x.item<float>(), 1);
}

TEST(PythonPage, Gradients) {
  Tensor x = full({2}, 3.0);
  x.requires_grad_();
  Square::apply(x).sum().backward();
  EXPECT_TRUE(equal(x.grad(), {6, 6}));
  EXPECT_FALSE(x.detach().requires_grad());
  const std::vector<Tensor> inputs{x};
  const Tensor loss = autograd::checkpoint([](const Tensor& a) { return a * a; }, x).sum();
  EXPECT_TRUE(equal(autograd::grad({loss}, inputs)[0], {6, 6}));
  {
    NoGradGuard no_grad;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  InferenceMode guard;
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(PythonPage, Mixed) {
  amp::GradScaler scaler(amp::GradScalerOptions().init_scale(1024));
  EXPECT_EQ(scaler.get_scale(), 1024);
  scaler.scale(ones({1}));
  EXPECT_EQ(scaler.scale_tensor().item<float>(), 1024);
  amp::AutocastGuard autocast(kCUDA, kBFloat16);
  EXPECT_EQ(amp::get_autocast_dtype(kCUDA), kBFloat16);
  amp::AutocastGuard off(kCUDA, {}, false);
  EXPECT_FALSE(amp::is_autocast_enabled(kCUDA));
}

TEST(PythonPage, Modules) {
  manual_seed(1);
  const Tensor x = rand({2, 3}), y = zeros({2}, kLong);
  const Tensor pictures = nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1))(rand({1, 3, 4, 4}));
  EXPECT_EQ(pictures.sizes(), (std::vector<int64_t>{1, 8, 4, 4}));
  {
    Doubled net;
    EXPECT_EQ(net(x).size(1), 2);
    Doubled averaged;
    nn::AveragedModel swa(*net, averaged.ptr());
    swa.update_parameters(*net);
    EXPECT_EQ(swa.n_averaged(), 1);
  }
  EXPECT_GT(
      nn::functional::cross_entropy(x, y, nn::functional::CrossEntropyFuncOptions().label_smoothing(0.1)).item<float>(),
      0);

  Net net;
  net.train();
  EXPECT_TRUE(net.is_training());
  net.eval();
  EXPECT_FALSE(net.is_training());
  optim::AdamW adamw(net.parameters(), optim::AdamWOptions(1e-3));
  optim::AdamW& opt = adamw;
  optim::CosineAnnealingLR schedule(opt, 100);
  net.forward(x).sum().backward();
  EXPECT_GT(nn::utils::clip_grad_norm_(net.parameters(), 1.0).item<float>(), 0);
  EXPECT_TRUE((std::is_constructible_v<nn::parallel::DistributedDataParallel<Net>, Net&>));
}

TEST(PythonPage, FilesAndData) {
  const tandem::testing::TemporaryFolder folder;
  const tandem::testing::WorkingFolder current(folder.path());
  Net net;
  const Tensor weight = net.fc->weight.detach().clone();
  for (const bool pt : {true, false}) {
    if (pt) {
      save(net, "net.pt");
    } else {
      save(net, "net.safetensors");
    }
    net.fc->weight.detach().zero_();
    if (pt) {
      load(net, "net.pt");
    } else {
      load(net, "net.safetensors");
    }
    EXPECT_TRUE(tandem::testing::same_bits(net.fc->weight.detach(), weight));
  }

  auto dataset = data::datasets::StackedDataset(zeros({100, 2}, kCPU), zeros({100}, TensorOptions(kLong).device(kCPU)));
  const int threads = get_num_threads();
  set_num_threads(2);
  auto loader = data::make_data_loader(dataset, data::DataLoaderOptions(64).workers(2));
  EXPECT_EQ(loader->begin()->data.size(0), 64);
  EXPECT_EQ(get_num_threads(), 2);
  set_num_threads(threads);
}

TEST(PythonPage, Cuda) {
  if (!cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  EXPECT_EQ(zeros({2, 3}, TensorOptions(kHalf).device(kCUDA)).dtype(), kHalf);
  const Tensor x = ones({2, 3}, kCPU);
  EXPECT_TRUE(x.to(kCUDA, true).is_cuda());
  Net net;
  net.to(kCUDA);
  EXPECT_TRUE(net.fc->weight.is_cuda());
  const cuda::CUDAGraph graph;
}

}  // namespace
