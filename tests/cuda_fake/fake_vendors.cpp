#include "cuda_fake/fake_vendors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "cuda_fake/fake_driver.h"

namespace tandem::cuda::testing {
namespace {

template <class Handle>
void make_handle(Handle* handle) {
  static uintptr_t next = 0x2000;
  *handle = reinterpret_cast<Handle>(next += 16);
}

cudaStream_t dnn_stream = nullptr;  // the handle's current stream

cublasStatus_t blas(const char* name) {
  Calls::instance().add(name);
  return CUBLAS_STATUS_SUCCESS;
}
cudnnStatus_t dnn(const char* name) {
  Calls::instance().add(name);
  return CUDNN_STATUS_SUCCESS;
}

std::map<cublasLtMatmulDesc_t, uint32_t> epilogues;
std::map<cublasLtMatmulDesc_t, const void*> bias_pointers;

BlasDriver make_blas() {
  BlasDriver d;
  d.cublasLtCreate = [](cublasLtHandle_t* handle) {
    make_handle(handle);
    return blas("cublasLtCreate");
  };
  d.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* layout, cudaDataType, uint64_t, uint64_t, int64_t) {
    make_handle(layout);
    return blas("cublasLtMatrixLayoutCreate");
  };
  d.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t) { return blas("cublasLtMatrixLayoutDestroy"); };
  d.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
                                          size_t) { return blas("cublasLtMatrixLayoutSetAttribute"); };
  d.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* desc, cublasComputeType_t, cudaDataType_t) {
    make_handle(desc);
    return blas("cublasLtMatmulDescCreate");
  };
  d.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t) { return blas("cublasLtMatmulDescDestroy"); };
  d.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name,
                                        const void* value, size_t) {
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) std::memcpy(&epilogues[desc], value, sizeof(uint32_t));
    if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) std::memcpy(&bias_pointers[desc], value, sizeof(void*));
    return blas("cublasLtMatmulDescSetAttribute");
  };
  d.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* preference) {
    make_handle(preference);
    return blas("cublasLtMatmulPreferenceCreate");
  };
  d.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t) {
    return blas("cublasLtMatmulPreferenceDestroy");
  };
  d.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t name,
                                              const void* value, size_t) {
    if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
      std::memcpy(&vendors().reductions, value, sizeof(uint32_t));
    }
    return blas("cublasLtMatmulPreferenceSetAttribute");
  };
  d.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                        cublasLtMatmulPreference_t, int wanted,
                                        cublasLtMatmulHeuristicResult_t* results, int* count) {
    *count = std::min(wanted, static_cast<int>(vendors().algorithms.size()));
    for (int i = 0; i < *count; ++i) {
      results[i] = {};
      results[i].state = CUBLAS_STATUS_SUCCESS;
      results[i].workspaceSize = static_cast<size_t>(vendors().workspace_of(static_cast<size_t>(i)));
      results[i].algo.data[0] = static_cast<uint64_t>(i);
    }
    return blas("cublasLtMatmulAlgoGetHeuristic");
  };
  d.cublasLtMatmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void*,
                        cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void* beta, const void*,
                        cublasLtMatrixLayout_t, void* result, cublasLtMatrixLayout_t,
                        const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
    count_node(stream);
    Vendors& v = vendors();
    Vendors::Product product{algorithm->data[0], result, 0, 0, epilogues[desc], bias_pointers[desc]};
    std::memcpy(&product.alpha, alpha, sizeof(float));
    std::memcpy(&product.beta, beta, sizeof(float));
    v.products.push_back(product);
    const float time = v.algorithms.at(product.algorithm);
    if (time < 0) {
      blas("cublasLtMatmul");
      return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    pass_time(time + (product.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? 0 : v.epilogue_time));
    // All bits set is NaN in every floating dtype.
    if (std::isnan(product.alpha) && v.relu_keeps_nan) std::memset(result, 0xff, 128);
    return blas("cublasLtMatmul");
  };
  return d;
}

/// The attributes of the descriptors.
struct Descriptors {
  std::map<cudnnBackendDescriptor_t, cudnnBackendDescriptorType_t> types;
  std::map<cudnnBackendDescriptor_t, size_t> engine_of;               ///< by engine configuration and by plan
  Vendors::Convolution graph;                                         ///< of the tensors since the last graph
  std::map<cudnnBackendDescriptor_t, Vendors::Convolution> graph_of;  ///< by graph, then heuristic, then configuration
};
Descriptors& known() {
  static Descriptors descriptors;
  return descriptors;
}

cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, int64_t count, const void* values) {
  Descriptors& d = known();
  const auto other = [&] { return *static_cast<const cudnnBackendDescriptor_t*>(values); };
  switch (name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
      d.graph.dtypes.push_back(*static_cast<const cudnnDataType_t*>(values));
      break;
    case CUDNN_ATTR_TENSOR_DIMENSIONS: {
      const auto* sizes = static_cast<const int64_t*>(values);
      d.graph.sizes.emplace_back(sizes, sizes + count);
      break;
    }
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      d.graph_of[descriptor] = d.graph_of[other()];
      break;
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      d.engine_of[descriptor] = d.engine_of[other()];
      d.graph_of[descriptor] = d.graph_of[other()];
      break;
    default:
      break;
  }
  return dnn("cudnnBackendSetAttribute");
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  Descriptors& d = known();
  dnn("cudnnBackendFinalize");
  if (d.types[descriptor] != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) return CUDNN_STATUS_SUCCESS;
  const Vendors::Convolution graph = std::exchange(d.graph, {});
  d.graph_of[descriptor] = graph;
  const bool mixed =
      std::any_of(graph.dtypes.begin(), graph.dtypes.end(), [&](auto t) { return t != graph.dtypes[0]; });
  return mixed && !vendors().mixes_dtypes ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, int64_t count, int64_t* found, void* values) {
  Descriptors& d = known();
  *found = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      d.engine_of[*static_cast<const cudnnBackendDescriptor_t*>(values)] = d.engine_of[descriptor];
      break;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *found = vendors().tensor_core_engines.count(d.engine_of[descriptor]) ? 1 : 0;
      *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      break;
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      *found = static_cast<int64_t>(vendors().engines.size());
      for (int64_t i = 0; i < std::min(count, *found); ++i) {
        const cudnnBackendDescriptor_t config = static_cast<cudnnBackendDescriptor_t*>(values)[i];
        d.engine_of[config] = static_cast<size_t>(i);
        d.graph_of[config] = d.graph_of[descriptor];
      }
      break;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t*>(values) = vendors().workspace_of(d.engine_of[descriptor]);
      break;
    default:
      break;
  }
  return dnn("cudnnBackendGetAttribute");
}

DnnDriver make_dnn() {
  DnnDriver d;
  d.cudnnCreate = [](cudnnHandle_t* handle) {
    make_handle(handle);
    return dnn("cudnnCreate");
  };
  d.cudnnSetStream = [](cudnnHandle_t, cudaStream_t stream) {
    dnn_stream = stream;
    return dnn("cudnnSetStream");
  };
  d.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
    make_handle(descriptor);
    known().types[*descriptor] = type;
    return dnn("cudnnBackendCreateDescriptor");
  };
  d.cudnnBackendDestroyDescriptor = [](cudnnBackendDescriptor_t) { return dnn("cudnnBackendDestroyDescriptor"); };
  d.cudnnBackendFinalize = finalize;
  d.cudnnBackendSetAttribute = set_attribute;
  d.cudnnBackendGetAttribute = get_attribute;
  d.cudnnBackendExecute = [](cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
    count_node(dnn_stream);
    Vendors::Convolution convolution = known().graph_of[plan];
    convolution.engine = known().engine_of[plan];
    vendors().convolutions.push_back(convolution);
    const float time = vendors().engines.at(convolution.engine);
    dnn("cudnnBackendExecute");
    if (time < 0) return CUDNN_STATUS_EXECUTION_FAILED;
    pass_time(time);
    return CUDNN_STATUS_SUCCESS;
  };
  return d;
}

}  // namespace

Vendors& vendors() {
  static Vendors v;
  return v;
}

const BlasDriver& fake_blas_driver() {
  static const BlasDriver driver = make_blas();
  return driver;
}
const DnnDriver& fake_dnn_driver() {
  static const DnnDriver driver = make_dnn();
  return driver;
}

}  // namespace tandem::cuda::testing
