#pragma once
// The workloads: networks, data and optimizers.
#include <stdexcept>
#include <utility>

#include "models/bert.h"
#include "models/big_cnn.h"
#include "models/gpt.h"
#include "models/lstm.h"
#include "models/resnet.h"
#include "models/tabular.h"
#include "models/unet.h"
#include "models/vit.h"
#include "train/measure.h"

namespace bench {

/// A network of the examples, with the loss of a batch.
template <class Network, class Loss>
struct WithLoss : lib::nn::Module {
  WithLoss(Network network, Loss loss) : network(std::move(network)), loss_of(std::move(loss)) {
    register_module("network", this->network);
  }
  lib::Tensor loss(const lib::Tensor& x, const lib::Tensor& y) { return loss_of(network, x, y); }
  Network network;
  Loss loss_of;
};

/// Makes the parts of a workload, and measures them.
template <class Library>
class Measurement {
 public:
  explicit Measurement(const RunOptions& options)
      : options_(options),
        format_(options.memory_format == "channels_last" ? lib::MemoryFormat::ChannelsLast
                                                         : lib::MemoryFormat::Contiguous) {}

  nlohmann::json run(const std::string& name) const {
    if (name == "recipe") return mlp(size(4096, 32), 512);
    if (name == "tiny_mlp") return mlp(64, 32);
    if (name == "big_cnn") return classify(models::BigCnn(size(420, 4), size(1000, 8)), images(1, 28), 16, adam);
    if (name == "simple_cnn") return measure_steps(SimpleCnn(), images(1, 28), 64, adam);
    if (name == "resnet18") return classify(models::ResNet18(3, size(64, 4), 10), images(3, 32), 32, adam);
    if (name == "unet") return unet();
    if (name == "gpt") return classify(gpt(65, 256, size(384, 24), size(6, 1), 6), text(256, 65), 8, adamw);
    if (name == "gpt2_124m") return gpt2();
    if (name == "bert") return bert();
    if (name == "vit")
      return classify(models::Vit(models::VitOptions{28, 4, size(128, 16), size(4, 1), 4}), images(1, 28), 64, adamw);
    if (name == "lstm") {
      return classify(models::Lstm(models::LstmOptions{65, size(256, 16), 2}), text(64, 65), 32, adamw);
    }
    if (name == "tabular") return tabular();
    throw std::logic_error("no such workload: " + name);
  }

 private:
  using Parameters = std::vector<lib::Tensor>;
  static auto adam(const Parameters& p) { return lib::optim::Adam(p, lib::optim::AdamOptions(1e-3)); }
  static auto adamw(const Parameters& p) { return lib::optim::AdamW(p, lib::optim::AdamWOptions(1e-3)); }
  static auto sgd(const Parameters& p) { return lib::optim::SGD(p, lib::optim::SGDOptions(1e-3)); }

  int64_t size(int64_t usual, int64_t small) const { return options_.small ? small : usual; }

  // ---- data: functions that make batch number i of n examples

  auto images(int64_t channels, int64_t size) const {
    return [=, format = format_](int i, int64_t n) {
      return Batch{in_format(normal_tensor("x", i, {n, channels, size, size}), format), class_tensor("y", i, {n}, 10)};
    };
  }
  static auto text(int64_t length, int64_t vocabulary) {
    return [=](int i, int64_t n) {
      return Batch{class_tensor("x", i, {n, length}, vocabulary), class_tensor("y", i, {n, length}, vocabulary)};
    };
  }

  // ---- networks

  static models::Gpt gpt(int64_t vocabulary, int64_t context, int64_t width, int64_t depth, int64_t heads) {
    return models::Gpt(models::GptOptions{vocabulary, context, width, depth, heads});
  }
  /// GPT-2 with 124 million parameters as llm.c trains it on the CPU: 4 texts of 64 tokens, and a vocabulary of 50,257
  /// padded to 50,304.
  nlohmann::json gpt2() const {
    return classify(gpt(size(50304, 384), 1024, size(768, 24), size(12, 1), 12), text(64, size(50257, 337)), 4, adamw);
  }
  nlohmann::json mlp(int64_t width, int64_t usual) const {
    const auto data = [=](int i, int64_t n) {
      return Batch{normal_tensor("x", i, {n, width}), normal_tensor("y", i, {n, width})};
    };
    return measure_steps(Mlp(width), data, usual, sgd);
  }
  nlohmann::json unet() const {
    const auto data = [format = format_](int i, int64_t n) {
      return Batch{in_format(normal_tensor("x", i, {n, 1, 32, 32}), format),
                   in_format(class_tensor("y", i, {n, 1, 32, 32}, 2).to(lib::kFloat), format)};
    };
    const auto loss = [](models::UNet& network, const lib::Tensor& x, const lib::Tensor& y) {
      return lib::nn::functional::binary_cross_entropy_with_logits(network->forward(x).to(lib::kFloat), y);
    };
    return measure_steps(WithLoss(models::UNet(size(16, 4), 3), loss), data, 50, adam);
  }
  nlohmann::json bert() const {
    const auto data = [](int i, int64_t n) {
      Batch batch = text(32, 4000)(i, n);
      auto* y = batch.y.template data_ptr<int64_t>();
      for (int64_t k = 0; k < batch.y.numel(); ++k) {
        if (k % 7 != 0) y[k] = -100;  // the loss ignores words that were not masked
      }
      return batch;
    };
    return classify(models::Bert(models::BertOptions{4000, 32, size(192, 24), size(4, 1), 6}), data, 64, adamw);
  }
  nlohmann::json tabular() const {
    const auto data = [](int i, int64_t n) {
      return Batch{lib::cat({class_tensor("c", i, {n, 3}, 5).to(lib::kFloat), normal_tensor("x", i, {n, 6})}, 1),
                   normal_tensor("y", i, {n})};
    };
    const auto loss = [](models::Tabular& network, const lib::Tensor& x, const lib::Tensor& y) {
      const auto prices = network->forward(x.narrow(1, 0, 3).to(lib::kLong), x.narrow(1, 3, 6));
      return lib::nn::functional::mse_loss(prices.to(lib::kFloat), y);
    };
    return measure_steps(WithLoss(models::Tabular(std::vector<int64_t>{5, 7, 8}, 6, 256), loss), data, 256, adamw);
  }

  /// A network whose scores, [..., classes], meet classes in a cross entropy. PyTorch's CPU autocast would run the
  /// softmax in the low dtype; tandem runs it in f32 even without the cast.
  template <class Network, class Data, class Optimizer>
  nlohmann::json classify(Network network, const Data& data, int64_t usual, const Optimizer& optimizer) const {
    const auto loss = [](Network& network, const lib::Tensor& x, const lib::Tensor& y) {
      const auto scores = network->forward(x);
      return lib::nn::functional::cross_entropy(scores.flatten(0, -2).to(lib::kFloat), y.flatten());
    };
    return measure_steps(WithLoss(std::move(network), loss), data, usual, optimizer);
  }

  template <class Model, class Data, class Optimizer>
  nlohmann::json measure_steps(Model&& model, const Data& data, int64_t usual, const Optimizer& make_optimizer) const {
    const lib::Device device(options_.device);
    const int64_t count = options_.batch > 0 ? options_.batch : size(usual, 4);
    // Several batches in turn, so that no results can be reused in the next step.
    std::vector<Batch> batches;
    for (int i = 0; i < 3; ++i) {
      const Batch batch = data(i, count);
      batches.push_back({batch.x.to(device), batch.y.to(device)});
    }
    set_initial_values(model);
    model.to(device);
    if (find_workload(options_.workload)->is_cnn) Library::set_memory_format(model, format_);
    auto optimizer = make_optimizer(model.parameters());
    return measure<Library>(options_, model, optimizer, batches);
  }

  const RunOptions& options_;
  lib::MemoryFormat format_;
};

template <class Library>
nlohmann::json measure_workload(const RunOptions& options) {
  return Measurement<Library>(options).run(options.workload);
}

}  // namespace bench
