// A dataset of one's own, mapped, stacked, and read by a data loader.
#include "program.h"

class Circles : public torch::data::datasets::Dataset<Circles> {
 public:
  explicit Circles(size_t count) : points_(program::numbers({static_cast<int64_t>(count), 2}, 1)) {
    labels_ = (points_.pow(2).sum(1) < 1.2).to(torch::kLong);
  }
  torch::data::Example<> get(size_t index) override {
    return {points_[static_cast<int64_t>(index)], labels_[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return static_cast<size_t>(points_.size(0)); }

 private:
  torch::Tensor points_, labels_;
};

int main() {
  auto dataset = Circles(96)
                     .map(torch::data::transforms::Lambda<torch::data::Example<>>([](torch::data::Example<> e) {
                       e.data = e.data * 2;
                       return e;
                     }))
                     .map(torch::data::transforms::Stack<>());
  const size_t size = dataset.size().value();
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(dataset), torch::data::DataLoaderOptions().batch_size(20).workers(0).drop_last(true));

  torch::nn::Sequential net(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, 2));
  program::set_weights(*net, 3);
  torch::optim::Adam adam(net->parameters(), 0.05);
  for (int epoch = 0; epoch < 5; ++epoch) {
    double sum = 0;
    size_t seen = 0;
    for (auto& batch : *loader) {
      adam.zero_grad();
      auto loss = torch::cross_entropy_loss(net->forward(batch.data), batch.target);
      loss.backward();
      adam.step();
      sum += loss.item<double>();
      seen += static_cast<size_t>(batch.data.size(0));
    }
    program::report("epoch " + std::to_string(epoch), sum);
    program::report("seen", static_cast<double>(seen));
  }
  program::report("size", static_cast<double>(size));
}
