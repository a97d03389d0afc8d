#include "kernels/cuda/conv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/gemm_key.h"
#include "kernels/cuda/plan_cache.h"
#include "kernels/cuda/runtime.h"
#include "tandem/cuda/capture.h"
#include "tandem/cuda/event.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPlans = 1024;
constexpr size_t kTimedCandidates = 8;
constexpr int64_t kMostWorkspace = int64_t{1} << 30;  ///< bytes; more only where no engine does with less

/// A handle for this thread on `device`: a handle serves one thread at a time. Those of threads that have ended go to
/// the next ones; none is ever destroyed.
cudnnHandle_t handle_of(int device) {
  struct Pool {
    std::mutex mutex;
    std::multimap<int, cudnnHandle_t> free;
  };
  static auto* const pool = new Pool;
  struct Held {
    std::map<int, cudnnHandle_t> handles;
    ~Held() {
      const std::lock_guard lock(pool->mutex);
      for (const auto& [device, handle] : handles) pool->free.emplace(device, handle);
    }
  };
  static thread_local Held held;
  const auto found = held.handles.find(device);
  if (found != held.handles.end()) return found->second;
  cudnnHandle_t handle = nullptr;
  {
    const std::lock_guard lock(pool->mutex);
    if (const auto spare = pool->free.find(device); spare != pool->free.end()) {
      handle = spare->second;
      pool->free.erase(spare);
    }
  }
  if (!handle) TANDEM_DNN("none", cudnnCreate, &handle);
  held.handles.emplace(device, handle);
  return handle;
}

/// What the heuristic proposes, the best first.
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

/// True for an engine that keeps the contract: sums in f32, factors as they are, TF32 and run-to-run differences only
/// where they are allowed.
bool is_allowed(const ConvKey& key, const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
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
      default:
        break;
    }
  }
  return true;
}

/// An engine, ready to run.
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
    return std::nullopt;  // proposed, but not for this device or these sizes
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

/// Milliseconds of a run, the better of two after one to warm up; the largest float where the engine fails.
float time_of(const ConvKey& key, cudnnHandle_t handle, const Engine& engine, const Pointers& p) {
  float best = std::numeric_limits<float>::max();
  try {
    run(key, handle, engine, p);
    for (int i = 0; i < 2; ++i) {
      Event start(true), stop(true);
      start.record();
      run(key, handle, engine, p);
      stop.record();
      stop.synchronize();
      best = std::min(best, start.elapsed_time(stop));
    }
  } catch (const BackendError&) {
    return std::numeric_limits<float>::max();
  } catch (const OutOfMemoryError&) {  // of its workspace
    return std::numeric_limits<float>::max();
  }
  return best;
}

/// The engine for a key, or none, and then why.
class Plan {
 public:
  Plan(const ConvKey& key, cudnnHandle_t handle, const Pointers& pointers) {
    try {
      if (key.benchmark) {
        check_not_capturing("timing the algorithms of a new shape is impossible",
                            "run a few steps before the capture, or set_benchmark(false)");
      }
      std::vector<Engine> engines = find(key, handle, operation_graph(key, handle, parts_), key.benchmark);
      if (engines.empty()) {
        why_ = "no engine keeps the contract";
        return;
      }
      size_t best = 0;
      float least = std::numeric_limits<float>::max();
      for (size_t i = 0; engines.size() > 1 && i < engines.size(); ++i) {
        const float time = time_of(key, handle, engines[i], pointers);
        if (time < least) {
          least = time;
          best = i;
        }
      }
      engine_ = std::move(engines[best]);
    } catch (const DnnRefusal& refusal) {
      char reason[512] = "";
      ::cudnnGetLastErrorString(reason, sizeof(reason));
      why_ = fmt::format("{}: {} {}", refusal.call, ::cudnnGetErrorString(refusal.status), reason);
    }
  }
  const Engine* engine() const { return engine_ ? &*engine_ : nullptr; }
  const std::string& why() const { return why_; }

 private:
  /// The first engine that works, or several to be timed.
  std::vector<Engine> find(const ConvKey& key, cudnnHandle_t handle, Descriptor&& graph, bool timed) {
    const size_t wanted = timed ? kTimedCandidates : 1;
    std::vector<Engine> engines, greedy;
    for (cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      if (!engines.empty()) break;
      std::vector<Descriptor> configs;
      try {
        configs = engine_configs(graph, mode);
      } catch (const DnnRefusal&) {
        if (mode == CUDNN_HEUR_MODE_FALLBACK && greedy.empty()) throw;
      }
      for (Descriptor& config : configs) {
        if (engines.size() == wanted) break;
        std::optional<Engine> engine = make_engine(key, handle, std::move(config));
        if (!engine) continue;
        if (engine->workspace_bytes <= kMostWorkspace) {
          engines.push_back(std::move(*engine));
        } else if (greedy.empty()) {
          greedy.push_back(std::move(*engine));
        }
      }
    }
    parts_.push_back(std::move(graph));
    return engines.empty() ? std::move(greedy) : std::move(engines);
  }

  std::vector<Descriptor> parts_;  ///< of the graph, kept as long as the engine
  std::optional<Engine> engine_;
  std::string why_;
};

/// Engines ask for 16 bytes at most; telling more apart would make more plans of one shape.
uint16_t plan_alignment(const void* data) { return std::min<uint16_t>(alignment_of(data), 16); }

ConvKey key_of(const Convolution& c) {
  ConvKey key;
  for (int64_t d = 0; d < 4; ++d) {
    key.x_sizes[d] = c.x.size(d);
    key.w_sizes[d] = c.w.size(d);
    key.y_sizes[d] = c.y.size(d);
  }
  for (size_t d = 0; d < 2; ++d) {
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
  key.channels_last = c.channels_last;
  key.tf32 = allow_tf32_conv();
  key.deterministic = deterministic();
  key.benchmark = benchmark();
  return key;
}

}  // namespace

bool convolve(const Convolution& c, std::string* why) {
  const ConvKey key = key_of(c);
  const cudnnHandle_t handle = handle_of(key.device);
  const Pointers pointers{c.x.raw_bytes(), c.w.raw_bytes(), c.y.raw_bytes(),
                          c.bias.defined() ? c.bias.raw_bytes() : nullptr};
  static thread_local PlanCache<ConvKey, std::unique_ptr<Plan>> plans(kPlans);
  const Plan& plan = *plans.find_or_make(key, [&] { return std::make_unique<Plan>(key, handle, pointers); });
  if (plan.engine()) {
    run(key, handle, *plan.engine(), pointers);
  } else if (why) {
    *why = plan.why() + " (" + to_string(key) + ")";
  }
  return plan.engine() != nullptr;
}

}  // namespace tandem::cuda
