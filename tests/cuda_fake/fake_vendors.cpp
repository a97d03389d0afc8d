#include "cuda_fake/fake_vendors.h"

#include "cuda_fake/fake_driver.h"

namespace tandem::cuda::testing {
namespace {

template <class Handle>
void make_handle(Handle* handle) {
  static uintptr_t next = 0x2000;
  *handle = reinterpret_cast<Handle>(next += 16);
}

cudaStream_t dnn_stream = nullptr;  // that the handle was given last

cublasStatus_t blas(const char* name) {
  Calls::instance().add(name);
  return CUBLAS_STATUS_SUCCESS;
}
cudnnStatus_t dnn(const char* name) {
  Calls::instance().add(name);
  return CUDNN_STATUS_SUCCESS;
}

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
  d.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*, size_t) {
    return blas("cublasLtMatmulDescSetAttribute");
  };
  d.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* preference) {
    make_handle(preference);
    return blas("cublasLtMatmulPreferenceCreate");
  };
  d.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t) {
    return blas("cublasLtMatmulPreferenceDestroy");
  };
  d.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                              const void*,
                                              size_t) { return blas("cublasLtMatmulPreferenceSetAttribute"); };
  d.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                        cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* results,
                                        int* count) {
    results[0] = {};
    results[0].state = CUBLAS_STATUS_SUCCESS;
    results[0].workspaceSize = 1 << 20;
    *count = 1;
    return blas("cublasLtMatmulAlgoGetHeuristic");
  };
  d.cublasLtMatmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                        const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t, void*,
                        cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
    count_node(stream);
    return blas("cublasLtMatmul");
  };
  return d;
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
  d.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t* descriptor) {
    make_handle(descriptor);
    return dnn("cudnnBackendCreateDescriptor");
  };
  d.cudnnBackendDestroyDescriptor = [](cudnnBackendDescriptor_t) { return dnn("cudnnBackendDestroyDescriptor"); };
  d.cudnnBackendFinalize = [](cudnnBackendDescriptor_t) { return dnn("cudnnBackendFinalize"); };
  d.cudnnBackendSetAttribute = [](cudnnBackendDescriptor_t, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
                                  int64_t, const void*) { return dnn("cudnnBackendSetAttribute"); };
  d.cudnnBackendGetAttribute = [](cudnnBackendDescriptor_t, cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t, int64_t, int64_t* found, void* values) {
    // One engine, without remarks, that wants 1 MiB.
    *found = name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE ? 0 : 1;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) *static_cast<int64_t*>(values) = 1 << 20;
    return dnn("cudnnBackendGetAttribute");
  };
  d.cudnnBackendExecute = [](cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
    count_node(dnn_stream);
    return dnn("cudnnBackendExecute");
  };
  return d;
}

}  // namespace

const BlasDriver& fake_blas_driver() {
  static const BlasDriver driver = make_blas();
  return driver;
}
const DnnDriver& fake_dnn_driver() {
  static const DnnDriver driver = make_dnn();
  return driver;
}

}  // namespace tandem::cuda::testing
