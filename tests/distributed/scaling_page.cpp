// The code of docs/scaling.md. It is compiled, not run: distributed_test has its own groups.
#include "tandem/data/samplers/distributed.h"
#include "tandem/distributed/distributed.h"
#include "tandem/nn/parallel/distributed_data_parallel.h"
#include "tandem/optim/zero_redundancy_optimizer.h"
#include "tandem/tandem.h"

namespace tandem::testing {

void train_on_all_ranks() {
  // clang-format off
  const auto group = distributed::init();                // one rank without mpirun
  nn::Sequential net(nn::Linear(784, 256), nn::ReLU(), nn::Linear(256, 10));
  nn::parallel::DistributedDataParallel model(net);      // from now on, all have the parameters of rank 0
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1));
  auto data = data::datasets::MNIST("/usr/share/datasets/fashion-mnist").map(data::transforms::Stack<>());
  data::samplers::DistributedRandomSampler part(*data.size(), static_cast<size_t>(group->size()),
                                                static_cast<size_t>(group->rank()));
  auto loader = data::make_data_loader(std::move(data), std::move(part), 64);
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    loader->sampler().set_epoch(epoch);                  // another order in each epoch, the same on all ranks
    for (auto& batch : *loader) {
      sgd.zero_grad();
      Tensor loss;
      {
        const amp::AutocastGuard autocast(kCPU);
        loss = cross_entropy(model(batch.data.flatten(1)), batch.target);
      }
      loss.backward();                                   // the gradients are averages over all ranks
      sgd.step();                                        // the same step everywhere
    }
  }
  if (group->rank() == 0) save(net, "net.safetensors");
  // clang-format on
}

void train_on_gpus(nn::Sequential& net) {
  // clang-format off
  const auto group = distributed::init();
  const Device device(kCUDA, distributed::local_rank());  // the number of the process on this machine
  const DeviceGuard current(device);
  net->to(device);
  nn::parallel::DistributedDataParallel model(net);
  // clang-format on
}

void train_with_sharded_states(nn::Sequential& net, amp::GradScaler& scaler, const Tensor& x, io::Checkpoint& run,
                               const std::string& path) {
  // clang-format off
  nn::parallel::DistributedDataParallel model(net);
  optim::ZeroRedundancyOptimizer zero(net->parameters(), optim::AdamWOptions(1e-3));
  zero.keep_master_weights();
  scaler.scale(model(x).square().mean()).backward();
  scaler.step(zero);
  scaler.update();

  zero.consolidate_state_dict(/*to=*/0);
  if (distributed::rank() == 0) run.save(path);  // an io::Checkpoint with the model, zero, the scaler, ...
  // clang-format on
}

}  // namespace tandem::testing
