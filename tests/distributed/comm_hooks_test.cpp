// Communication hooks of DistributedDataParallel: compressed gradients, and hooks of a program.
#include "tandem/nn/parallel/grad_bucket.h"

#include "distributed/joint_batch.h"
#include "support/throws.h"

namespace tandem::testing {
namespace {

using nn::parallel::DistributedDataParallel;
using nn::parallel::GradBucket;
using nn::parallel::Reduction;

TEST(CommHooks, CompressedGradients) {
  on_ranks([](const Group& group) {
    const std::vector<Tensor> expected = joint_gradients();
    for (const bool views : {false, true}) {
      for (const bool bf16 : {false, true}) {
        const auto hook = bf16 ? nn::parallel::bf16_compress_hook : nn::parallel::fp16_compress_hook;
        MlpImpl net(0);
        DistributedDataParallel model(net, options_of(group).gradient_as_bucket_view(views));
        model.register_comm_hook(hook);
        EXPECT_THROWS(model.register_comm_hook(hook), StateError, "register_comm_hook: ");
        for (int iteration = 0; iteration < 2; ++iteration) {
          net.zero_grad();
          const int64_t before = group->statistics().bytes;
          run(model, group);
          expect_close(gradients_of(net), expected, bf16 ? 0.02 : 0.002);
          for (const Tensor& g : gradients_of(net)) expect_same_on_all_ranks(group, g);
          if (iteration == 1) {
            int64_t elements = 0;
            for (const Tensor& p : net.parameters()) elements += p.numel();
            // Besides the gradients, only the comparison above sends.
            EXPECT_EQ(group->statistics().bytes - before, 2 * elements + 8 * elements);
          }
        }
      }
    }
  });
}

TEST(CommHooks, AHookOfTheProgram) {
  on_ranks([](const Group& group) {
    MlpImpl net(0);
    DistributedDataParallel model(net, options_of(group).bucket_cap_mb(1e-6));
    std::vector<size_t> seen;
    model.register_comm_hook([&](distributed::ProcessGroup& g, const GradBucket& bucket) {
      seen.push_back(bucket.index());
      EXPECT_EQ(bucket.is_last(), bucket.index() == 3);
      EXPECT_EQ(bucket.gradients().size(), bucket.parameters().size());
      // Behind another number in the same memory: the result need not be the whole tensor.
      const Tensor doubled = cat({ones({1}, kDouble), bucket.buffer() * 2}).narrow(0, 1, bucket.buffer().numel());
      return Reduction{g.all_reduce_async(doubled, distributed::ReduceOp::AVG), doubled};
    });
    run(model, group);
    EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3}));
    expect_close(gradients_of(net), joint_gradients(2), kRounding);
  });
}

}  // namespace
}  // namespace tandem::testing
