#include "kernels/cuda/conv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/gemm_key.h"
#include "kernels/cuda/plan_cache.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/timing.h"
#include "tandem/base/of_thread.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPlans = 1024;
constexpr size_t kTimedCandidates = 8;
constexpr int64_t kMostWorkspace = int64_t{1} << 30;  ///< bytes; exceeded only if no engine needs less

/// Returns this thread's handle for `device`: a handle may be used by only one thread at a time. Handles of finished
/// threads are reused; none is destroyed.
cudnnHandle_t handle_of(int device) {
  struct Pool {
    std::mutex mutex;
    std::multimap<int, cudnnHandle_t> free;
  };
  static auto* const pool = new Pool;
  struct ToPool {
    int device;
    void operator()(cudnnHandle_t handle) const {
      const std::lock_guard lock(pool->mutex);
      pool->free.emplace(device, handle);
    }
  };
  using Held = std::unique_ptr<std::remove_pointer_t<cudnnHandle_t>, ToPool>;
  auto& held = tandem::detail::of_thread([] { return std::map<int, Held>(); });
  const auto found = held.find(device);
  if (found != held.end()) return found->second.get();
  cudnnHandle_t handle = nullptr;
  {
    const std::lock_guard lock(pool->mutex);
    if (const auto spare = pool->free.find(device); spare != pool->free.end()) {
      handle = spare->second;
      pool->free.erase(spare);
    }
  }
  if (!handle) TANDEM_DNN("none", cudnnCreate, &handle);
  held.emplace(device, Held(handle, ToPool{device}));
  return handle;
}

/// The configurations that the heuristic proposes, best first.
std::vector<Descriptor> engine_configs(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, mode).finalize();
  const int64_t count = heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().raw());
  }
  const int64_t filled =
      count ? heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data()) : 0;
  while (static_cast<int64_t>(configs.size()) > filled) configs.pop_back();
  return configs;
}

/// Whether an engine keeps the contract: f32 sums, factors not rounded, TF32 and nondeterminism only if allowed, and a
/// ReLU that keeps NaN.
bool is_allowed(const ConvKey& key, const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  bool keeps_nan = false;
  for (int64_t i = 0; i < count; ++i) {
    switch (notes[i]) {
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        return false;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        if (key.deterministic) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        if (key.x == kFloat && key.w == kFloat && key.y == kFloat && !key.tf32) return false;
        break;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        keeps_nan = true;
        break;
      default:
        break;
    }
  }
  return keeps_nan || !key.has_relu;
}

/// An engine that is ready to run.
struct Engine {
  Descriptor config, plan;
  int64_t workspace_bytes;
};

std::optional<Engine> make_engine(const ConvKey& key, cudnnHandle_t handle, Descriptor&& config) {
  try {
    if (!is_allowed(key, config)) return std::nullopt;
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config).finalize();
    int64_t bytes = 0;
    plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
    return Engine{std::move(config), std::move(plan), bytes};
  } catch (const DnnRefusal&) {
    return std::nullopt;  // proposed, but unsupported on this device or for these sizes
  }
}

/// Addresses of a convolution's tensors.
struct Pointers {
  void *x, *w, *y, *bias;
};

void run(const ConvKey& key, cudnnHandle_t handle, const Engine& engine, const Pointers& p) {
  const cudaStream_t stream = current_handle();
  TANDEM_DNN(to_string(key), cudnnSetStream, handle, stream);
  // From the stream-ordered allocator, so freeing it right after the call is safe.
  Tensor workspace;
  if (engine.workspace_bytes > 0) {
    workspace = empty({engine.workspace_bytes}, TensorOptions(kByte).device(Device(kCUDA, key.device)));
  }
  const int64_t uids[] = {kX, kW, kY, kBias};
  void* const pointers[] = {p.x, p.w, p.y, p.bias};
  const int64_t count = key.has_bias ? 4 : 3;
  try {
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers, count)
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids, count)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace.defined() ? workspace.raw_bytes() : nullptr)
        .finalize();
    TANDEM_DNN(to_string(key), cudnnBackendExecute, handle, engine.plan.raw(), pack.raw());
  } catch (const DnnRefusal& refusal) {
    throw_dnn_error(refusal.call, refusal.status, to_string(key));
  }
  if (is_synchronous()) TANDEM_CUDA(cudaStreamSynchronize, stream);
}

/// The engines chosen for a key.
class Plan {
 public:
  Plan(const ConvKey& key, cudnnHandle_t handle) : key_(key), handle_(handle) {}

  /// Returns false if there is no engine or `apart` is faster.
  bool run(const Pointers& pointers, const std::function<void()>& apart) {
    const Decision& decision = decide(pointers, apart);
    if (decision.engine) cuda::run(key_, handle_, *decision.engine, pointers);
    return decision.engine.has_value();
  }
  const std::string& why() const { return why_; }

 private:
  /// Not made yet, or an engine, or none.
  struct Decision {
    bool made = false;
    std::optional<Engine> engine;
  };

  const Decision& decide(const Pointers& pointers, const std::function<void()>& apart) {
    const bool timed = benchmark() && !deterministic();
    Decision& decision = timed && (by_time_.made || !is_capturing()) ? by_time_ : by_heuristic_;
    if (decision.made) return decision;
    std::vector<Engine> engines = find(&decision == &by_time_ ? kTimedCandidates : 1);
    size_t best = 0;
    if (&decision == &by_time_) {
      const size_t ways = engines.size() + (apart ? 1 : 0);
      const auto run_way = [&](size_t i) {
        i < engines.size() ? cuda::run(key_, handle_, engines[i], pointers) : apart();
      };
      if (ways > 1) best = fastest_of(ways, run_way).value_or(0);
    }
    if (best < engines.size()) decision.engine = std::move(engines[best]);
    decision.made = true;
    return decision;
  }

  /// Returns up to `wanted` working engines, best first. If there is none, `why_` holds the reason.
  std::vector<Engine> find(size_t wanted) {
    std::vector<Engine> engines, greedy;
    try {
      if (!graph_) graph_ = operation_graph(key_, handle_, parts_);
      for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        if (!engines.empty()) break;
        std::vector<Descriptor> configs;
        try {
          configs = engine_configs(*graph_, mode);
        } catch (const DnnRefusal&) {
          if (mode == CUDNN_HEUR_MODE_FALLBACK && greedy.empty()) throw;
        }
        for (Descriptor& config : configs) {
          if (engines.size() == wanted) break;
          std::optional<Engine> engine = make_engine(key_, handle_, std::move(config));
          if (!engine) continue;
          if (engine->workspace_bytes <= kMostWorkspace) {
            engines.push_back(std::move(*engine));
          } else if (greedy.empty()) {
            greedy.push_back(std::move(*engine));
          }
        }
      }
      why_ = "no engine meets the requirements";
    } catch (const DnnRefusal& refusal) {
      char reason[512] = "";
      ::cudnnGetLastErrorString(reason, sizeof(reason));
      why_ = fmt::format("{}: {} {}", refusal.call, ::cudnnGetErrorString(refusal.status), reason);
    }
    return engines.empty() ? std::move(greedy) : std::move(engines);
  }

  ConvKey key_;
  cudnnHandle_t handle_;
  std::vector<Descriptor> parts_;  ///< of the graph; kept as long as the engines
  std::optional<Descriptor> graph_;
  Decision by_heuristic_, by_time_;
  std::string why_;
};

/// Engines require at most 16 bytes; distinguishing more would create more plans per shape.
uint16_t plan_alignment(const void* data) { return std::min<uint16_t>(alignment_of(data), 16); }

ConvKey key_of(const Convolution& c) {
  ConvKey key;
  key.dims = static_cast<uint8_t>(c.x.dim() - 2);
  for (int64_t d = 0; d < c.x.dim(); ++d) {
    key.x_sizes[d] = c.x.size(d);
    key.w_sizes[d] = c.w.size(d);
    key.y_sizes[d] = c.y.size(d);
  }
  for (size_t d = 0; d < key.dims; ++d) {
    key.padding[d] = c.params.padding[d];
    key.stride[d] = c.params.stride[d];
    key.dilation[d] = c.params.dilation[d];
  }
  key.device = index_of(c.x.device());
  key.align_x = plan_alignment(c.x.raw_bytes());
  key.align_w = plan_alignment(c.w.raw_bytes());
  key.align_y = plan_alignment(c.y.raw_bytes());
  key.direction = c.direction;
  key.x = c.x.dtype();
  key.w = c.w.dtype();
  key.y = c.y.dtype();
  if (c.bias.defined()) {
    key.has_bias = true;
    key.bias = c.bias.dtype();
    key.align_bias = plan_alignment(c.bias.raw_bytes());
  }
  key.has_relu = c.relu;
  key.channels_last = c.channels_last;
  key.tf32 = c.exact_in_tf32 || allow_tf32_conv();
  key.deterministic = deterministic();
  return key;
}

}  // namespace

bool convolve(const Convolution& c, std::string* why, const std::function<void()>& apart) {
  const ConvKey key = key_of(c);
  const cudnnHandle_t handle = handle_of(key.device);
  const Pointers pointers{c.x.raw_bytes(), c.w.raw_bytes(), c.y.raw_bytes(),
                          c.bias.defined() ? c.bias.raw_bytes() : nullptr};
  auto& plans = tandem::detail::of_thread([] { return PlanCache<ConvKey, std::unique_ptr<Plan>>(kPlans); });
  Plan& plan = *plans.find_or_make(key, [&] { return std::make_unique<Plan>(key, handle); });
  if (plan.run(pointers, apart)) return true;
  if (why) *why = plan.why() + " (" + to_string(key) + ")";
  return false;
}

}  // namespace tandem::cuda
