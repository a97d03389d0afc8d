#pragma once
// Names of libtorch that tandem leaves out. A program that uses one does not compile, and the error says what to use
// instead. docs/libtorch_names.md lists all names that are left out.
#include "tandem/base/dtype.h"
#include "tandem/base/macros.h"
#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem {

/// The type of the names that are left out.
struct LeftOut {
  template <class... Args>
  LeftOut(Args&&...) {}
};

#define TANDEM_NO_SCRIPT \
  "tandem does not run TorchScript: define the module in C++ and load its weights with tandem::load(module, path)"
namespace jit {
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut load(Args&&...);
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut compile(Args&&...);
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut freeze(Args&&...);
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut optimize_for_inference(Args&&...);
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut setGraphExecutorOptimize(Args&&...);
using Module TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT) = LeftOut;
using CompilationUnit TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT) = LeftOut;
namespace script {
template <class... Args>
TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT)
LeftOut load(Args&&...);
using Module TANDEM_UNAVAILABLE(TANDEM_NO_SCRIPT) = LeftOut;
}  // namespace script
}  // namespace jit
#undef TANDEM_NO_SCRIPT

namespace data::datasets {
#define TANDEM_NO_CHUNKS \
  "derive from data::datasets::StatefulDataset, whose get_batch() reads the next chunk (docs/data_loading.md)"
template <class...>
using ChunkDataReader TANDEM_UNAVAILABLE(TANDEM_NO_CHUNKS) = LeftOut;
template <class...>
using ChunkDataset TANDEM_UNAVAILABLE(TANDEM_NO_CHUNKS) = LeftOut;
#undef TANDEM_NO_CHUNKS
}  // namespace data::datasets

#define TANDEM_NO_FFT "tandem has no Fourier transforms: use FFTW or cuFFT on data_ptr<float>()"
namespace fft {
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut fft(const Tensor& x, ...);
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut ifft(const Tensor& x, ...);
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut rfft(const Tensor& x, ...);
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut irfft(const Tensor& x, ...);
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut fft2(const Tensor& x, ...);
TANDEM_UNAVAILABLE(TANDEM_NO_FFT) LeftOut fftn(const Tensor& x, ...);
}  // namespace fft
#undef TANDEM_NO_FFT

#define TANDEM_NO_DECOMPOSITION \
  "tandem has no matrix decompositions: use LAPACK, Eigen or cuSOLVER on data_ptr<float>()"
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut det(const Tensor& x);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut inverse(const Tensor& x);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut svd(const Tensor& x, bool some = true, bool uv = true);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_cholesky(const Tensor& x, bool upper = false);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_eig(const Tensor& x);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_eigh(const Tensor& x, const char* half = "L");
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_inv(const Tensor& x);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_qr(const Tensor& x, const char* mode = "reduced");
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_solve(const Tensor& a, const Tensor& b);
TANDEM_UNAVAILABLE(TANDEM_NO_DECOMPOSITION) LeftOut linalg_svd(const Tensor& x, bool full_matrices = true);
#undef TANDEM_NO_DECOMPOSITION

#define TANDEM_NO_SPARSE "tandem has no sparse tensors: use index_add, scatter_add or gather on dense ones"
TANDEM_UNAVAILABLE(TANDEM_NO_SPARSE)
LeftOut sparse_coo_tensor(const Tensor& indices, const Tensor& values, IntArrayRef sizes = {});
TANDEM_UNAVAILABLE(TANDEM_NO_SPARSE) inline constexpr Layout kSparse = kStrided;
#undef TANDEM_NO_SPARSE

#define TANDEM_NO_COMPLEX "tandem has no complex tensors: keep the real and the imaginary part in two tensors"
TANDEM_UNAVAILABLE(TANDEM_NO_COMPLEX) LeftOut complex(const Tensor& real, const Tensor& imag);
TANDEM_UNAVAILABLE(TANDEM_NO_COMPLEX) inline constexpr DType kComplexFloat = kFloat;
TANDEM_UNAVAILABLE(TANDEM_NO_COMPLEX) inline constexpr DType kComplexDouble = kDouble;
#undef TANDEM_NO_COMPLEX

#define TANDEM_NO_QUANTISATION "tandem has no quantised tensors: use f16 or bf16 (amp::AutocastGuard)"
TANDEM_UNAVAILABLE(TANDEM_NO_QUANTISATION)
LeftOut quantize_per_tensor(const Tensor& x, double scale, int64_t zero_point, DType dtype);
TANDEM_UNAVAILABLE(TANDEM_NO_QUANTISATION) inline constexpr DType kQInt8 = kChar;
TANDEM_UNAVAILABLE(TANDEM_NO_QUANTISATION) inline constexpr DType kQUInt8 = kByte;
#undef TANDEM_NO_QUANTISATION

#define TANDEM_NO_DEVICE "tandem's devices are kCPU and kCUDA"
TANDEM_UNAVAILABLE(TANDEM_NO_DEVICE) inline constexpr DeviceType kMPS = kCPU;
TANDEM_UNAVAILABLE(TANDEM_NO_DEVICE) inline constexpr DeviceType kXLA = kCPU;
TANDEM_UNAVAILABLE(TANDEM_NO_DEVICE) inline constexpr DeviceType kXPU = kCPU;
TANDEM_UNAVAILABLE(TANDEM_NO_DEVICE) inline constexpr DeviceType kHIP = kCPU;
#undef TANDEM_NO_DEVICE

}  // namespace tandem
#pragma GCC visibility pop
