// Does not compile. compile_errors.py compares the errors with the comments below.
#include "tandem/tandem.h"

struct Numbers : tandem::data::datasets::Dataset<Numbers> {
  tandem::data::Example<> get(size_t) override { return {}; }
  std::optional<size_t> size() const override { return 1; }
};

struct WithoutForward : tandem::nn::Module {};

int main() {
  Numbers().map([](int) { return 0; });                                    // error: a function that takes an item
  tandem::nn::Sequential net(tandem::nn::Linear(1, 1), WithoutForward());  // error: `Tensor forward(const Tensor&)`
}
