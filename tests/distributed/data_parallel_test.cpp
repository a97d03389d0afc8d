// data_parallel: values and gradients are those of the whole batch, on replicas in threads.
#include "tandem/nn/parallel/data_parallel.h"

#include "distributed/models.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/cuda/device.h"
#include "tandem/tensor/random.h"

namespace tandem::testing {
namespace {

using nn::parallel::data_parallel;
using nn::parallel::DataParallel;

/// The CPU `count` times, or as many CUDA devices; again from the first if there are fewer.
std::vector<Device> devices(size_t count) {
  std::vector<Device> list;
  for (size_t i = 0; i < count; ++i) {
    list.push_back(on_cuda() ? Device(kCUDA, static_cast<int>(i) % cuda::device_count()) : Device(kCPU));
  }
  return list;
}

/// A model of layers that can be cloned.
nn::Sequential make_model() {
  nn::Sequential net(nn::Linear(6, 8), nn::Tanh(), nn::Linear(8, 3));
  net->to(kDouble);
  const NoGradGuard no_grad;
  int64_t seed = 0;
  for (const Tensor& p : net->parameters()) p.copy_(numbers(p.sizes(), seed++) * 0.5);
  return net;
}

TEST(DataParallel, ValuesAndGradientsAreThoseOfTheWholeBatch) {
  const Tensor x = numbers({7, 6}, 1).requires_grad_(true), target = numbers({7, 3}, 2);
  nn::Sequential alone = make_model();
  const Tensor expected = alone(x);
  mean_square(expected, target).backward();
  const Tensor gx = x.grad();
  for (const size_t count : {1, 2, 3, 8}) {  // the last: more than there are rows
    nn::Sequential net = make_model();
    x.mutable_grad() = Tensor();
    const Tensor y = data_parallel(net, x, devices(count));
    mean_square(y, target).backward();
    expect_close({y, x.grad()}, {expected, gx}, 1e-14);
    expect_close(gradients_of(*net), gradients_of(*alone), 1e-14);
  }
}

TEST(DataParallel, AModuleHasTheParametersOfTheOther) {
  nn::Sequential net = make_model();
  DataParallel model(net, devices(2));
  EXPECT_TRUE(model.parameters()[0].is_same(net->parameters()[0]));
  EXPECT_EQ(model.named_parameters()[0].key(), "module.0.weight");
  const Tensor x = numbers({4, 6}, 1);
  expect_close({model(x)}, {net(x)}, 1e-15);
}

TEST(DataParallel, AlongAnotherDimension) {
  nn::Sequential net = make_model();
  const Tensor x = numbers({2, 5, 6}, 1);
  expect_close({data_parallel(net, x, devices(2), {}, 1)}, {net(x)}, 1e-15);
}

TEST(DataParallel, RunningStatisticsAreThoseOfTheFirstReplica) {
  nn::BatchNorm1d net(6), alone(6);
  const Tensor x = numbers({8, 6}, 1, kFloat);
  data_parallel(net, x, devices(2));
  alone(x.narrow(0, 0, 4));
  expect_close({net->running_mean, net->running_var}, {alone->running_mean, alone->running_var}, 1e-6);
}

TEST(DataParallel, ThreadsHaveTheModesOfTheCaller) {
  nn::Sequential net = make_model();
  net->to(kFloat);
  const Tensor x = numbers({4, 6}, 1, kFloat);
  {
    const amp::AutocastGuard autocast(device_type(), kBFloat16);
    const Tensor y = data_parallel(net, x, devices(2));
    EXPECT_EQ(y.dtype(), kBFloat16);
    y.to(kFloat).sum().backward();
  }
  EXPECT_EQ(net->parameters()[0].grad().dtype(), kFloat);
  const NoGradGuard no_grad;
  EXPECT_FALSE(data_parallel(net, x, devices(2)).requires_grad());
}

TEST(DataParallel, RandomNumbersFollowFromTheSeed) {
  nn::Dropout net(0.5);
  const Tensor x = ones({400, 8});
  std::vector<Tensor> drawn;
  for (int i = 0; i < 6; ++i) {
    manual_seed(i < 5 ? 3 : 4);
    drawn.push_back(data_parallel(net, x, devices(2)));
    EXPECT_EQ(equal(drawn[0], drawn.back()), i < 5);
  }
  EXPECT_FALSE(equal(drawn[0], drawn[5]));
  EXPECT_FALSE(equal(drawn[0].narrow(0, 0, 200), drawn[0].narrow(0, 200, 200)));  // the replicas differ
  EXPECT_FALSE(equal(drawn[5], data_parallel(net, x, devices(2))));               // and so do two calls
}

TEST(DataParallel, ScatterAndGatherPassGradients) {
  const Tensor x = numbers({5, 2}, 1).requires_grad_(true);
  const std::vector<Tensor> parts = nn::parallel::scatter(x, devices(2));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].size(0), 3);
  const Tensor y = nn::parallel::gather({parts[0] * 2, parts[1] * 3}, get_default_device());
  EXPECT_EQ(y.sizes(), x.sizes());
  y.sum().backward();
  expect_close({x.grad()}, {cat({full({3, 2}, 2.0, kDouble), full({2, 2}, 3.0, kDouble)})}, 0);
  EXPECT_EQ(nn::parallel::gather({ones({}), ones({})}, get_default_device()).size(0), 2);
}

TEST(DataParallel, ErrorsReachTheCaller) {
  nn::Sequential net = make_model();
  EXPECT_THROWS(data_parallel(net, numbers({4, 5}, 1), devices(2)), ShapeError, "linear", "[2, 5] f64");
  EXPECT_THROWS(nn::parallel::scatter(ones({4}), {}), StateError, "scatter: ", "no devices");
  EXPECT_THROWS(nn::parallel::gather({}, kCPU), StateError, "gather: ", "no tensors");
  if (!cuda::is_available()) {
    EXPECT_THROWS(data_parallel(net, numbers({4, 6}, 1)), StateError, "no GPU", "{kCPU, kCPU}");
  }
  // A module that is not Cloneable.
  EXPECT_THROWS(data_parallel(std::make_shared<MlpImpl>(0), numbers({4, 6}, 1), devices(2)), NotImplementedError,
                "clone");
}

}  // namespace
}  // namespace tandem::testing
