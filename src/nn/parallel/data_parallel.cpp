#include "tandem/nn/parallel/data_parallel.h"

#include <algorithm>
#include <thread>

#include "tandem/amp/thread_context.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/node.h"
#include "tandem/backend.h"
#include "tandem/base/check.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/join.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/split.h"
#include "tandem/tensor/accelerator.h"
#include "tandem/tensor/generator_guard.h"
#include "tandem/tensor/random.h"
#include "tandem/tensor/threads.h"
#include "tandem/tensor/weight_float8.h"

namespace tandem::nn::parallel {

std::vector<Tensor> scatter(const Tensor& input, const std::vector<Device>& devices, int64_t dim) {
  const OpScope op("scatter");
  TANDEM_CHECK(!devices.empty(), StateError, "there are no devices; give at least one");
  std::vector<Tensor> parts = chunk(input, static_cast<int64_t>(devices.size()), dim);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].to(devices[i], /*non_blocking=*/true);
  return parts;
}

Tensor gather(const std::vector<Tensor>& outputs, Device device, int64_t dim) {
  const OpScope op("gather");
  TANDEM_CHECK(!outputs.empty(), StateError, "there are no tensors; give at least one");
  const bool is_current = device.is_cuda() && device.index() < 0;
  if (is_current) device = Device(kCUDA, accelerator().current_device());
  std::vector<Tensor> moved;
  for (const Tensor& y : outputs) {
    const Tensor here = y.to(device, /*non_blocking=*/true);
    moved.push_back(here.dim() == 0 ? here.view({1}) : here);
  }
  return cat(moved, dim);
}

namespace detail {

namespace {

/// Gives `copy`, a parameter of a replica, the history "copied from `original`".
void connect_parameter(const Tensor& original, const Tensor& copy) {
  if (!copy.defined() || !original.requires_grad() || copy.grad_fn()) return;  // a tied parameter comes more than once
  auto node = std::make_shared<autograd::FunctionNode>(
      "replicate", std::vector<autograd::Edge>{autograd::gradient_edge(original)},
      [device = original.device()](const autograd::Grads& g) -> autograd::Grads { return {g[0].to(device)}; });
  node->outputs.emplace_back(copy);
  autograd::set_history(copy, std::move(node), 0);
  // In a region of float8, replicas on one device share the histories. Other replicas have copies.
  const bool in_region = thread_state().weight_products[static_cast<int>(copy.device().type())] != nullptr;
  if (in_region && copy.device() == original.device()) copy.impl().float8 = weight_float8(original);
}

}  // namespace

void connect(const Module& module, Module& replica) {
  if (!GradMode::is_enabled()) return;
  const auto from = module.named_parameters(/*recurse=*/false), to = replica.named_parameters(/*recurse=*/false);
  for (const auto& item : to) connect_parameter(from[item.key()], item.value());
  const auto parts = module.children(), copies = replica.children();
  for (size_t i = 0; i < parts.size(); ++i) connect(*parts[i], *copies[i]);
}

std::vector<Device> devices_or_all(const std::optional<std::vector<Device>>& devices) {
  const OpScope op("data_parallel");
  if (devices) return *devices;
  std::vector<Device> all;
  const int count = accelerator().is_available() ? accelerator().device_count() : 0;
  for (int i = 0; i < count; ++i) all.emplace_back(kCUDA, i);
  TANDEM_CHECK(!all.empty(), StateError, "there is no GPU; give the devices, such as {{kCPU, kCPU}} for two threads");
  return all;
}

void in_threads(size_t count, const std::function<void(size_t)>& task) {
  const ThreadContext context = ThreadContext::capture();
  const PhiloxState drawn = default_generator().reserve(1);
  const int threads_of_task = std::max(1, get_num_threads() / static_cast<int>(std::max<size_t>(count, 1)));
  std::vector<std::exception_ptr> errors(count);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        set_num_threads(threads_of_task);
        const ThreadContextGuard modes(context);
        // Another stream for each replica and call. The factors are odd, so that different numbers stay different.
        Generator generator(drawn.seed + drawn.offset * 0x9e3779b97f4a7c15 + (i + 1) * 0xc2b2ae3d27d4eb4f);
        const GeneratorGuard random(generator);
        try {
          task(i);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace detail
}  // namespace tandem::nn::parallel
