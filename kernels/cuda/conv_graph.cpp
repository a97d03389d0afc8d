#include "kernels/cuda/conv_graph.h"

#include <fmt/format.h>

#include "kernels/image_layout.h"

namespace tandem::cuda {
namespace {

cudnnDataType_t data_type(DType t) {
  switch (t) {
    case kHalf:
      return CUDNN_DATA_HALF;
    case kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    case kDouble:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

DType compute_type(const ConvKey& key) { return key.w == kDouble || key.x == kDouble ? kDouble : kFloat; }

Descriptor tensor(ConvTensor uid, DType dtype, IntArrayRef sizes, bool channels_last, int64_t alignment,
                  bool is_virtual = false) {
  const Dims strides = kernels::strides_in_layout(sizes, channels_last);
  const auto rank = static_cast<int64_t>(sizes.size());
  Descriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, data_type(dtype))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes.begin(), rank)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides.begin(), rank)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t{uid})
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
      .finalize();
  return t;
}

}  // namespace

Descriptor operation_graph(const ConvKey& key, cudnnHandle_t handle, std::vector<Descriptor>& parts) {
  const DType wide = compute_type(key);
  const auto keep = [&](Descriptor&& d) {
    parts.push_back(std::move(d));
    return parts.size() - 1;
  };
  const size_t rank = size_t{key.dims} + 2;
  const IntArrayRef x_sizes(key.x_sizes, rank), w_sizes(key.w_sizes, rank), y_sizes(key.y_sizes, rank);
  const size_t x = keep(tensor(kX, key.x, x_sizes, key.channels_last, key.align_x));
  const size_t w = keep(tensor(kW, key.w, w_sizes, key.channels_last, key.align_w));
  const size_t y = keep(tensor(kY, key.y, y_sizes, key.channels_last, key.align_y));
  // A tensor between two operations is virtual, but needs an alignment valid for its dtype.
  const size_t product = key.has_bias ? keep(tensor(kProduct, wide, y_sizes, key.channels_last, 16, true)) : y;

  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{key.dims})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, data_type(wide))
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, key.padding, key.dims)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, key.padding, key.dims)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, key.stride, key.dims)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, key.dilation, key.dims)
      .finalize();
  const size_t how = keep(std::move(convolution));

  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
  };
  static constexpr Names directions[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  const Names& names = directions[static_cast<int>(key.direction)];
  Descriptor operation(names.type);
  operation.set(names.convolution, parts[how])
      .set(names.x, parts[x])
      .set(names.w, parts[w])
      .set(names.y, parts[product]);
  if (wide == kDouble) {
    operation.set(names.alpha, 1.0).set(names.beta, 0.0);
  } else {
    operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
  }
  operation.finalize();
  std::vector<cudnnBackendDescriptor_t> operations{operation.raw()};
  keep(std::move(operation));

  if (key.has_bias) {
    Dims sizes(rank, 1);
    sizes[1] = key.y_sizes[1];
    const size_t bias = keep(tensor(kBias, key.bias, sizes, key.channels_last, key.align_bias));
    Descriptor addition(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    addition.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, data_type(wide))
        .finalize();
    const size_t add = keep(std::move(addition));
    Descriptor sum(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    sum.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts[add])
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[product])
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts[bias])
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts[y])
        .finalize();
    operations.push_back(sum.raw());
    keep(std::move(sum));
  }
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle)
      .set_list(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations.data(), static_cast<int64_t>(operations.size()))
      .finalize();
  return graph;
}

std::string to_string(const ConvKey& key) {
  constexpr const char* directions[] = {"convolution", "gradient of a convolution's input",
                                        "gradient of a convolution's weight"};
  const size_t rank = size_t{key.dims} + 2;
  const auto of_dims = [&](const int64_t(&values)[3]) { return to_string(IntArrayRef(values, key.dims)); };
  return fmt::format("{}, x {} {}, weight {} {}, y {} {}, {}stride {}, padding {}, dilation {}, {}, device {}",
                     directions[static_cast<int>(key.direction)], name(key.x),
                     to_string(IntArrayRef(key.x_sizes, rank)), name(key.w), to_string(IntArrayRef(key.w_sizes, rank)),
                     name(key.y), to_string(IntArrayRef(key.y_sizes, rank)), key.has_bias ? "bias, " : "",
                     of_dims(key.stride), of_dims(key.padding), of_dims(key.dilation),
                     key.channels_last ? "channels-last" : "row-major", key.device);
}

}  // namespace tandem::cuda
