#pragma once
// The kernels of the CPU backend, one function per slot of struct Backend (include/tandem/backend.h says what each
// does).
#include "tandem/backend.h"

namespace tandem::cpu {

void copy(const Tensor& dst, const Tensor& src);
void copy_list(const std::vector<Tensor>& dst, const std::vector<Tensor>& src);
void fill(const Tensor& y, Scalar value);
void arange(const Tensor& y, Scalar start, Scalar step);
void unary(const Tensor& y, Unary op, const Tensor& x, double a, double b);
void binary(const Tensor& y, Binary op, const Tensor& a, const Tensor& b, double alpha);
void where(const Tensor& y, const Tensor& condition, const Tensor& a, const Tensor& b);
void reduce(const Tensor& y, Reduction op, const Tensor& x);
void arg_reduce(const Tensor& values, const Tensor& indices, bool largest, const Tensor& x, int64_t dim);
void var_mean(const Tensor& var, const Tensor& mean, const Tensor& x, double correction);
void softmax(const Tensor& y, const Tensor& x, int64_t dim, bool log);
void softmax_backward(const Tensor& gx, const Tensor& gy, const Tensor& y, int64_t dim, bool log);
void layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, double eps);
void layer_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight);
void batch_norm_train(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& running_mean,
                      const Tensor& running_var, const Tensor& x, const Tensor& weight, const Tensor& bias,
                      double momentum, double eps);
void batch_norm_inference(const Tensor& y, const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight,
                          const Tensor& bias, double eps);
void batch_norm_backward(const Tensor& gx, const Tensor& gweight, const Tensor& gbias, const Tensor& gy,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, bool train);
void gemm(const GemmCall& call);
void linear_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x);
void conv2d(const Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& p,
            Activation activation);
void conv2d_backward_input(const Tensor& gx, const Tensor& gy, const Tensor& weight, const Conv2dParams& p);
void conv2d_backward_weight(const Tensor& gweight, const Tensor& gbias, const Tensor& gy, const Tensor& x,
                            const Conv2dParams& p);
void max_pool2d(const Tensor& y, const Tensor& indices, const Tensor& x, const Pool2dParams& p);
void max_pool2d_backward(const Tensor& gx, const Tensor& gy, const Tensor& indices, const Pool2dParams& p);
void max_pool2d_gather(const Tensor& y, const Tensor& x, const Tensor& indices, const Pool2dParams& p);
void avg_pool2d(const Tensor& y, const Tensor& x, const Pool2dParams& p);
void avg_pool2d_backward(const Tensor& gx, const Tensor& gy, const Pool2dParams& p);
void adaptive_avg_pool2d(const Tensor& y, const Tensor& x);
void adaptive_avg_pool2d_backward(const Tensor& gx, const Tensor& gy);
void gather(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index);
void scatter_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src);
void index_select(const Tensor& y, const Tensor& x, int64_t dim, const Tensor& index);
void index_add(const Tensor& y, int64_t dim, const Tensor& index, const Tensor& src);
void uniform(const Tensor& y, double from, double to, PhiloxState state);
void normal(const Tensor& y, double mean, double std, PhiloxState state);
void random_int(const Tensor& y, int64_t low, int64_t high, PhiloxState state);
void bernoulli(const Tensor& y, double p, PhiloxState state);
void dropout(const Tensor& y, const Tensor& mask, const Tensor& x, double p, PhiloxState state);
void unscale(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf);
void check_finite(const std::vector<Tensor>& grads, const Tensor& inverse_scale, const Tensor& found_inf);
void update_scale(const ScaleUpdateCall& call);
void invert_scale(const Tensor& inverse, const Tensor& scale);
void sgd(const SgdCall& call);
void adam(const AdamCall& call);

}  // namespace tandem::cpu
