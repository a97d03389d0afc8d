// An f32 training program without any AMP code, run by auto_mixed_precision_test. It prints what it observes.
#include <cstdio>

#include <tandem/tandem.h>

using namespace tandem;

int main() {
  manual_seed(5);
  nn::Sequential net(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 1));
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.05));
  const Tensor x = randn({32, 8}), y = randn({32, 1});
  double first = 0, last = 0;
  Tensor output;
  for (int i = 0; i < 30; ++i) {
    sgd.zero_grad();
    output = net(x);
    const Tensor loss = mse_loss(output, y);
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 10.0);
    sgd.step();
    (i == 0 ? first : last) = loss.item<double>();
  }
  const Tensor probabilities = softmax(output, 1);
  std::printf("output %s softmax %s grad %s first %.4f last %.4f\n", std::string(name(output.dtype())).c_str(),
              std::string(name(probabilities.dtype())).c_str(),
              std::string(name(net->parameters()[0].grad().dtype())).c_str(), first, last);
}
