#include "cudnn_engines/described_devices.h"

#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cuda_fake/fake_driver.h"
#include "support/paths.h"

namespace tandem::cuda::testing {
namespace {

using Handle = cudnnBackendDescriptor_t;

struct Description {
  std::string text;
  nlohmann::json values;
};

const std::vector<Description>& descriptions() {
  static const std::vector<Description> all = [] {
    std::vector<Description> result;
    for (const std::string& name : described_devices()) {
      std::ifstream file(tandem::testing::source_path("cuda/devices/" + name + ".json"));
      std::string text{std::istreambuf_iterator<char>(file), {}};
      result.push_back({text, nlohmann::json::parse(text)});
    }
    return result;
  }();
  return all;
}

std::map<void*, size_t>& reservations() {
  static auto* const map = new std::map<void*, size_t>;
  return *map;
}

Driver make_driver() {
  Driver d = fake_driver();
  d.cudaGetDeviceCount = [](int* count) {
    *count = static_cast<int>(descriptions().size());
    return cudaSuccess;
  };
  d.cudaGetDeviceProperties = [](cudaDeviceProp* p, int device) {
    const nlohmann::json& values = descriptions().at(static_cast<size_t>(device)).values;
    *p = {};
    std::strncpy(p->name, values.at("name").get<std::string>().c_str(), sizeof(p->name) - 1);
    p->major = values.at("deviceVer").get<int>() / 100;
    p->minor = values.at("deviceVer").get<int>() / 10 % 10;
    p->multiProcessorCount = values.at("multiProcessorCount");
    p->maxThreadsPerMultiProcessor = values.at("maxThreadsPerSM");
    p->totalGlobalMem = values.at("totalGlobalMem");
    return cudaSuccess;
  };
  d.cudaMemGetInfo = [](size_t* free, size_t* total) {
    *free = *total = size_t{1} << 36;
    return cudaSuccess;
  };
  d.cudaMalloc = [](void** data, size_t bytes) {
    *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (*data == MAP_FAILED) return cudaErrorMemoryAllocation;
    reservations()[*data] = bytes;
    return cudaSuccess;
  };
  d.cudaFree = [](void* data) {
    const auto found = reservations().find(data);
    ::munmap(data, found->second);
    reservations().erase(found);
    return cudaSuccess;
  };
  return d;
}

// ---- cuDNN ----

/// What is known of cuDNN's descriptors, by their address.
struct Known {
  std::map<Handle, cudnnBackendDescriptorType_t> types;
  std::map<Handle, cudnnBackendHeurMode_t> modes;  ///< by heuristic, then by configuration
  std::map<Handle, Handle> config_of;              ///< by plan
  struct Graph {
    std::string tensors;
    bool has_16_bit_operands = false;
  };
  Graph graph;                       ///< of the tensors since the last graph
  std::map<Handle, Graph> graph_of;  ///< by graph, heuristic, configuration and plan
  std::vector<Handle> devices;       ///< the finalized descriptions
};
Known& known() {
  static auto* const k = new Known;
  return *k;
}

void check(const char* what, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof(reason));
  throw std::runtime_error(fmt::format("{}: {} {}", what, cudnnGetErrorString(status), reason));
}

/// A handle is the device's index plus 1.
cudnnHandle_t handle_for(int device) { return reinterpret_cast<cudnnHandle_t>(static_cast<uintptr_t>(device + 1)); }
int device_of(cudnnHandle_t handle) { return static_cast<int>(reinterpret_cast<uintptr_t>(handle)) - 1; }

Handle description_of(int device) {
  std::vector<Handle>& all = known().devices;
  while (all.size() < descriptions().size()) {
    const std::string& text = descriptions()[all.size()].text;
    Handle d = nullptr;
    check("create", cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d));
    check("describe a device", cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                                        static_cast<int64_t>(text.size()), text.data()));
    check("describe a device", cudnnBackendFinalize(d));
    all.push_back(d);
  }
  return all.at(static_cast<size_t>(device));
}

thread_local int planning_for = 0;  // the device of the last handle

const char* name_of(cudnnDataType_t t) {
  switch (t) {
    case CUDNN_DATA_HALF:
      return "f16";
    case CUDNN_DATA_BFLOAT16:
      return "bf16";
    case CUDNN_DATA_FLOAT:
      return "f32";
    case CUDNN_DATA_DOUBLE:
      return "f64";
    default:
      return "?";
  }
}

cudnnStatus_t set_attribute(Handle descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            int64_t count, const void* values) {
  Known& k = known();
  const auto as_device = [&](cudnnBackendAttributeName_t attribute, int device) {
    const Handle d = description_of(device);
    return cudnnBackendSetAttribute(descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &d);
  };
  const auto other = [&] { return *static_cast<const Handle*>(values); };
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
      planning_for = device_of(*static_cast<const cudnnHandle_t*>(values));
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE:
      return as_device(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device_of(*static_cast<const cudnnHandle_t*>(values)));
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      k.graph_of[descriptor] = k.graph_of[other()];
      if (const auto status = as_device(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, planning_for)) return status;
      break;
    case CUDNN_ATTR_ENGINEHEUR_MODE:
      k.modes[descriptor] = *static_cast<const cudnnBackendHeurMode_t*>(values);
      break;
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      k.config_of[descriptor] = other();
      k.graph_of[descriptor] = k.graph_of[other()];
      break;
    case CUDNN_ATTR_TENSOR_DATA_TYPE: {
      const auto t = *static_cast<const cudnnDataType_t*>(values);
      k.graph.tensors += std::string(k.graph.tensors.empty() ? "" : " ") + name_of(t);
      k.graph.has_16_bit_operands |= t == CUDNN_DATA_HALF || t == CUDNN_DATA_BFLOAT16;
      break;
    }
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
    case CUDNN_ATTR_TENSOR_STRIDES: {
      const auto* v = static_cast<const int64_t*>(values);
      k.graph.tensors += fmt::format("{}", std::vector<int64_t>(v, v + count));
      break;
    }
    default:
      break;
  }
  return cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

cudnnStatus_t finalize(Handle descriptor) {
  Known& k = known();
  if (k.types[descriptor] == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    k.graph_of[descriptor] = std::exchange(k.graph, {});
  }
  return cudnnBackendFinalize(descriptor);
}

cudnnStatus_t get_attribute(Handle descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            int64_t count, int64_t* found, void* values) {
  const cudnnStatus_t status = cudnnBackendGetAttribute(descriptor, name, type, count, found, values);
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && status == CUDNN_STATUS_SUCCESS && values) {
    for (int64_t i = 0; i < std::min(count, *found); ++i) {
      const Handle config = static_cast<Handle*>(values)[i];
      known().modes[config] = known().modes[descriptor];
      known().graph_of[config] = known().graph_of[descriptor];
    }
  }
  return status;
}

cudnnStatus_t execute(cudnnHandle_t, Handle plan, Handle) {
  Known& k = known();
  Execution e;
  e.tensors = k.graph_of[plan].tensors;
  e.has_16_bit_operands = k.graph_of[plan].has_16_bit_operands;
  const Handle config = k.config_of[plan];
  e.is_fallback = k.modes[config] == CUDNN_HEUR_MODE_FALLBACK;
  int64_t found = 0;
  check("workspace", cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                              &found, &e.workspace_bytes));
  Handle engine = nullptr;
  check("engine", cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
  check("engine", cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                           &found, &engine));
  check("number",
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &found, &e.engine));
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  check("notes", cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &found, notes.data()));
  notes.resize(static_cast<size_t>(found));
  e.has_tensor_cores = std::count(notes.begin(), notes.end(), CUDNN_NUMERICAL_NOTE_TENSOR_CORE) > 0;
  cudnnBackendDestroyDescriptor(engine);
  executions().push_back(e);
  return CUDNN_STATUS_SUCCESS;
}

DnnDriver make_dnn() {
  DnnDriver d = library_table<DnnDriver>();
  d.cudnnCreate = [](cudnnHandle_t* handle) {
    int device = 0;
    driver().cudaGetDevice(&device);
    *handle = handle_for(device);
    return CUDNN_STATUS_SUCCESS;
  };
  d.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; };
  d.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t type, Handle* descriptor) {
    const cudnnStatus_t status = cudnnBackendCreateDescriptor(type, descriptor);
    if (status == CUDNN_STATUS_SUCCESS) known().types[*descriptor] = type;
    return status;
  };
  d.cudnnBackendSetAttribute = set_attribute;
  d.cudnnBackendGetAttribute = get_attribute;
  d.cudnnBackendFinalize = finalize;
  d.cudnnBackendExecute = execute;
  return d;
}

}  // namespace

const std::vector<std::string>& described_devices() {
  static const std::vector<std::string> names{"h100", "t4", "a100", "b200", "rtx5090"};
  return names;
}

const Driver& described_driver() {
  static const Driver driver = make_driver();
  return driver;
}

const DnnDriver& planning_driver() {
  static const DnnDriver driver = make_dnn();
  return driver;
}

std::vector<Execution>& executions() {
  static std::vector<Execution> all;
  return all;
}

}  // namespace tandem::cuda::testing
