#pragma once
// DataParallel: runs a model on the parts of a batch, one thread and one replica of the model for each device. Names
// are those of torch::nn::parallel. For training on several processes see distributed_data_parallel.h, which is faster.
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/nn/call.h"
#include "tandem/nn/module.h"
#include "tandem/tensor/device_guard.h"

#pragma GCC visibility push(default)
namespace tandem::nn::parallel {

/// Splits `input` along `dim` into at most one part per device, of sizes that differ only in the last, and moves part i
/// to devices[i]. Gradients flow back. Throws StateError without devices.
std::vector<Tensor> scatter(const Tensor& input, const std::vector<Device>& devices, int64_t dim = 0);
/// Moves the tensors to `device` and concatenates them along `dim`; tensors of rank 0 become elements of a vector.
/// Gradients flow back. Throws StateError without tensors.
Tensor gather(const std::vector<Tensor>& outputs, Device device, int64_t dim = 0);

namespace detail {

/// Makes each parameter of `replica`, a clone of `module`, the result of an op with the parameter of `module` as its
/// input, so that gradients flow to the latter.
void connect(const Module& module, Module& replica);
/// Calls task(i) for i below `count` in as many threads, with the calling thread's modes (autocast, recording, ...) and
/// with random streams that follow from the default generator and i. Throws the exception of the first task that
/// failed.
void in_threads(size_t count, const std::function<void(size_t)>& task);
std::vector<Device> devices_or_all(const std::optional<std::vector<Device>>& devices);

}  // namespace detail

/// Copies of a module on these devices, whose parameters pass their gradients to those of `module`. The module itself
/// is used for the first device if it is there, so that its running statistics are updated. Throws NotImplementedError
/// for a module that cannot be cloned.
template <std::derived_from<Module> M>
std::vector<std::shared_ptr<M>> replicate(const std::shared_ptr<M>& module, const std::vector<Device>& devices) {
  std::vector<std::shared_ptr<M>> replicas;
  const std::vector<Tensor> parameters = module->parameters();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == 0 && !parameters.empty() && parameters[0].device() == devices[0]) {
      replicas.push_back(module);
      continue;
    }
    replicas.push_back(std::dynamic_pointer_cast<M>(module->clone(devices[i])));
    detail::connect(*module, *replicas.back());
  }
  return replicas;
}

/// Calls modules[i] with inputs[i], each in a thread of its own whose current device is that of the input, and returns
/// the results.
template <std::derived_from<Module> M>
std::vector<Tensor> parallel_apply(const std::vector<std::shared_ptr<M>>& modules, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs(inputs.size());
  detail::in_threads(inputs.size(), [&](size_t i) {
    const DeviceGuard current(inputs[i].device());
    outputs[i] = nn::call(*modules.at(i), inputs[i]);
  });
  return outputs;
}

/// Evaluates module(input) on several devices (all GPUs unless given), along the dimension `dim` of the batch, and
/// returns the result on `output_device` (the first device unless given).
template <std::derived_from<Module> M>
Tensor data_parallel(const std::shared_ptr<M>& module, const Tensor& input,
                     const std::optional<std::vector<Device>>& devices = std::nullopt,
                     const std::optional<Device>& output_device = std::nullopt, int64_t dim = 0) {
  const std::vector<Device> all = detail::devices_or_all(devices);
  std::vector<Tensor> parts = scatter(input, all, dim);
  if (parts.size() == 1 && all.size() == 1) {
    return nn::call(*module, parts[0]).to(output_device.value_or(all[0]));
  }
  const std::vector<Device> used(all.begin(), all.begin() + static_cast<int64_t>(parts.size()));
  return gather(parallel_apply(replicate(module, used), parts), output_device.value_or(all[0]), dim);
}
template <class M>
Tensor data_parallel(const ModuleHolder<M>& module, const Tensor& input,
                     const std::optional<std::vector<Device>>& devices = std::nullopt,
                     const std::optional<Device>& output_device = std::nullopt, int64_t dim = 0) {
  return data_parallel(module.ptr(), input, devices, output_device, dim);
}

/// A module that evaluates another one by data_parallel(). The parameters are those of the other module.
template <std::derived_from<Module> M>
class DataParallel : public Module {
 public:
  explicit DataParallel(std::shared_ptr<M> module, std::optional<std::vector<Device>> devices = std::nullopt,
                        std::optional<Device> output_device = std::nullopt, int64_t dim = 0)
      : Module("tandem::nn::parallel::DataParallel"),
        module_(std::move(module)),
        devices_(std::move(devices)),
        output_device_(output_device),
        dim_(dim) {
    register_module("module", module_);
  }
  explicit DataParallel(const ModuleHolder<M>& module, std::optional<std::vector<Device>> devices = std::nullopt,
                        std::optional<Device> output_device = std::nullopt, int64_t dim = 0)
      : DataParallel(module.ptr(), std::move(devices), output_device, dim) {}

  Tensor forward(const Tensor& input) { return data_parallel(module_, input, devices_, output_device_, dim_); }
  Tensor operator()(const Tensor& input) { return nn::call(*this, input); }
  const std::shared_ptr<M>& module() const { return module_; }

 private:
  std::shared_ptr<M> module_;
  std::optional<std::vector<Device>> devices_;
  std::optional<Device> output_device_;
  int64_t dim_;
};

}  // namespace tandem::nn::parallel
#pragma GCC visibility pop
