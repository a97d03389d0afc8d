// A variational autoencoder; the noise of the reparametrisation comes from the formula.
#include "program.h"

struct VAEOutput {
  torch::Tensor reconstruction, mu, log_var;
};

class VAEImpl : public torch::nn::Module {
 public:
  VAEImpl(int64_t image_size, int64_t h_dim, int64_t z_dim)
      : fc1(image_size, h_dim), fc2(h_dim, z_dim), fc3(h_dim, z_dim), fc4(z_dim, h_dim), fc5(h_dim, image_size) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
    register_module("fc4", fc4);
    register_module("fc5", fc5);
  }
  std::pair<torch::Tensor, torch::Tensor> encode(torch::Tensor x) {
    auto h = torch::nn::functional::relu(fc1->forward(x));
    return {fc2->forward(h), fc3->forward(h)};
  }
  torch::Tensor reparametrize(torch::Tensor mu, torch::Tensor log_var, torch::Tensor epsilon) {
    auto std = log_var.div(2).exp();
    return mu + epsilon * std;
  }
  torch::Tensor decode(torch::Tensor z) {
    auto h = torch::nn::functional::relu(fc4->forward(z));
    return torch::sigmoid(fc5->forward(h));
  }
  VAEOutput forward(torch::Tensor x, torch::Tensor epsilon) {
    auto encoded = encode(x);
    auto mu = encoded.first, log_var = encoded.second;
    return {decode(reparametrize(mu, log_var, epsilon)), mu, log_var};
  }

 private:
  torch::nn::Linear fc1, fc2, fc3, fc4, fc5;
};
TORCH_MODULE(VAE);

int main() {
  VAE model(64, 32, 4);
  program::set_weights(*model, 1);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  const auto images = torch::sigmoid(program::numbers({16, 64}, 30));
  for (uint64_t step = 0; step < 15; ++step) {
    auto output = model->forward(images, program::numbers({16, 4}, 40 + step));
    auto reconstruction_loss = torch::nn::functional::binary_cross_entropy(
        output.reconstruction, images, torch::nn::functional::BinaryCrossEntropyFuncOptions().reduction(torch::kSum));
    auto kl_divergence = -0.5 * torch::sum(1 + output.log_var - output.mu.pow(2) - output.log_var.exp());
    auto loss = reconstruction_loss + kl_divergence;
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    program::report("step " + std::to_string(step), loss);
  }
}
