// SyncBatchNorm on several ranks equals batch norm of the joint batch.
#include "tandem/nn/parallel/sync_batch_norm.h"

#include "distributed/models.h"
#include "support/throws.h"
#include "tandem/amp/autocast.h"
#include "tandem/autograd/engine.h"

namespace tandem::testing {
namespace {

constexpr double kRounding = 1e-12;

/// The first row of a rank's part; later ranks have more rows.
int64_t row_of(int rank) { return 2 * rank + rank * (rank - 1) / 2; }
int64_t rows_of(int rank) { return 2 + rank; }

void expect_joint(const Group& group, const nn::BatchNormOptions& options, IntArrayRef item_sizes) {
  Dims sizes{row_of(group->size())};
  for (const int64_t size : item_sizes) sizes.push_back(size);
  const int64_t begin = row_of(group->rank()), rows = rows_of(group->rank());
  nn::SyncBatchNorm net(options, group), alone(options, distributed::make_thread_groups(1)[0]);
  for (const auto& module : {net, alone}) {
    module->to(kDouble);
    if (!options.affine()) continue;
    const NoGradGuard no_grad;
    module->weight.copy_(numbers({4}, 3));
    module->bias.copy_(numbers({4}, 4));
  }
  const Tensor all = numbers(sizes, 1).add(0.5).requires_grad_(true), gradient = numbers(sizes, 2);
  const Tensor expected =
      batch_norm(all, alone->weight, alone->bias, alone->running_mean, alone->running_var, true, 0.1, options.eps());
  expected.backward(gradient);
  const Tensor mine = all.detach().narrow(0, begin, rows).clone().requires_grad_(true);
  const Tensor y = net(mine);
  y.backward(gradient.narrow(0, begin, rows));
  expect_close({y, mine.grad()}, {expected.narrow(0, begin, rows), all.grad().narrow(0, begin, rows)}, kRounding);
  if (options.track_running_stats()) {
    expect_close({net->running_mean, net->running_var}, {alone->running_mean, alone->running_var}, kRounding);
    expect_same_on_all_ranks(group, net->running_var);
    EXPECT_EQ(net->num_batches_tracked.item<int64_t>(), 1);
  }
  if (!options.affine()) return;
  // The gradients of the parameters are those of this rank's rows; their sum is that of the joint batch.
  const Tensor gweight = net->weight.grad().clone(), gbias = net->bias.grad().clone();
  group->all_reduce(gweight);
  group->all_reduce(gbias);
  expect_close({gweight, gbias}, {alone->weight.grad(), alone->bias.grad()}, kRounding);
}

TEST(SyncBatchNorm, IsBatchNormOfTheJointBatch) {
  on_ranks([](const Group& group) {
    expect_joint(group, nn::BatchNormOptions(4), {4});
    expect_joint(group, nn::BatchNormOptions(4), {4, 3});
    expect_joint(group, nn::BatchNormOptions(4).affine(false), {4, 2, 3});
    expect_joint(group, nn::BatchNormOptions(4).track_running_stats(false).eps(0.1), {4, 2, 1, 3});
  });
}

TEST(SyncBatchNorm, KeepsTheDtypeUnderAutocast) {
  on_ranks([](const Group& group) {
    nn::SyncBatchNorm net(nn::BatchNormOptions(4), group);
    const amp::AutocastGuard autocast(device_type(), kBFloat16);
    const Tensor x = numbers({3, 4}, group->rank(), kBFloat16).requires_grad_(true);
    const Tensor y = net(x);
    EXPECT_EQ(y.dtype(), kBFloat16);
    y.to(kFloat).sum().backward();
    EXPECT_EQ(x.grad().dtype(), kBFloat16);
    EXPECT_EQ(net->weight.grad().dtype(), kFloat);
  });
}

TEST(SyncBatchNorm, ValuesInBf16) {
  on_ranks([](const Group& group) {
    const int64_t ranks = group->size();
    const Tensor all = numbers({4 * ranks, 4}, 1, kBFloat16), gradient = numbers({4 * ranks, 4}, 2, kBFloat16);
    nn::SyncBatchNorm net(nn::BatchNormOptions(4), group);
    const Tensor wide = all.to(kDouble).requires_grad_(true);
    batch_norm(wide, {}, {}, {}, {}, true, 0.1, 1e-5).backward(gradient.to(kDouble));
    const Tensor mine = part_of(all, group->rank(), group->size()).clone().requires_grad_(true);
    net(mine).backward(part_of(gradient, group->rank(), group->size()));
    // One rounding to bf16, of numbers up to about 2.
    expect_close({mine.grad().to(kDouble)}, {part_of(wide.grad(), group->rank(), group->size())}, 0x1p-8);
  });
}

TEST(SyncBatchNorm, ARankWithoutRows) {
  on_ranks([](const Group& group) {
    if (group->size() == 1) return;
    nn::SyncBatchNorm net(nn::BatchNormOptions(4), group);
    net->to(kDouble);
    nn::BatchNorm1d alone(4);
    alone->to(kDouble);
    const Tensor all = numbers({6, 4}, 1);
    const Tensor expected = alone(all);
    const bool has_rows = group->rank() == 0;
    const Tensor mine = (has_rows ? all : all.narrow(0, 0, 0)).clone().requires_grad_(true);
    const Tensor y = net(mine);
    (y * y).sum().backward();
    EXPECT_EQ(y.size(0), has_rows ? 6 : 0);
    if (has_rows) expect_close({y}, {expected}, kRounding);
    expect_close({net->running_mean, net->running_var}, {alone->running_mean, alone->running_var}, kRounding);
  });
}

TEST(SyncBatchNorm, CumulativeAverageAndEvaluation) {
  on_ranks([](const Group& group) {
    nn::SyncBatchNorm net(nn::BatchNormOptions(4).momentum(std::nullopt), group);
    nn::BatchNorm1d alone(nn::BatchNormOptions(4).momentum(std::nullopt));
    for (int i = 0; i < 3; ++i) {
      const Tensor all = numbers({4 * group->size(), 4}, i, kFloat);
      net(part_of(all, group->rank(), group->size()));
      alone(all);
    }
    expect_close({net->running_mean, net->running_var}, {alone->running_mean, alone->running_var}, 1e-5);
    // Without running statistics, evaluation uses those of its own batch, so that a rank may evaluate alone.
    nn::SyncBatchNorm untracked(nn::BatchNormOptions(4).track_running_stats(false), group);
    untracked->eval();
    if (group->rank() == 0) untracked(numbers({4, 4}, 1, kFloat));
  });
}

TEST(SyncBatchNorm, ConvertsAModelInPlace) {
  on_ranks([](const Group& group) {
    nn::Sequential net(nn::Linear(6, 4), nn::BatchNorm1d(4), nn::ReLU(), nn::BatchNorm1d(4));
    const auto parameters = net->parameters();
    EXPECT_EQ(nn::SyncBatchNormImpl::convert_sync_batchnorm(*net, group), 2);
    EXPECT_TRUE(net->parameters()[2].is_same(parameters[2]));
    const int64_t calls = group->statistics().calls;
    net->forward(numbers({3, 6}, group->rank(), kFloat)).sum().backward();
    EXPECT_EQ(group->statistics().calls - calls, 4);
    net->eval();
    net->forward(numbers({3, 6}, 1, kFloat));
    EXPECT_EQ(group->statistics().calls - calls, 4);
  });
}

TEST(SyncBatchNorm, RefusesWhatItCannotDo) {
  on_ranks([](const Group& group) {
    nn::SyncBatchNorm net(nn::BatchNormOptions(4), group);
    EXPECT_THROWS(net(numbers({4}, 1, kFloat)), ShapeError, "SyncBatchNorm: ", "[4] f32", "[N, C, ...]");
    const Tensor x = numbers({3, 4}, 1, kFloat).requires_grad_(true);
    const Tensor y = net(x).sum();
    EXPECT_THROWS(autograd::grad({y}, {x}, {}, true, /*create_graph=*/true), AutogradError, "twice");
  });
  on_threads(1, [](const Group& group) {
    nn::SyncBatchNorm net(nn::BatchNormOptions(4), group);
    EXPECT_THROWS(net(numbers({1, 4}, 1, kFloat)), ShapeError, "one value per channel");
  });
}

}  // namespace
}  // namespace tandem::testing
