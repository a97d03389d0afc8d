// The MLP workloads without a library: a training step written by hand with oneDNN, with persistent buffers and one
// fused loop per pass over memory. It is the reference for tandem's step on processors without other known results.
// Takes the arguments of train_bench and prints the same JSON, so that the driver can start it as a third program.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "common/processor.h"
#include "statistics.h"
#include "tests/support/counter.h"
#include "train/disturbance.h"
#include "train/options.h"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

/// Calls f(begin, end) for parts of [0, n), one per thread; for small n only on this thread.
template <class F>
void parallel(int64_t n, F&& f) {
  constexpr int64_t kGrain = 32768;
#if defined(_OPENMP)
  if (n > kGrain) {
#pragma omp parallel
    {
      const int64_t threads = omp_get_num_threads(), size = ((n + threads - 1) / threads + 63) / 64 * 64;
      const int64_t begin = std::min(n, size * omp_get_thread_num());
      f(begin, std::min(n, begin + size));
    }
    return;
  }
#endif
  f(int64_t{0}, n);
}

/// A bfloat16 as stored in memory. A scalar type, because GCC does not vectorise loops over structs.
enum class BFloat16 : uint16_t {};
inline float widen(float x) { return x; }
inline float widen(BFloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
template <class T>
T narrow(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return x;
  } else {
    // Rounds to nearest even. The data of this benchmark contains no NaN.
    const auto bits = std::bit_cast<uint32_t>(x);
    return static_cast<T>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}
template <class T>
constexpr Type type_of = std::is_same_v<T, float> ? Type::f32 : Type::bf16;

/// Zeroed memory in huge pages. Successive blocks start at different pages: equal low address bits cost bandwidth.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(T) + kColours * kPage) {
    static size_t next_colour = 0;
    mapping_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    madvise(mapping_, bytes_, MADV_HUGEPAGE);
    data_ = reinterpret_cast<T*>(mapping_ + next_colour++ % kColours * kPage);
    std::memset(data_, 0, static_cast<size_t>(count) * sizeof(T));
  }
  ~Buffer() { munmap(mapping_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  static constexpr size_t kPage = 4096, kColours = 32;
  size_t bytes_;
  char* mapping_;
  T* data_;
};

/// A primitive with its arguments.
struct Call {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::function<void()> after;  ///< work to do after the primitive
};

template <class T>
class MlpStep {
 public:
  static constexpr bool kAmp = !std::is_same_v<T, float>;
  static constexpr int kLayers = 3;
  static constexpr float kRate = 1e-3f;

  MlpStep(int64_t width, int64_t batch) : width_(width), batch_(batch) {
    for (int i = 0; i <= kLayers; ++i) {
      activations_.push_back(std::make_unique<Buffer<T>>(batch * width));
      gradients_.push_back(std::make_unique<Buffer<T>>(batch * width));
    }
    for (int i = 0; i < kLayers; ++i) layers_.push_back(make_layer(i));
  }

  /// Runs one step; returns the loss.
  double run(const float* x, const float* y) {
    const int64_t n = batch_ * width_;
    T* input = activations_[0]->data();
    parallel(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) input[i] = narrow<T>(x[i]);
    });
    for (auto& layer : layers_) execute(layer->forward);
    const double loss = loss_and_gradient(y);
    for (int i = kLayers - 1; i >= 0; --i) {
      execute(layers_[i]->backward_weight);
      if (i > 0) {
        execute(layers_[i]->backward_data);
        relu_backward(i);
      }
    }
    if (!kAmp || all_finite()) {
      for (auto& layer : layers_) update(*layer);
    }
    return loss;
  }

  /// Returns norms in the order of a module's parameters: weight, bias, weight, ...
  std::vector<double> gradient_norms() const {
    std::vector<double> norms;
    for (const auto& layer : layers_) {
      norms.push_back(norm(layer->gweight.data(), nullptr, width_ * width_) / kScale);
      norms.push_back(norm(layer->gbias.data(), nullptr, width_) / kScale);
    }
    return norms;
  }
  std::vector<double> change_norms() const {
    std::vector<double> norms;
    for (int i = 0; i < kLayers; ++i) {
      const Buffer<float> weight(width_ * width_), bias(width_);
      set_initial_values(i, weight, bias);
      norms.push_back(norm(layers_[i]->weight.data(), weight.data(), width_ * width_));
      norms.push_back(norm(layers_[i]->bias.data(), bias.data(), width_));
    }
    return norms;
  }

 private:
  static constexpr float kScale = kAmp ? 65536.0f : 1.0f;

  struct Layer {
    explicit Layer(int64_t width) : weight(width * width), gweight(width * width), bias(width), gbias(width) {}
    Buffer<float> weight, gweight, bias, gbias;
    std::unique_ptr<Buffer<T>> copy;  ///< the weights in bf16
    Call forward, backward_data, backward_weight;
  };

  void set_initial_values(int number, const Buffer<float>& weight, const Buffer<float>& bias) const {
    const std::string name = "fc" + std::to_string(number + 1);
    const auto fill = [](const std::string& name, const Buffer<float>& values, int64_t count, double bound) {
      const uint64_t seed = tandem::testing::fnv1a(name);
      for (int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(bound * (2 * tandem::testing::counter_unit(seed, static_cast<uint64_t>(i)) - 1));
      }
    };
    fill(name + ".weight", weight, width_ * width_, 1 / std::sqrt(static_cast<double>(width_)));
    fill(name + ".bias", bias, width_, 0.02);
  }

  dnnl::memory memory(const Desc& desc, void* data) { return {desc, engine_, data}; }
  void execute(const Call& call) {
    call.primitive.execute(stream_, call.arguments);
    if (call.after) call.after();
  }

  std::unique_ptr<Layer> make_layer(int i) {
    auto layer = std::make_unique<Layer>(width_);
    set_initial_values(i, layer->weight, layer->bias);
    T* weights = nullptr;
    if constexpr (kAmp) {
      layer->copy = std::make_unique<Buffer<T>>(width_ * width_);
      for (int64_t k = 0; k < width_ * width_; ++k) (*layer->copy)[k] = narrow<T>(layer->weight[k]);
      weights = layer->copy->data();
    } else {
      weights = layer->weight.data();
    }
    const Desc x({batch_, width_}, type_of<T>, Tag::ab), w({width_, width_}, type_of<T>, Tag::ab);
    const Desc w_transposed({width_, width_}, type_of<T>, Tag::ba), row({1, width_}, Type::f32, Tag::ab);
    const Desc bias({width_}, Type::f32, Tag::a), gw({width_, width_}, Type::f32, Tag::ab);
    const auto in = memory(x, activations_[i]->data()), out = memory(x, activations_[i + 1]->data());
    const auto gin = memory(x, gradients_[i]->data()), gout = memory(x, gradients_[i + 1]->data());

    dnnl::primitive_attr relu;
    if (i + 1 < kLayers) {
      dnnl::post_ops post;
      post.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
      relu.set_post_ops(post);
    }
    layer->forward = {dnnl::matmul({engine_, x, w_transposed, row, x, relu}),
                      {{DNNL_ARG_SRC, in},
                       {DNNL_ARG_WEIGHTS, memory(w_transposed, weights)},
                       {DNNL_ARG_BIAS, memory(row, layer->bias.data())},
                       {DNNL_ARG_DST, out}},
                      {}};

    // oneDNN has two ways to compute each gradient; the faster one depends on the processor.
    const dnnl::inner_product_forward::primitive_desc hint(engine_, dnnl::prop_kind::forward_training, x, w, bias, x);
    layer->backward_data =
        faster({dnnl::matmul({engine_, x, w, x}),
                {{DNNL_ARG_SRC, gout}, {DNNL_ARG_WEIGHTS, memory(w, weights)}, {DNNL_ARG_DST, gin}},
                {}},
               {dnnl::inner_product_backward_data({engine_, x, w, x, hint}),
                {{DNNL_ARG_DIFF_DST, gout}, {DNNL_ARG_WEIGHTS, memory(w, weights)}, {DNNL_ARG_DIFF_SRC, gin}},
                {}});
    const Desc gout_transposed({width_, batch_}, type_of<T>, Tag::ba);
    layer->backward_weight =
        faster({dnnl::matmul({engine_, gout_transposed, x, gw}),
                {{DNNL_ARG_SRC, memory(gout_transposed, gradients_[i + 1]->data())},
                 {DNNL_ARG_WEIGHTS, in},
                 {DNNL_ARG_DST, memory(gw, layer->gweight.data())}},
                [this, i, gbias = layer->gbias.data()] { column_sums(gradients_[i + 1]->data(), gbias); }},
               {dnnl::inner_product_backward_weights({engine_, x, gw, bias, x, hint}),
                {{DNNL_ARG_SRC, in},
                 {DNNL_ARG_DIFF_DST, gout},
                 {DNNL_ARG_DIFF_WEIGHTS, memory(gw, layer->gweight.data())},
                 {DNNL_ARG_DIFF_BIAS, memory(bias, layer->gbias.data())}},
                {}});
    return layer;
  }

  Call faster(Call a, Call b) {
    const auto cost = [&](const Call& call) {
      double best = 1e9;
      for (int repetition = 0; repetition < 4; ++repetition) {
        const double start = bench::now();
        execute(call);
        best = std::min(best, bench::now() - start);
      }
      return best;
    };
    return cost(a) <= cost(b) ? std::move(a) : std::move(b);
  }

  void column_sums(const T* g, float* sums) const {
    constexpr int64_t kColumns = 64;  // divides every width here
    parallel(batch_ * width_, [&](int64_t begin, int64_t end) {
      for (int64_t first = (begin / batch_ + kColumns - 1) / kColumns * kColumns; first < end / batch_;
           first += kColumns) {
        float sum[kColumns] = {};
        for (int64_t r = 0; r < batch_; ++r) {
          for (int64_t c = 0; c < kColumns; ++c) sum[c] += widen(g[r * width_ + first + c]);
        }
        std::copy_n(sum, kColumns, sums + first);
      }
    });
  }

  /// Returns the mean squared error and writes the gradient of kScale times the error, in one pass.
  double loss_and_gradient(const float* y) {
    const int64_t n = batch_ * width_;
    const T* out = activations_[kLayers]->data();
    T* g = gradients_[kLayers]->data();
    const float factor = 2 * kScale / static_cast<float>(n);
    std::atomic<double> total{0};
    parallel(n, [&](int64_t first, int64_t last) {
      const int64_t begin = rounded_up(first), end = rounded_up(last);
      for (int64_t row = begin; row < end; row += width_) {  // the parts are whole rows; f32 suffices for a row's sum
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = row; i < row + width_; ++i) {
          const float error = widen(out[i]) - y[i];
          sum += error * error;
          g[i] = narrow<T>(error * factor);
        }
        total += double{sum};
      }
    });
    return total / static_cast<double>(n);
  }

  int64_t rounded_up(int64_t i) const { return (i + width_ - 1) / width_ * width_; }

  void relu_backward(int i) {
    const int64_t n = batch_ * width_;
    const T* y = activations_[i]->data();
    T* g = gradients_[i]->data();
    parallel(n, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) g[k] = widen(y[k]) > 0 ? g[k] : T{};
    });
  }

  bool all_finite() const {
    std::atomic<bool> bad{false};
    const auto check = [&bad](const float* g, int64_t n) {
      parallel(n, [&](int64_t begin, int64_t end) {
        uint32_t found = 0;
        for (int64_t i = begin; i < end; ++i) found |= (std::bit_cast<uint32_t>(g[i]) & 0x7f800000u) == 0x7f800000u;
        if (found) bad = true;
      });
    };
    for (const auto& layer : layers_) {
      check(layer->gweight.data(), width_ * width_);
      check(layer->gbias.data(), width_);
    }
    return !bad;
  }

  /// SGD in one pass, which also unscales and writes the bf16 weights.
  void update(Layer& layer) {
    constexpr float kFactor = kRate / kScale;
    float* w = layer.weight.data();
    const float* g = layer.gweight.data();
    [[maybe_unused]] T* copy = kAmp ? layer.copy->data() : nullptr;
    parallel(width_ * width_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        w[i] -= kFactor * g[i];
        if constexpr (kAmp) copy[i] = narrow<T>(w[i]);
      }
    });
    for (int64_t i = 0; i < width_; ++i) layer.bias[i] -= kFactor * layer.gbias[i];
  }

  static double norm(const float* a, const float* b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double d = double{a[i]} - (b ? double{b[i]} : 0);
      sum += d * d;
    }
    return std::sqrt(sum);
  }

  int64_t width_, batch_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<std::unique_ptr<Buffer<T>>> activations_, gradients_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

template <class T>
nlohmann::json measure(const bench::RunOptions& options, int64_t width, int64_t batch) {
  std::vector<std::unique_ptr<Buffer<float>>> x, y;
  for (int i = 0; i < 3; ++i) {
    const auto fill = [&](const char* name) {
      const uint64_t seed = tandem::testing::fnv1a(name + std::to_string(i));
      auto values = std::make_unique<Buffer<float>>(batch * width);
      for (int64_t k = 0; k < batch * width; ++k) {
        (*values)[k] = static_cast<float>(tandem::testing::counter_normal(seed, static_cast<uint64_t>(k)));
      }
      return values;
    };
    x.push_back(fill("x"));
    y.push_back(fill("y"));
  }
  MlpStep<T> step(width, batch);
  size_t number = 0;
  const auto run = [&] {
    const size_t i = number++ % x.size();
    return step.run(x[i]->data(), y[i]->data());
  };
  nlohmann::json result;
  for (int i = 0; i < options.warmup; ++i) {
    const double loss = run();
    if (i < bench::kComparedSteps) result["losses"].push_back(loss);
    if (i == 0) result["gradient_norms"] = step.gradient_norms();
    if (i + 1 == bench::kComparedSteps) result["change_norms"] = step.change_norms();
  }
  std::vector<double> ms;
  const bench::Disturbance disturbance;
  for (int i = 0; i < options.iterations; ++i) {
    const double start = bench::now();
    run();
    ms.push_back((bench::now() - start) * 1e3);
  }
  result["foreign_share"] = bench::rounded(disturbance.foreign_share());
  result["final_loss"] = run();
  result["ms"] = bench::rounded(bench::median(ms));
  result["lower_quartile_ms"] = bench::rounded(bench::quantile(ms, 0.25));
  result["upper_quartile_ms"] = bench::rounded(bench::quantile(ms, 0.75));
  result["min_ms"] = bench::rounded(bench::quantile(ms, 0));
  return result;
}

nlohmann::json measure_workload(const bench::RunOptions& options) {
  const bool recipe = options.workload == "recipe";
  const int64_t width = recipe ? 4096 : 64, batch = recipe ? 512 : 32;
  return options.precision == "bf16" ? measure<BFloat16>(options, width, batch) : measure<float>(options, width, batch);
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line(
      "Measures a training step written by hand with oneDNN: recipe and tiny_mlp in f32 and bf16. Prints one JSON "
      "object.");
  bench::RunOptions options;
  options.workload = "recipe";
  options.add_flags(line);
  line.parse(argc, argv);
  if ((options.workload != "recipe" && options.workload != "tiny_mlp") || options.precision == "f16") {
    std::fprintf(stderr, "step_floor: supports only recipe and tiny_mlp, in f32 and bf16\n");
    return 1;
  }
  options.complete();
#if defined(_OPENMP)
  omp_set_num_threads(options.threads);
#endif
  try {
    nlohmann::json result = measure_workload(options);
    result["program"] = "written by hand, oneDNN " + std::to_string(dnnl_version()->major) + "." +
                        std::to_string(dnnl_version()->minor);
    result["processor"] = common::processor().description();
    result["workload"] = options.workload;
    result["precision"] = options.precision;
    result["threads"] = options.threads;
    result["warmup"] = options.warmup;
    result["iterations"] = options.iterations;
    std::printf("%s\n", result.dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "step_floor: %s\n", error.what());
    return 1;
  }
  return 0;
}
