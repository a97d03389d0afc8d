// The libtorch program for train_bench: the same networks and the same loop. C++ libtorch has neither an autocast guard
// nor a GradScaler; both are written here as well as a C++ user can with ATen's own kernels.
// Built by scripts/bench.sh, not by the build.
#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <exception>

namespace lib = torch;
#include "train/child.h"

namespace {

class Region {
 public:
  Region(torch::DeviceType, torch::ScalarType dtype) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, dtype);
    at::autocast::increment_nesting();
  }
  ~Region() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

/// The step of torch.amp.GradScaler; ATen has its kernels for the CPU too.
class Scaler {
 public:
  torch::Tensor scale(const torch::Tensor& loss) { return loss * scale_; }

  void step(torch::optim::Optimizer& optimizer) {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients;
    for (const auto& group : optimizer.param_groups()) {
      for (const torch::Tensor& p : group.params()) {
        if (p.grad().defined()) gradients.push_back(p.grad());
      }
    }
    found_inf_.zero_();
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf_,
                                                   scale_.to(torch::kDouble).reciprocal().to(torch::kFloat));
    if (found_inf_.item<float>() == 0) optimizer.step();
  }

  void update() {
    torch::NoGradGuard no_grad;
    at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, 2.0, 0.5, 2000);
  }

  double value() const { return scale_.item<float>(); }

 private:
  torch::Tensor scale_ = torch::full({}, 65536.0f);
  torch::Tensor growth_tracker_ = torch::zeros({1}, torch::kInt);
  torch::Tensor found_inf_ = torch::zeros({1});
};

struct LibTorch {
  using Region = ::Region;
  using Scaler = ::Scaler;
  static std::string name() { return "libtorch " TORCH_VERSION; }
  static void set_num_threads(int threads) { at::set_num_threads(threads); }
  /// C++ libtorch's Module::to takes no memory format.
  static void set_memory_format(torch::nn::Module& model, torch::MemoryFormat format) {
    for (const torch::Tensor& p : model.parameters()) {
      if (p.dim() == 4) p.set_data(p.data().contiguous(format));
    }
  }
  static int64_t system_allocations(const std::string&) { return 0; }  // not counted for libtorch
  static void reset_peak_bytes(const std::string&) {}
  static int64_t peak_bytes(const std::string&) { return 0; }
  using TooLarge = c10::Error;
  static void empty_cache() {}
  static void synchronize(const std::string&) {}
  static std::function<void()> capture(const std::function<void()>&) {
    throw std::runtime_error("--graph: this program runs on the CPU, which has no graphs");
  }
  static double scale_of(const Scaler& scaler) { return scaler.value(); }
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("Measures one training workload in libtorch and prints one JSON object.");
  bench::RunOptions options;
  options.add_flags(line);
  line.require("--workload");
  line.parse(argc, argv);
  try {
    bench::run_child<LibTorch>(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_torch: %s\n", error.what());
    return 1;
  }
  return 0;
}
