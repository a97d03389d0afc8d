#pragma once
// What the examples of larger networks share: an experiment trains one network in f32, bf16 AMP and f16 AMP, with
// several seeds, and its program prints a table that compares them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace networks {

/// The conditions of one run.
struct Setting {
  torch::Device device = torch::kCPU;
  torch::ScalarType dtype = torch::kFloat;  ///< of autocast; f32: no AMP
  bool small = false;                       ///< the small configuration, which trains in seconds
  int64_t steps = 0;                        ///< of the whole run
  std::string data;                         ///< folder with the files of scripts/example_data.sh
  std::string images;                       ///< folder with the files of Fashion-MNIST
  std::string pictures;                     ///< folder for pictures; empty: none
  std::string precision;                    ///< f32, bf16, f16, or "fp8_" and the name of a recipe
  std::string trace;                        ///< folder for Chrome traces of some steps; empty: none
  std::string moments = "f32";              ///< dtypes of AdamW's moments: f32, bf16, or fp8 (e4m3fn and bf16)

  bool amp() const { return dtype != torch::kFloat; }
};

/// One run: a network, its optimizer and its data.
class Experiment {
 public:
  explicit Experiment(const Setting& setting)
      : setting(setting), scaler(torch::amp::GradScalerOptions().enabled(setting.amp())) {}
  virtual ~Experiment() = default;

  /// Trains on the next batch. Returns the loss.
  virtual torch::Tensor step() = 0;
  /// Returns the quality of the network on data that it was not trained on.
  virtual double metric() = 0;
  /// Returns the metric of a constant answer, the best one: what the network must beat.
  virtual double baseline() = 0;
  virtual int64_t steps_per_epoch() const = 0;
  /// Returns the tensors that hold the data. They take the same memory in every precision, so the peak excludes them.
  virtual std::vector<torch::Tensor> data() const = 0;
  /// Returns what else there is to say about the run.
  virtual std::string remark() { return ""; }
  /// Draws what there is to see into setting.pictures.
  virtual void draw() {}
  /// Returns the number of steps that changed no weight, because a gradient was inf or NaN.
  virtual int64_t skipped_steps() = 0;

  double scale() const { return scaler.get_scale(); }

 protected:
  /// Opens the region of the run's precision, which lasts as long as the result.
  std::shared_ptr<void> autocast() const;

  const Setting setting;
  torch::amp::GradScaler scaler;
};

/// The usual experiment: one network, one optimizer of Adam's kind, one loss. The learning rate rises over the first 5
/// % of the steps and then falls along a cosine to zero.
class Supervised : public Experiment {
 public:
  using Experiment::Experiment;
  torch::Tensor step() final;
  int64_t skipped_steps() final;

 protected:
  /// Call at the end of the constructor. Gradients are clipped to the norm `max_norm`; 0: not clipped.
  void train(std::shared_ptr<torch::nn::Module> module, double lr, double weight_decay = 0, double max_norm = 0);
  /// Computes the loss of the next batch. The region of autocast is open.
  virtual torch::Tensor loss() = 0;
  /// Averages `value` over `count` calls, without gradients, in evaluation mode and in the run's precision.
  double evaluate(int64_t count, const std::function<torch::Tensor(int64_t)>& value);

 private:
  std::shared_ptr<torch::nn::Module> module_;
  std::unique_ptr<torch::optim::AdamW> optimizer_;
  std::unique_ptr<torch::optim::LambdaLR> schedule_;
  double max_norm_ = 0;
  int64_t steps_ = 0;
};

/// Describes an experiment to main_of().
struct Description {
  std::string name, metric;
  bool lower_is_better;
  int64_t steps, small_steps;  ///< of a run
  std::function<std::unique_ptr<Experiment>(const Setting&)> make;
};

/// The main() of a program that runs one experiment. Returns the exit status: 1 if the metric of a run is not better
/// than the baseline.
int main_of(const Description& description, int argc, char** argv);

}  // namespace networks
