// cuDNN's graph API on the emulated device: a convolution or one of its gradients, optionally followed by a bias,
// computed by the CPU kernels. Like cuDNN 9, it has no engine that writes f32 weight gradients from 16-bit operands. Of
// the two engines here, only the first uses tensor cores.
#include <cudnn_graph.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

#include "cuda_emulated/device/vendor_memory.h"
#include "kernels/cuda/runtime.h"

using namespace tandem;
using namespace tandem::cuda::emulated;

struct EmulatedDnn {
  int device;
  cudaStream_t stream = nullptr;
};

/// Attributes as they were set. Descriptors derived from a graph also have the graph and the engine.
struct EmulatedDescriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> attributes;
  bool finalized = false;
  const EmulatedDescriptor* graph = nullptr;
  int64_t engine = 0;

  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(static_cast<void*>(values.data()), found->second.data(), found->second.size());
    return values;
  }
  template <class T>
  T one(cudnnBackendAttributeName_t name) const {
    const std::vector<T> values = list<T>(name);
    require(values.size() == 1, "an attribute does not have exactly one value");
    return values[0];
  }
};

namespace {

using Descriptor = const EmulatedDescriptor*;
constexpr int64_t kEngines = 2, kWorkspace = 512;

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_FLOAT:
      return sizeof(float);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return sizeof(cudnnDataType_t);
  }
}

DType type_of(Descriptor tensor) {
  switch (tensor->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
    case CUDNN_DATA_HALF:
      return kHalf;
    case CUDNN_DATA_BFLOAT16:
      require_sm80("convolutions of bf16");
      return kBFloat16;
    case CUDNN_DATA_DOUBLE:
      return kDouble;
    default:
      return kFloat;
  }
}

enum class Direction { forward, backward_input, backward_weight };

/// A convolution or one of its gradients, with the parts named as in its operation.
struct Operation {
  Direction direction;
  Descriptor convolution, x, w, y;
};

Operation operation_of(Descriptor operation) {
  const auto part = [&](cudnnBackendAttributeName_t name) { return operation->one<Descriptor>(name); };
  switch (operation->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {Direction::forward, part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X), part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {Direction::backward_input, part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX), part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY)};
    default:
      require(operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              "the first operation is not a convolution");
      return {Direction::backward_weight, part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X), part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
              part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY)};
  }
}

std::vector<Descriptor> operations_of(Descriptor graph) {
  return graph->list<Descriptor>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

Dims dims_of(Descriptor tensor, cudnnBackendAttributeName_t name) {
  return Dims(IntArrayRef(tensor->list<int64_t>(name)));
}

/// The addresses of a variant pack, found by the numbers of their tensors.
class Pack {
 public:
  explicit Pack(Descriptor pack)
      : ids_(pack->list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)),
        pointers_(pack->list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)) {
    require(ids_.size() == pointers_.size(), "the numbers of addresses and of unique ids differ");
  }
  Tensor tensor(Descriptor t) const {
    const auto id = t->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] != id) continue;
      require(is_aligned(pointers_[i], static_cast<uint64_t>(t->one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))),
              "a tensor is less aligned than declared");
      return device_tensor(pointers_[i], dims_of(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
                           dims_of(t, CUDNN_ATTR_TENSOR_STRIDES), type_of(t));
    }
    throw Misuse("emulated cuBLASLt or cuDNN: a tensor has no address");
  }

 private:
  std::vector<int64_t> ids_;
  std::vector<void*> pointers_;
};

/// The computation of a run, independent of descriptors, which may be destroyed by then.
struct Run {
  Direction direction;
  Tensor x, w, y, bias;
  ConvParams p;
  bool has_tensor_cores = false;

  void operator()() const {
    const Backend& cpu = backend(kCPU);
    const auto factor = [&](const Tensor& t) {
      return has_tensor_cores && t.dtype() == kFloat ? rounded_to_tf32(t) : t;
    };
    switch (direction) {
      case Direction::forward:
        return cpu.conv(y, factor(x), factor(w), bias, p, Activation::none);
      case Direction::backward_input:
        return cpu.conv_backward_input(x, factor(y), factor(w), p);
      case Direction::backward_weight:
        return cpu.conv_backward_weight(w, {}, factor(y), factor(x), p);
    }
  }
};

Run run_of(Descriptor graph, const Pack& pack) {
  const std::vector<Descriptor> operations = operations_of(graph);
  const Operation first = operation_of(operations[0]);
  Run run{
      .direction = first.direction, .x = pack.tensor(first.x), .w = pack.tensor(first.w), .y = {}, .bias = {}, .p = {}};
  Descriptor last = first.y;
  for (size_t i = 1; i < operations.size(); ++i) {
    require(last == operations[i]->one<Descriptor>(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
            "the operations do not form a chain");
    require(last->one<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL), "a tensor between operations is not virtual");
    last = operations[i]->one<Descriptor>(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const auto what = operations[i]->one<Descriptor>(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    require(what->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_ADD, "not an addition");
    const Tensor bias = pack.tensor(operations[i]->one<Descriptor>(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    run.bias = device_tensor(bias.raw_bytes(), {bias.size(1)}, {1}, bias.dtype());
  }
  run.y = pack.tensor(last);
  const auto dims = first.convolution->one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  require((dims == 2 || dims == 3) && run.x.dim() == dims + 2 && run.w.dim() == dims + 2 && run.y.dim() == dims + 2,
          "the numbers of dimensions differ, or are not 2 or 3");
  const auto copy = [&](cudnnBackendAttributeName_t name, std::array<int64_t, 3>& to) {
    const std::vector<int64_t> values = first.convolution->list<int64_t>(name);
    require(static_cast<int64_t>(values.size()) == dims, "a list does not have an entry per dimension");
    std::copy(values.begin(), values.end(), to.begin());
  };
  copy(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, run.p.padding);
  copy(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, run.p.stride);
  copy(CUDNN_ATTR_CONVOLUTION_DILATIONS, run.p.dilation);
  require(first.convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) ==
              first.convolution->list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          "the paddings before and after differ");
  run.p.groups = run.x.size(1) / run.w.size(1);
  return run;
}

bool is_supported(Descriptor graph) {
  const std::vector<Descriptor> operations = operations_of(graph);
  const Operation first = operation_of(operations[0]);
  return first.direction != Direction::backward_weight || type_of(first.w) == type_of(first.y);
}

}  // namespace

const char* cudnnGetErrorString(cudnnStatus_t) { return "a status of the emulated device"; }
void cudnnGetLastErrorString(char* text, size_t bytes) { std::snprintf(text, bytes, "no such engine"); }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return *handle = new EmulatedDnn{cuda::current_device()}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return *descriptor = new EmulatedDescriptor{type, {}}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return delete descriptor, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  require(!descriptor->finalized, "an attribute is set after finalize");
  const auto* begin = static_cast<const char*>(values);
  descriptor->attributes[name].assign(begin, begin + static_cast<size_t>(count) * size_of(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (const Descriptor part : descriptor->list<Descriptor>(name)) {
      if (!part->finalized) return CUDNN_STATUS_BAD_PARAM;
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  descriptor->finalized = true;
  if (descriptor->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    return is_supported(descriptor) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (descriptor->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const auto config = descriptor->one<Descriptor>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    descriptor->graph = config->graph;
    descriptor->engine = config->engine;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t count, int64_t* found, void* values) {
  *found = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      *found = kEngines;
      for (int64_t i = 0; i < std::min(count, kEngines); ++i) {
        EmulatedDescriptor* const config = static_cast<cudnnBackendDescriptor_t*>(values)[i];
        config->graph = descriptor->one<Descriptor>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        config->engine = i;
        config->finalized = true;
      }
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      (*static_cast<cudnnBackendDescriptor_t*>(values))->engine = descriptor->engine;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      auto* const notes = static_cast<cudnnBackendNumericalNote_t*>(values);
      *found = descriptor->engine == 0 ? 1 : 0;
      if (descriptor->engine == 0) notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t*>(values) = kWorkspace;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_BAD_PARAM;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  require(handle->stream == cuda::current_handle(), "the stream is not the current one");
  require(plan->finalized && pack->finalized, "the plan or the pack is not finalized");
  const auto planned_for = plan->one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)->device;
  require(handle->device == cuda::current_device() && planned_for == handle->device,
          "the handle or the plan belongs to another device");
  const auto workspace = pack->one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  require(is_aligned(workspace, 16) && workspace, "the workspace is null or misaligned");
  Run run = run_of(plan->graph, Pack(pack));
  run.has_tensor_cores = plan->engine == 0;
  submit([run, workspace] {
    scribble(workspace, kWorkspace);
    run();
  });
  return CUDNN_STATUS_SUCCESS;
}
