// What programs write beside layers and losses: undefined tensors, names of types, states of recurrent networks,
// Sequential with two inputs, functions in place, parameters of functions that few use, regions of autocast by hand.
// Includes headers whose contents torch/torch.h has.
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
  SHOW(at::ScalarType::Float == torch::kFloat32);
  SHOW(at::ScalarType::Half == torch::kFloat16);
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

void types() {
  torch::Tensor x = torch::arange(6).view({2, 3}).to(torch::kFloat), y = x;
  SHOW(x.type());
  SHOW(x.toString());
  SHOW(torch::Tensor().toString());
  SHOW(x.type() == torch::ones({1}).type());
  SHOW(torch::ones({1}, x.to(torch::kDouble).type()).dtype());
  SHOW(x.layout());
  SHOW(x.use_count());
  y.reset();
  SHOW(x.use_count());
  print(x);
  torch::print(x[0], 40);
  const caffe2::TypeMeta meta = x.dtype();
  SHOW(meta.name());
  SHOW(meta.itemsize());
  SHOW(meta == caffe2::TypeMeta::Make<float>());
  SHOW(torch::typeMetaToScalarType(meta) == torch::kFloat);
  SHOW(c10::CppTypeToScalarType<int64_t>::value == torch::kLong);
  SHOW(torch::Device("cuda:1").has_index());
  std::unordered_map<torch::Device, int> counts;
  counts[torch::kCPU] += 2;
  SHOW(counts[torch::Device("cpu")]);
  SHOW(at::Scalar(3).equal(3.0));
  SHOW(at::Scalar(3).toChar() + at::Scalar(2.5).toShort());
  SHOW(x.options().dtype<double>().dtype_opt().has_value());
  SHOW(at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST);
  SHOW(at::make_generator<at::CPUGeneratorImpl>(7).current_seed());
  SHOW((x.packed_accessor32<float, 2, torch::DefaultPtrTraits>()[1][2]));
  SHOW((x.packed_accessor64<float, 2>()[1][0]));
  SHOW(std::get<1>(c10::IValue(std::make_tuple(0.5, 2.0)).to<std::tuple<double, double>>()));
  SHOW(c10::IValue(std::optional<int64_t>()).toOptional<int64_t>().has_value());
  const at::Reduction::Reduction sum = at::Reduction::Sum;
  SHOW(at::mse_loss(x, x * 2, sum));
  const int64_t number = at::Reduction::Mean;
  TORCH_CHECK(number == 1 && at::Reduction::END == 3);
  TORCH_CHECK(c10::Join(",", std::vector<std::string>{"", "b"}) == ",b");
  TORCH_CHECK(!at::Scalar(true).equal(1) && at::Scalar(true).equal(true));
  TORCH_CHECK(c10::IValue(3).to<c10::IValue>().toInt() == 3);
  TORCH_CHECK(torch::ones({2}, meta).to(meta).dtype() == torch::kFloat && x.options().dtype(meta).has_dtype());
  const std::vector<int64_t> sizes = {2, 3};
  TORCH_CHECK(c10::multiply_integers(sizes.begin(), sizes.end()) == c10::multiply_integers(sizes));
  const int64_t five = 5;
  const int64_t two_by_three[] = {2, 3};
  const std::array<int64_t, 2> fixed = {2, 3};
  TORCH_CHECK(c10::makeArrayRef(five).size() == 1 && c10::makeArrayRef(sizes) == c10::makeArrayRef(two_by_three));
  TORCH_CHECK(c10::makeArrayRef(fixed) == at::IntArrayRef(two_by_three) && x.reshape(two_by_three).dim() == 2);
}

/// What tensors have for dtypes and layouts that these do not have.
void real_numbers() {
  const torch::Tensor x = torch::tensor({{1., -2., 0.}, {3., 4., -5.}});
  SHOW(x.is_complex() || x.is_conj() || x.is_sparse() || x.is_quantized());
  SHOW(x.conj().is_same(x));
  SHOW(torch::real(x).is_same(x));
  SHOW(x.adjoint().sizes());
  SHOW(x.mH().sizes());
  SHOW(torch::sgn(x));
}

void in_place_functions() {
  torch::Tensor x = torch::tensor({0.5, std::nan(""), 2., -3., HUGE_VAL});
  SHOW(torch::nan_to_num_(x, 0, 9));
  SHOW(torch::clip_(x, -2, 8));
  SHOW(torch::clamp_max_(x, 4));
  SHOW(torch::clamp_min_(x, torch::full({5}, 0.25)));
  SHOW(torch::xlogy_(x, 2));
  SHOW(torch::dropout_(x, 0.5, false));
  SHOW(torch::dropout_(x, 1, true));
  torch::Tensor n = torch::tensor({12, 7, 5});
  SHOW(torch::gcd_(n, torch::tensor({8, 14, 3})));
  SHOW(n |= torch::tensor(8));
  SHOW(n &= torch::tensor({12, 12, 12}));
  SHOW(n ^= n);
  const torch::Tensor w = torch::tensor({0.5, -1., 2.}, torch::requires_grad());
  torch::Tensor y = w * 2;
  torch::gelu_(y, "tanh");
  torch::dropout_(y, 0.5, false);
  y.sum().backward();
  SHOW(w.grad());
}

void parameters_of_functions() {
  const torch::Tensor x = torch::tensor({{1., 2., 4.}, {8., 16., 0.}}), w = torch::tensor({{1., 0., 2.}});
  SHOW(x.std({1}, torch::Scalar(0.5), true));
  SHOW(x.var({0, 1}, torch::Scalar(2)));
  SHOW(torch::std(x, {1}, c10::nullopt));
  SHOW(std::get<0>(torch::std_mean(x, false)));
  SHOW(std::get<0>(torch::var_mean(x, {0}, torch::Scalar(0))));
  SHOW(x.divide(3, "floor"));
  SHOW(x.clone().divide_(w + 1, "trunc"));
  SHOW(torch::trapz(x, 0.5));
  SHOW(torch::trapz(x, x * 2));
  SHOW(torch::log_sigmoid(x));
  SHOW(torch::pad_sequence({x[0], x[1].slice(0, 0, 2)}, true, -1));
  SHOW(torch::nonzero_numpy(x).at(1));
  const c10::optional<torch::Tensor> bias = torch::ones({1}), none;
  SHOW(torch::linear(x, w, bias));
  SHOW(torch::linear(x, w, none));
  SHOW(!none && !!bias && none == c10::nullopt && bias != c10::nullopt && static_cast<bool>(bias));
  SHOW(torch::conv1d(x.unsqueeze(1), torch::ones({1, 1, 3}), c10::nullopt, 1, "same"));
  const torch::Tensor image = torch::ones({1, 2, 2, 2}).contiguous(torch::MemoryFormat::ChannelsLast);
  SHOW(torch::ones({1, 2, 3, 4}).to(image, false, true, torch::MemoryFormat::ChannelsLast).strides());
  SHOW(torch::zeros({1}).resize_({1, 2, 3, 4}, torch::MemoryFormat::ChannelsLast).strides());
  SHOW(torch::ones({2}).set_().sizes());
}

void graphs_and_modules() {
  const torch::Tensor x = torch::ones({2}, torch::requires_grad());
  const auto node = (x * x).grad_fn();
  SHOW(node->next_edges().size());
  SHOW(node->next_edge(0).is_valid());
  SHOW(node->num_outputs());
  SHOW(torch::autograd::make_variable(torch::ones({1}), true).requires_grad());
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU());
  net->apply([](const std::shared_ptr<nn::Module>& module) { std::cout << module->name() << "\n"; });
  SHOW(std::get<0>(nn::init::_calculate_fan_in_and_fan_out(torch::ones({4, 3, 2}))));
  AT_DISPATCH_INDEX_TYPES(torch::kInt, "index", [] { SHOW(sizeof(index_t)); });
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(torch::kDouble, "all", [] { SHOW(sizeof(scalar_t)); });
}

void errors() {
  try {
    TORCH_CHECK_VALUE(1 > 2, "not so: ", 1);
  } catch (const c10::ValueError& e) {
    SHOW(std::string(e.what_without_backtrace()).find("not so: 1") != std::string::npos);
  }
  try {
    C10_THROW_ERROR(ValueError, "bad");
  } catch (const c10::Error& e) {
    SHOW(e.msg());
  }
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
  types();
  real_numbers();
  in_place_functions();
  parameters_of_functions();
  graphs_and_modules();
  errors();
  autocast();
  int64_t sum = 0;
  at::parallel_for(0, 100, 200, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  std::cout << "sum " << sum << "\n";
}
