// Does not compile. compile_errors.py compares the errors with the comments below.
#include "tandem/tandem.h"

struct Numbers : tandem::data::datasets::Dataset<Numbers> {
  tandem::data::Example<> get(size_t) override { return {}; }
  std::optional<size_t> size() const override { return 1; }
};

struct WithoutForward : tandem::nn::Module {};

struct WithoutModule : tandem::nn::Module {
  WithoutModule() {
    register_module("relu", tandem::relu);  // error: wrap a function, as in nn::Functional(relu)
  }
};

void wrong_arguments(tandem::Tensor x) {
  tandem::nn::Conv2d conv(1, 2, 3, 1, 1);                                                       // error: deleted
  tandem::nn::TransformerEncoder encoder(tandem::nn::TransformerEncoderLayerOptions(8, 2), 2);  // error: deleted
  tandem::nn::MaxPool2d pool{2, 2};                                                             // error: deleted
  tandem::nn::Linear fc;                                                                        // error: nullptr
  tandem::nn::Sequential net(tandem::nn::Linear(1, 1), tandem::relu);                           // error: deleted
  x + "a";                                                                                      // error: deleted
  auto loader = tandem::data::make_data_loader(tandem::data::datasets::TensorDataset(x), 4);
  for (auto& batch : loader) (void)batch;  // error: write `for (auto& batch : *loader)`
}

void regions() {
  tandem::amp::AutocastGuard(kDevice);  // error: amp::AutocastGuard autocast(kCPU);
}

int main() {
  Numbers().map([](int) { return 0; });                                    // error: a function that takes an item
  tandem::nn::Sequential net(tandem::nn::Linear(1, 1), WithoutForward());  // error: `Tensor forward(const Tensor&)`
}
