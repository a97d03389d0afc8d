// A program for libtorch that uses what tandem leaves out. compile_errors.py compares the errors with the comments.
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  explicit NetImpl(int64_t n) : fc(register_module("fc", torch::nn::Linear(n, n))) {}
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

void modules(torch::Tensor x) {
  Net net(3);
  torch::nn::Sequential layers(net);                       // error: `Tensor forward(const Tensor&)`
  net->save("net.pt");                                     // error: use tandem::save(module, path)
  net->load("net.pt");                                     // error: use tandem::load(module, path)
  torch::jit::script::Module script;                       // error: load its weights with tandem::load(module, path)
  script = torch::jit::load("net.pt");                     // error: load its weights with tandem::load(module, path)
  torch::data::datasets::ChunkDataset<int, int> chunks();  // error: derive from data::datasets::StatefulDataset
}

void tensors(torch::Tensor x) {
  x.to(torch::kMPS);                                 // error: tandem's devices are kCPU and kCUDA
  x.to(torch::kComplexFloat);                        // error: keep the real and the imaginary part in two tensors
  torch::complex(x, x);                              // error: keep the real and the imaginary part in two tensors
  x.to_sparse();                                     // error: use index_add, scatter_add or gather on dense ones
  torch::sparse_coo_tensor(x, x, {3, 3});            // error: use index_add, scatter_add or gather on dense ones
  torch::quantize_per_tensor(x, 0.1, 0, x.dtype());  // error: use f16 or bf16 (amp::AutocastGuard)
  torch::fft::fft(x);                                // error: use FFTW or cuFFT
  torch::linalg_svd(x);                              // error: use LAPACK, Eigen or cuSOLVER
  x.inverse();                                       // error: use LAPACK, Eigen or cuSOLVER
}

TORCH_LIBRARY(ops, m) {}  // error: make the op an amp::CustomFunction or amp::CustomOp
