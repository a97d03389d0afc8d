// Writes libtorch's archives for tests/io/torch_file_test.cpp. Run by hand, with libtorch's PyPI package in $TORCH:
//   g++ -std=c++20 -I$TORCH/include -I$TORCH/include/torch/csrc/api/include tests/golden/torch_files_libtorch.cpp \
//     -L$TORCH/lib -Wl,-rpath,$TORCH/lib -ltorch -ltorch_cpu -lc10 -o torch_files_libtorch
//   .venv-torch/bin/python tests/golden/torch_files.py --libtorch ./torch_files_libtorch
#include <torch/torch.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

static torch::nn::Sequential model() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(nn::BatchNorm1dOptions(2).affine(false)));
}

static void step(const torch::nn::Sequential& net, torch::optim::Optimizer& optimizer, int seed) {
  int i = seed;
  for (const torch::Tensor& p : net->parameters()) {
    p.mutable_grad() = torch::cos(torch::arange(p.numel()) + i++).reshape(p.sizes());
  }
  optimizer.step();
}

static void write(const std::string& path, const torch::IValue& value) {
  const std::vector<char> bytes = torch::pickle_save(value);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

int main(int, char** arguments) {
  const std::string folder = std::string(arguments[1]) + "/libtorch_";
  torch::manual_seed(2);
  auto net = model();
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.01).amsgrad(true).betas({0.8, 0.9}));
  step(net, adam, 0);
  step(net, adam, 1);
  torch::save(net, folder + "module.pt");
  torch::save(adam, folder + "adam.pt");
  step(net, adam, 2);
  torch::save(net, folder + "next.pt");

  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net, sgd, 0);
  torch::save(sgd, folder + "sgd.pt");

  const torch::Tensor base = torch::arange(6.0).reshape({2, 3});
  torch::save(base, folder + "tensor.pt");
  torch::save(std::vector<torch::Tensor>({base, base.t(), torch::ones({2}, torch::kLong)}), folder + "tensors.pt");
  c10::Dict<std::string, torch::Tensor> dict;
  dict.insert("a", base);
  dict.insert("b", base.select(0, 1));
  write(folder + "dict.pt", dict);
  write(folder + "lists.pt",
        c10::ivalue::Tuple::create(
            {torch::IValue(std::vector<int64_t>({1, -2, int64_t{1} << 40})),
             torch::IValue(std::vector<double>({0.5, 1e100})), torch::IValue(c10::List<bool>({true})),
             torch::IValue(std::vector<torch::Tensor>({base})), torch::IValue("text"), torch::IValue()}));
}
