// operation_graph: cuDNN itself accepts the graphs of all directions, dtypes and alignments. cuDNN can check them
// without a GPU, except for the handle, which the table of calls here omits.
#include "kernels/cuda/conv_graph.h"

#include <gtest/gtest.h>

namespace tandem::testing {
namespace {

using cuda::ConvDirection;

cudnnStatus_t set_all_but_handle(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return CUDNN_STATUS_SUCCESS;
  return cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

TEST(ConvGraph, IsAcceptedByTheLibrary) {
  cuda::DnnDriver table = cuda::dnn_driver();
  table.cudnnBackendSetAttribute = set_all_but_handle;
  const cuda::DnnDriverGuard guard(table);
  for (ConvDirection direction :
       {ConvDirection::forward, ConvDirection::backward_input, ConvDirection::backward_weight}) {
    for (DType dtype : {kHalf, kBFloat16, kFloat, kDouble}) {
      for (bool channels_last : {false, true}) {
        for (bool has_bias : {false, true}) {
          if (has_bias && direction != ConvDirection::forward) continue;
          for (int variant : {0, 1, 2, 3}) {
            const size_t alignment = variant & 1 ? element_size(dtype) : size_t{16};
            const bool volume = variant & 2;
            cuda::ConvKey key{.x_sizes = {2, 6, 9, 11, 7}, .w_sizes = {4, 3, 3, 2, 1}, .y_sizes = {2, 4, 5, 5, 4}};
            key.dims = volume ? 3 : 2;
            for (int d = 0; d < key.dims; ++d) {
              key.padding[d] = d == 0 ? 1 : 0;
              key.stride[d] = 2;
              key.dilation[d] = 1;
            }
            key.direction = direction;
            key.x = key.w = key.y = key.bias = dtype;
            key.has_bias = has_bias;
            key.channels_last = channels_last;
            key.align_x = key.align_w = key.align_y = key.align_bias = static_cast<uint16_t>(alignment);
            std::vector<cuda::Descriptor> parts;
            try {
              cuda::operation_graph(key, nullptr, parts);
            } catch (const cuda::DnnRefusal& refusal) {
              char reason[512] = "";
              cudnnGetLastErrorString(reason, sizeof(reason));
              ADD_FAILURE() << to_string(key) << " aligned to " << alignment << ": " << refusal.call << ": "
                            << cudnnGetErrorString(refusal.status) << " " << reason;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem::testing
