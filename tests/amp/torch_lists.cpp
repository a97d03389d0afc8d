#include "amp/torch_lists.h"

#include <sstream>

namespace tandem::testing {
namespace {

using amp::Cast;

void add(TorchList& list, Cast cast, const char* names) {
  std::istringstream words(names);
  for (std::string name; words >> name;) list.emplace(name, cast);
}

TorchList cuda_list() {
  TorchList list;
  add(list, Cast::lower, R"(
    _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
    cudnn_convolution cudnn_convolution_transpose prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm
    baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell
    rnn_tanh_cell rnn_relu_cell _scaled_dot_product_flash_attention scaled_dot_product_attention _cudnn_rnn)");
  add(list, Cast::f32, R"(
    acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus layer_norm
    native_layer_norm rms_norm group_norm frobenius_norm nuclear_norm cosine_similarity poisson_nll_loss
    cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d _upsample_nearest_exact1d
    upsample_nearest2d _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d
    upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa)");
  add(list, Cast::f32_dtype, R"(
    prod softmax log_softmax cumprod cumsum linalg_vector_norm linalg_matrix_norm sum norm)");
  add(list, Cast::promote, R"(
    addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add)");
  add(list, Cast::banned, "binary_cross_entropy");
  return list;
}

TorchList cpu_list() {
  TorchList list;
  add(list, Cast::lower, R"(
    conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm _addmm_activation addbmm linear _convolution matmul conv_tbc
    mkldnn_rnn_layer conv_transpose1d conv_transpose2d conv_transpose3d prelu scaled_dot_product_attention
    _native_multi_head_attention)");
  add(list, Cast::f32, R"(
    avg_pool3d binary_cross_entropy grid_sampler polar prod quantile nanquantile stft cdist grid_sampler_2d
    _grid_sampler_2d_cpu_fallback grid_sampler_3d trace view_as_complex cholesky cholesky_inverse cholesky_solve inverse
    lu_solve orgqr ormqr pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d reflection_pad1d
    reflection_pad2d replication_pad1d replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss
    nll_loss2d hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss
    margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss
    binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2
    fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky
    linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv
    linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd triangular_solve
    fractional_max_pool2d fractional_max_pool3d adaptive_max_pool3d multilabel_margin_loss_forward linalg_qr
    linalg_cholesky_ex linalg_svd linalg_eig linalg_eigh linalg_lstsq linalg_inv_ex)");
  add(list, Cast::promote, "stack cat index_copy");
  return list;
}

amp::Cast listed(const TorchList& list, std::string_view op) {
  const auto found = list.find(op);
  return found == list.end() ? Cast::keep : found->second;
}

}  // namespace

const TorchList& torch_cuda_list() {
  static const TorchList list = cuda_list();
  return list;
}
const TorchList& torch_cpu_list() {
  static const TorchList list = cpu_list();
  return list;
}

const std::map<std::string_view, Composite>& composites() {
  static const std::map<std::string_view, Composite> all = {
      {"add_layer_norm", {Cast::f32_dtype, Cast::keep, "add, then layer_norm: only the norm's result is f32"}},
      {"chain_matmul", {Cast::lower, Cast::lower, "on the CPU by its products, mm"}},
      {"conv2d_relu", {Cast::lower, Cast::lower, "conv2d, then relu"}},
      {"cross_entropy",
       {Cast::f32_dtype, Cast::f32, "log_softmax and nll_loss; on the CPU registered as cross_entropy_loss"}},
      {"einsum", {Cast::lower, Cast::lower, "on the CPU by its products, bmm; there, sums of one operand keep f32"}},
      {"gaussian_nll_loss", {Cast::f32, Cast::keep, "log, and sums of f32 and the region's dtype"}},
      {"gru",
       {Cast::lower, Cast::keep, "registered as _cudnn_rnn; on the CPU, products are lowered and states are f32"}},
      {"gru_cell", {Cast::lower, Cast::keep, "on the CPU, products are lowered and states are f32"}},
      {"linalg_multi_dot", {Cast::lower, Cast::lower, "on the CPU by its products, mm"}},
      {"linear_relu", {Cast::lower, Cast::lower, "linear, then relu"}},
      {"lstm", {Cast::lower, Cast::lower, "products, registered as _cudnn_rnn and mkldnn_rnn_layer"}},
      {"lstm_cell", {Cast::lower, Cast::keep, "on the CPU, products are lowered and states are f32"}},
      {"rnn_relu", {Cast::lower, Cast::lower, "products, registered as _cudnn_rnn and mkldnn_rnn_layer"}},
      {"rnn_relu_cell", {Cast::lower, Cast::lower, "on the CPU by its products, linear"}},
      {"rnn_tanh", {Cast::lower, Cast::lower, "products, registered as _cudnn_rnn and mkldnn_rnn_layer"}},
      {"rnn_tanh_cell", {Cast::lower, Cast::lower, "on the CPU by its products, linear"}},
      {"square", {Cast::f32, Cast::keep, "pow(x, 2)"}},
      {"tensordot", {Cast::promote, Cast::lower, "on the CPU by its product, mm"}},
  };
  return all;
}

std::string_view reason_for_cpu_policy(std::string_view op) {
  if (op == "cat" || op == "stack" || op == "index_copy") return "operands of several dtypes would be an error";
  if (op == "ctc_loss") return "sums of log-probabilities over time lose their digits in 16 bits";
  if (op == "trace") return "a sum, like `sum`";
  return {};
}

amp::Cast torch_cuda_policy(std::string_view op) {
  const auto composite = composites().find(op);
  return composite != composites().end() ? composite->second.cuda : listed(torch_cuda_list(), op);
}
amp::Cast torch_cpu_policy(std::string_view op) {
  const auto composite = composites().find(op);
  return composite != composites().end() ? composite->second.cpu : listed(torch_cpu_list(), op);
}

}  // namespace tandem::testing
