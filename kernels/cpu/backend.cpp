// The CPU backend: which function fills which slot.
#include "kernels/cpu/kernels.h"

namespace tandem::cpu {

const Backend& backend() {
  static constexpr Backend table = {
      .device = kCPU,
      .copy = copy,
      .copy_list = copy_list,
      .fill = fill,
      .arange = arange,
      .unary = unary,
      .binary = binary,
      .where = where,
      .reduce = reduce,
      .arg_reduce = arg_reduce,
      .var_mean = var_mean,
      .softmax = softmax,
      .softmax_backward = softmax_backward,
      .layer_norm = layer_norm,
      .layer_norm_backward = layer_norm_backward,
      .batch_norm_train = batch_norm_train,
      .batch_norm_inference = batch_norm_inference,
      .batch_norm_backward = batch_norm_backward,
      .gemm = gemm,
      .linear_backward_weight = linear_backward_weight,
      .conv2d = conv2d,
      .conv2d_backward_input = conv2d_backward_input,
      .conv2d_backward_weight = conv2d_backward_weight,
      .max_pool2d = max_pool2d,
      .max_pool2d_backward = max_pool2d_backward,
      .max_pool2d_gather = max_pool2d_gather,
      .avg_pool2d = avg_pool2d,
      .avg_pool2d_backward = avg_pool2d_backward,
      .adaptive_avg_pool2d = adaptive_avg_pool2d,
      .adaptive_avg_pool2d_backward = adaptive_avg_pool2d_backward,
      .gather = gather,
      .scatter_add = scatter_add,
      .index_select = index_select,
      .index_add = index_add,
      .uniform = uniform,
      .normal = normal,
      .random_int = random_int,
      .bernoulli = bernoulli,
      .dropout = dropout,
      .unscale = unscale,
      .check_finite = check_finite,
      .update_scale = update_scale,
      .invert_scale = invert_scale,
      .sgd = sgd,
      .adam = adam,
  };
  return table;
}

}  // namespace tandem::cpu
