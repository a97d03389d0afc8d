// The table of ops against PyTorch's autocast lists in its ATen registrations (aten/src/ATen/autocast_mode.h and
// autocast_mode.cpp), without overloads.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "tandem/amp/policy.h"

namespace tandem::testing {
namespace {

using amp::Cast;
using List = std::map<std::string, Cast, std::less<>>;

void add(List& list, Cast cast, const char* names) {
  std::istringstream words(names);
  for (std::string name; words >> name;) list.emplace(name, cast);
}

const List torch_cuda = [] {
  List list;
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
}();

const List torch_cpu = [] {
  List list;
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
}();

/// Ops that are composites in PyTorch, so that their policy follows from their parts; and ops that only tandem has.
struct Composite {
  Cast cuda, cpu;
  const char* reason;
};
const std::map<std::string_view, Composite> composites = {
    {"conv2d_relu", {Cast::lower, Cast::lower, "conv2d, then relu"}},
    {"cross_entropy",
     {Cast::f32_dtype, Cast::f32, "log_softmax and nll_loss; on the CPU registered as cross_entropy_loss"}},
    {"gaussian_nll_loss", {Cast::f32, Cast::keep, "log, and sums of f32 and the region's dtype"}},
    {"linear_relu", {Cast::lower, Cast::lower, "linear, then relu"}},
    {"square", {Cast::f32, Cast::keep, "pow(x, 2)"}},
};
/// Rows that PyTorch has only on the CPU and tandem has on every device, because their reason is numeric.
bool is_numeric_cpu_row(std::string_view op) {
  return op == "cat" || op == "stack" || op == "index_copy" || op == "ctc_loss" || op == "trace";
}

Cast listed(const List& list, std::string_view op) {
  const auto found = list.find(op);
  return found == list.end() ? Cast::keep : found->second;
}

TEST(TorchLists, RowsMatchPyTorchsCudaPolicy) {
  for (const amp::PolicyRow& row : amp::policy_table) {
    const auto composite = composites.find(row.op);
    const Cast expected = composite != composites.end() ? composite->second.cuda
                          : is_numeric_cpu_row(row.op)  ? listed(torch_cpu, row.op)
                                                        : listed(torch_cuda, row.op);
    EXPECT_EQ(static_cast<int>(row.cast), static_cast<int>(expected)) << row.op;
  }
}

TEST(TorchLists, RowsMatchPyTorchsCpuPolicy) {
  for (const amp::PolicyRow& row : amp::policy_table) {
    const auto composite = composites.find(row.op);
    const Cast expected = composite != composites.end() ? composite->second.cpu : listed(torch_cpu, row.op);
    EXPECT_EQ(static_cast<int>(row.torch_cpu), static_cast<int>(expected)) << row.op;
  }
}

TEST(TorchLists, CompositesAreNotListedByPyTorch) {
  for (const auto& [op, composite] : composites) {
    EXPECT_GE(amp::policy_row(op), 0) << op;
    EXPECT_FALSE(torch_cuda.contains(op)) << op << ": " << composite.reason;
  }
}

}  // namespace
}  // namespace tandem::testing
