// What programs write beside layers and losses: undefined tensors, names of dtypes, states of recurrent networks,
// Sequential with two inputs, regions of autocast by hand. Includes headers whose contents torch/torch.h has.
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Reduction.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/irange.h>
#include <torch/csrc/api/include/torch/torch.h>
#include <torch/nn/modules/rnn.h>
#include <torch/script.h>

#include "tests/libtorch/programs/program.h"

namespace {

namespace nn = torch::nn;

/// Prints the value of an expression, or that it throws.
#define SHOW(...)                      \
  do {                                 \
    std::cout << #__VA_ARGS__ << ": "; \
    try {                              \
      std::cout << (__VA_ARGS__);      \
    } catch (const std::exception&) {  \
      std::cout << "throws";           \
    }                                  \
    std::cout << "\n";                 \
  } while (0)

void undefined_tensors() {
  const torch::Tensor u, a = torch::ones({2});
  SHOW(u.defined());
  SHOW(u.numel());
  SHOW(u.dim());
  SHOW(u.ndimension());
  SHOW(u.sizes());
  SHOW(u.size(0));
  SHOW(u.size(-1));
  SHOW(u.size(1));
  SHOW(u.strides());
  SHOW(u.storage_offset());
  SHOW(u.element_size());
  SHOW(u.nbytes());
  SHOW(u.dtype());
  SHOW(u.scalar_type() == at::ScalarType::Undefined);
  SHOW(u.device());
  SHOW(u.options().requires_grad());
  SHOW(u.is_cpu());
  SHOW(u.is_cuda());
  SHOW(u.is_floating_point());
  SHOW(u.is_contiguous());
  SHOW(u.is_contiguous(at::MemoryFormat::ChannelsLast));
  SHOW(u.is_non_overlapping_and_dense());
  SHOW(u.requires_grad());
  SHOW(u.set_requires_grad(false).defined());
  SHOW(u.requires_grad_().defined());
  SHOW(u.contiguous().defined());
  SHOW(u._version());
  SHOW(u.is_same(a));
  SHOW(u.item());
  SHOW(u.data_ptr());
  SHOW(u.grad());
  SHOW(u.is_leaf());
  SHOW(u.clone());
  SHOW(u + a);
  SHOW(a + u);
  SHOW(u.view({1}));
  SHOW(at::cat({a, u}));
  SHOW(at::concat({a, u}));
  SHOW(at::stack({a, u}));
  SHOW(u);
}

void names() {
  for (const torch::ScalarType t : {torch::kByte, torch::kChar, torch::kShort, torch::kInt, torch::kLong, torch::kHalf,
                                    torch::kFloat, torch::kDouble, torch::kBool, torch::kBFloat16}) {
    std::cout << torch::toString(t) << ": " << torch::zeros({1}, t).dtype() << "\n";
  }
  SHOW(at::ScalarType::Float == at::kFloat32);
  SHOW(at::ScalarType::Half == at::kFloat16);
  SHOW(-at::Scalar(2));
  SHOW(-at::Scalar(2.5));
  SHOW(-at::Scalar(true));
  SHOW(at::_cast_Float(at::ones({1}, at::kLong)).dtype());
  SHOW(at::mse_loss(at::ones({2}), at::zeros({2}), at::Reduction::Sum));
}

/// Truncated backpropagation through time: the state is cut off in place.
void recurrent_states() {
  for (const int64_t layers : {1, 2}) {
    nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(layers));
    nn::GRU gru(nn::GRUOptions(3, 4).num_layers(layers));
    nn::RNN rnn(nn::RNNOptions(3, 4).num_layers(layers));
    program::set_weights(*lstm, 1);
    program::set_weights(*gru, 2);
    program::set_weights(*rnn, 3);
    std::tuple<torch::Tensor, torch::Tensor> state{torch::zeros({layers, 2, 4}), torch::zeros({layers, 2, 4})};
    torch::Tensor h = torch::zeros({layers, 2, 4}), s = h.clone();
    for (const auto step : c10::irange(3)) {
      const torch::Tensor x = program::numbers({5, 2, 3}, 10 + static_cast<uint64_t>(step));
      auto [y, next] = lstm->forward(x, state);
      auto [z, next_h] = gru->forward(x, h);
      auto [w, next_s] = rnn->forward(x, s);
      (y.pow(2).sum() + z.pow(2).sum() + w.pow(2).sum()).backward();
      state = next;
      std::get<0>(state).detach_();
      std::get<1>(state).detach_();
      h = next_h.detach_();
      s = next_s.detach_();
      y.detach_();
      z.detach_();
      w.detach_();
    }
    for (const auto& p : lstm->parameters()) program::report("lstm", p.grad().abs().sum());
    for (const auto& p : gru->parameters()) program::report("gru", p.grad().abs().sum());
    for (const auto& p : rnn->parameters()) program::report("rnn", p.grad().abs().sum());
  }
}

struct SumImpl : nn::Module {
  torch::Tensor forward(const torch::Tensor& a, const torch::Tensor& b) { return a + b; }
};
TORCH_MODULE(Sum);

void sequential() {
  nn::Sequential net(Sum(), nn::Linear(3, 2), nn::ReLU());
  program::set_weights(*net, 4);
  const torch::Tensor x = program::numbers({4, 3}, 5);
  program::report("two inputs", net->forward(x, x * 2).sum());
  program::report("pointer", net->ptr<nn::LinearImpl>(1)->weight.sum());
  program::report("reference", net->at<nn::LinearImpl>(1).weight.sum());
  net->ptr(0)->eval();
}

/// A region of autocast, as programs for libtorch build it.
class Region {
 public:
  explicit Region(bool enabled) : outer_(at::autocast::is_autocast_enabled(at::kCPU)) {
    at::autocast::set_autocast_enabled(at::kCPU, enabled);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Region() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, outer_);
  }

 private:
  bool outer_;
};

void autocast() {
  nn::Linear fc(3, 2);
  program::set_weights(*fc, 6);
  const torch::Tensor x = program::numbers({4, 3}, 7);
  {
    const Region on(true);
    SHOW(fc(x).dtype());
    {
      const Region off(false);
      SHOW(fc(x).dtype());
    }
    const torch::Tensor loss = fc(x).to(torch::kFloat).sum();
    loss.backward();
    program::report("loss", loss);
  }
  SHOW(fc(x).dtype());
  SHOW(fc->weight.grad().dtype());
  at::autocast::set_autocast_cache_enabled(false);
  SHOW(at::autocast::is_autocast_cache_enabled());
  at::autocast::set_autocast_cache_enabled(true);
}

}  // namespace

int main() {
  std::cout << std::boolalpha;
  at::init_num_threads();
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setFloat32MatmulPrecision("highest");
  static_assert(TORCH_VERSION_MAJOR >= 2);
  undefined_tensors();
  names();
  recurrent_states();
  sequential();
  autocast();
  int64_t sum = 0;
  at::parallel_for(0, 100, 200, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  std::cout << "sum " << sum << "\n";
}
