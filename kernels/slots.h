#pragma once
// The names of the slots of struct Backend, from which each backend declares its kernels and fills its table.
#include "tandem/backend.h"

namespace tandem::kernels {

// clang-format off
#define TANDEM_SLOTS(X)                                                                                                 \
  X(copy) X(copy_list) X(fill) X(arange) X(unary) X(binary) X(where)                                                    \
  X(reduce) X(arg_reduce) X(var_mean)                                                                                   \
  X(softmax) X(softmax_backward) X(cross_entropy) X(cross_entropy_backward) X(layer_norm) X(layer_norm_backward)        \
  X(batch_norm_train) X(batch_norm_inference) X(batch_norm_backward)                                                    \
  X(gemm) X(linear_backward_weight) X(conv2d) X(conv2d_backward_input) X(conv2d_backward_weight)                        \
  X(max_pool2d) X(max_pool2d_backward) X(max_pool2d_gather) X(avg_pool2d) X(avg_pool2d_backward)                        \
  X(adaptive_avg_pool2d) X(adaptive_avg_pool2d_backward)                                                                \
  X(gather) X(scatter_add) X(index_select) X(index_add)                                                                 \
  X(uniform) X(normal) X(random_int) X(bernoulli) X(dropout)                                                            \
  X(unscale) X(check_finite) X(update_scale) X(invert_scale) X(sgd) X(adam)
// clang-format on

template <class Slot>
struct SlotSignature;
template <class Signature>
struct SlotSignature<Kernel<Signature>> {
  using type = Signature;
};

#define TANDEM_COUNT(NAME) +1
static_assert(sizeof(Backend) == sizeof(void*) * (1 TANDEM_SLOTS(TANDEM_COUNT)), "a slot of Backend is not listed");
#undef TANDEM_COUNT

}  // namespace tandem::kernels

/// Declares the function of a slot: `void copy(const Tensor& dst, const Tensor& src);`
#define TANDEM_DECLARE_SLOT(NAME) ::tandem::kernels::SlotSignature<decltype(::tandem::Backend::NAME)>::type NAME;
/// Stores the function in `table`.
#define TANDEM_FILL_SLOT(NAME) table.NAME = NAME;
