// The rates of single kernels of a device, each measured alone: the matrix products in the training of a linear layer,
// passes over memory compared with a plain copy, convolutions with many channels, launches. On a CUDA device times are
// measured with events, after a pass over memory that evicts the operands from the caches; each time is the median of
// many. Prints one JSON object per line:
//   group, kernel          what was measured
//   us                     microseconds
//   flops                  floating-point operations per second, for kernels limited by them
//   threads, efficiency    of the CPU: the number of threads; the share of as many times the rate of one thread
//   bytes_per_second, of_copy   bytes that the pass must move; its rate relative to that of a copy in this process
#include <tandem/tandem.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "command_line.h"
#include "statistics.h"

namespace {

using namespace tandem;
using Body = std::function<void()>;

struct Settings {
  std::string device = "cuda";
  std::vector<std::string> only;
  bool quick = false;
};

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : quick(settings.quick),
        device(settings.device),
        flush_(empty({quick ? 1024 : int64_t{256} << 20}, options(kByte))) {}

  const bool quick;
  const Device device;

  TensorOptions options(DType dtype) const { return TensorOptions(dtype).device(device); }
  Tensor random(IntArrayRef sizes, DType dtype) const { return randn(sizes, device).mul(0.1).to(dtype); }
  const Backend& kernels() const { return backend(device.type()); }

  double microseconds(const Body& body) const {
    for (int i = 0; i < 3; ++i) body();
    std::vector<double> times;
    for (int i = 0; i < samples(); ++i) times.push_back(sample(body));
    return bench::median(times);
  }

  int samples() const { return quick ? 3 : 25; }
  /// Returns the microseconds of one call with operands from memory.
  double sample(const Body& body) const {
    flush_.zero_();
    return once(body);
  }

  void report(const char* group, const std::string& kernel, double us,
              const nlohmann::ordered_json& more = nlohmann::ordered_json::object()) const {
    nlohmann::ordered_json line = {{"group", group}, {"kernel", kernel}, {"us", bench::rounded(us)}};
    line.update(more);
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }
  void report_flops(const char* group, const std::string& kernel, double operations, const Body& body) const {
    const double us = microseconds(body);
    report(group, kernel, us, {{"flops", bench::rounded(operations / us * 1e6)}});
  }

 private:
  double once(const Body& body) const {
    if (device.is_cpu()) {
      const double start = bench::now();
      body();
      return (bench::now() - start) * 1e6;
    }
    cuda::Event before(true), after(true);
    before.record();
    body();
    after.record();
    after.synchronize();
    return before.elapsed_time(after) * 1e3;
  }

  Tensor flush_;
};

// ---- the three products in the training of a linear layer, with and without their epilogues

void products(const Bench& b) {
  const int64_t rows = b.quick ? 8 : 512, n = b.quick ? 16 : 4096;
  const double operations = 2.0 * static_cast<double>(rows * n * n);
  const auto run = [&](const std::string& name, DType dtype) {
    const Tensor x = b.random({rows, n}, dtype), w = b.random({n, n}, dtype), gy = b.random({rows, n}, dtype);
    const Tensor bias = b.random({n}, kFloat), gb = empty({n}, b.options(kFloat));
    const auto product = [&](const char* what, DType out, IntArrayRef sizes, GemmCall call) {
      call.d = zeros(sizes, b.options(out));
      b.report_flops("products", name + " " + what, operations, [&] { b.kernels().gemm(call); });
    };
    product("forward", dtype, {rows, n}, {.d = {}, .a = x, .b = w.t(), .bias = {}});
    product("forward, bias", dtype, {rows, n}, {.d = {}, .a = x, .b = w.t(), .bias = bias});
    product("forward, bias, relu", dtype, {rows, n},
            {.d = {}, .a = x, .b = w.t(), .bias = bias, .activation = Activation::relu});
    product("input gradient", dtype, {rows, n}, {.d = {}, .a = gy, .b = w, .bias = {}});
    product("weight gradient", dtype, {n, n}, {.d = {}, .a = gy.t(), .b = x, .bias = {}});
    if (dtype != kFloat) {
      product("forward to f32", kFloat, {rows, n}, {.d = {}, .a = x, .b = w.t(), .bias = {}});
      product("weight gradient to f32", kFloat, {n, n}, {.d = {}, .a = gy.t(), .b = x, .bias = {}});
    }
    product("weight gradient added to f32", kFloat, {n, n},
            {.d = {}, .a = gy.t(), .b = x, .bias = {}, .activation = Activation::none, .accumulate = true});
    const Tensor gw = empty({n, n}, b.options(kFloat));
    b.report_flops("products", name + " weight gradient to f32, with that of the bias", operations,
                   [&] { b.kernels().linear_backward_weight(gw, gb, gy, x); });
  };
  run("f16", kHalf);
  run("bf16", kBFloat16);
  run("f32", kFloat);
  if (b.device.is_cuda()) {
    cuda::set_allow_tf32_matmul(true);
    run("tf32", kFloat);
    cuda::set_allow_tf32_matmul(false);
  }
}

// ---- the same products on one, two and all threads of the CPU, measured in turn

void threads(const Bench& b) {
  if (!b.device.is_cpu()) return;
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<int> counts = {1};
  for (const int count : {2, all}) {
    if (count > counts.back() && count <= all) counts.push_back(count);
  }
  const int64_t rows = b.quick ? 8 : 512, n = b.quick ? 16 : 4096;
  const double operations = 2.0 * static_cast<double>(rows * n * n);
  const int usual = get_num_threads();
  for (const DType dtype : {kFloat, kBFloat16}) {
    const Tensor x = b.random({rows, n}, dtype), w = b.random({n, n}, dtype), gy = b.random({rows, n}, dtype);
    const auto product = [&](const char* what, IntArrayRef sizes, GemmCall call) {
      call.d = zeros(sizes, b.options(dtype));
      std::vector<std::vector<double>> times(counts.size());
      for (int i = -1; i < b.samples(); ++i) {  // the first is the warm-up
        for (size_t k = 0; k < counts.size(); ++k) {
          set_num_threads(counts[k]);
          const double us = b.sample([&] { b.kernels().gemm(call); });
          if (i >= 0) times[k].push_back(us);
        }
      }
      const double alone = bench::median(times[0]);
      for (size_t k = 0; k < counts.size(); ++k) {
        const double us = bench::median(times[k]);
        b.report("threads", std::string(dtype == kFloat ? "f32 " : "bf16 ") + what, us,
                 {{"threads", counts[k]},
                  {"flops", bench::rounded(operations / us * 1e6)},
                  {"efficiency", bench::rounded(alone / us / counts[k])}});
      }
    };
    product("forward", {rows, n}, {.d = {}, .a = x, .b = w.t(), .bias = {}});
    product("input gradient", {rows, n}, {.d = {}, .a = gy, .b = w, .bias = {}});
    product("weight gradient", {n, n}, {.d = {}, .a = gy.t(), .b = x, .bias = {}});
  }
  set_num_threads(usual);
}

// ---- passes over the parameters of a model, compared with a copy

void passes(const Bench& b) {
  const int64_t n = b.quick ? 1000 : int64_t{50} << 20;
  const Tensor f32 = b.random({n}, kFloat), other = empty({n}, b.options(kFloat)), f16 = f32.to(kHalf);
  const Tensor shadow = empty({n}, b.options(kHalf)), one = full({}, 1.f, b.options(kFloat));
  const Tensor found = zeros({}, b.options(kFloat));
  double copy_rate = 0;
  const auto pass = [&](const char* name, int64_t bytes_per_element, const Body& body) {
    const double us = b.microseconds(body), rate = static_cast<double>(n * bytes_per_element) / us * 1e6;
    if (copy_rate == 0) copy_rate = rate;
    b.report("passes", name, us,
             {{"bytes_per_second", bench::rounded(rate)}, {"of_copy", bench::rounded(rate / copy_rate)}});
  };
  pass("copy", 8, [&] { other.copy_(f32); });
  pass("cast f32 to f16", 6, [&] { shadow.copy_(f32); });
  pass("cast f16 to f32", 6, [&] { other.copy_(f16); });
  pass("check f32", 4, [&] { b.kernels().check_finite({f32}, one, found); });
  pass("check f16", 2, [&] { b.kernels().check_finite({f16}, one, found); });
  pass("unscale f32", 8, [&] { b.kernels().unscale({f32}, one, found); });

  const auto fill = [&](OptimizerTensors& call, const Tensor& gradient, bool with_shadow) {
    call.params = {other};
    call.grads = {gradient};
    if (with_shadow) call.shadows = {shadow};
    call.scaling = {.inverse_scale = one, .found_inf = found};
  };
  const auto sgd = [&](const char* name, int64_t bytes, const Tensor& gradient) {
    SgdCall call;
    fill(call, gradient, true);
    call.lr = 1e-3;
    pass(name, bytes, [&] { b.kernels().sgd(call); });
  };
  sgd("sgd, unscaling f16 gradients, writing f16 copies", 12, f16);
  sgd("sgd, unscaling f32 gradients, writing f16 copies", 14, f32);
  AdamCall adam;
  adam.exp_avgs = {zeros({n}, b.options(kFloat))};
  adam.exp_avg_sqs = {zeros({n}, b.options(kFloat))};
  adam.steps = {zeros({}, b.options(kFloat))};
  adam.lr = 1e-3, adam.beta1 = 0.9, adam.beta2 = 0.999, adam.eps = 1e-8;
  fill(adam, f32, false);
  pass("adam, unscaling f32 gradients", 28, [&] { b.kernels().adam(adam); });
  fill(adam, f32, true);
  pass("adam, unscaling f32 gradients, writing f16 copies", 30, [&] { b.kernels().adam(adam); });
}

// ---- the second convolution of the big CNN, also with a number of channels that is a multiple of 8

void convolutions(const Bench& b) {
  const int64_t batch = b.quick ? 1 : 590, outputs = b.quick ? 8 : 1000, side = b.quick ? 4 : 14;
  ConvParams params;
  params.padding = {1, 1};
  for (const int64_t channels : b.quick ? std::vector<int64_t>{3, 8} : std::vector<int64_t>{420, 424}) {
    for (const MemoryFormat format : {MemoryFormat::Contiguous, kChannelsLast}) {
      const Tensor x = b.random({batch, channels, side, side}, kHalf).contiguous(format);
      const Tensor w = b.random({outputs, channels, 3, 3}, kHalf).contiguous(format);
      const Tensor gy = b.random({batch, outputs, side, side}, kHalf).contiguous(format);
      const Tensor y = empty_like(gy), gx = empty_like(x), gw = empty_like(w);
      const Tensor gw32 = empty_like(w, TensorOptions(kFloat));
      const double operations = 2.0 * 9 * static_cast<double>(batch * outputs * channels * side * side);
      const std::string name =
          std::to_string(channels) + (format == kChannelsLast ? " channels nhwc " : " channels nchw ");
      const auto convolution = [&](const char* what, const Body& body) {
        b.report_flops("convolutions", name + what, operations, body);
      };
      convolution("forward", [&] { b.kernels().conv(y, x, w, {}, params, Activation::none); });
      convolution("input gradient", [&] { b.kernels().conv_backward_input(gx, gy, w, params); });
      convolution("weight gradient", [&] { b.kernels().conv_backward_weight(gw, {}, gy, x, params); });
      convolution("weight gradient to f32", [&] { b.kernels().conv_backward_weight(gw32, {}, gy, x, params); });
    }
  }
}

// ---- the cost of one launch for the host and the device, measured over many in a row

void launches(const Bench& b) {
  const Tensor x = zeros({8}, b.device);
  const int count = b.quick ? 10 : 1000;
  const double us = b.microseconds([&] {
    for (int i = 0; i < count; ++i) b.kernels().fill(x, 1);
  });
  b.report("launches", "kernel on 8 numbers", us / count);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<std::string, void (*)(const Bench&)>> groups = {{"products", products},
                                                                              {"threads", threads},
                                                                              {"passes", passes},
                                                                              {"convolutions", convolutions},
                                                                              {"launches", launches}};
  Settings settings;
  bench::CommandLine line("Measures single kernels of a device; prints one JSON object per line.");
  line.choice("--device", settings.device, "The device to measure", {"cpu", "cuda"});
  line.list("--only", settings.only, "products, threads, passes, convolutions, launches");
  line.flag("--quick", settings.quick, "Tiny sizes: only checks that it runs");
  line.parse(argc, argv);
  try {
    NoGradGuard no_grad;
    const Bench bench(settings);
    for (const auto& [name, run] : groups) {
      if (settings.only.empty() || std::count(settings.only.begin(), settings.only.end(), name)) run(bench);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
