#include "kernels/cuda/conv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kernels/cuda/choice.h"
#include "kernels/cuda/conv_graph.h"
#include "kernels/cuda/gemm_key.h"
#include "kernels/cuda/plan_cache.h"
#include "kernels/cuda/runtime.h"
#include "tandem/base/of_thread.h"
#include "tandem/cuda/math_mode.h"
#include "tandem/tensor/factories.h"

namespace tandem::cuda {
namespace {

constexpr size_t kPlans = 1024;
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

/// What cuDNN says of an engine.
struct Notes {
  bool allowed = true;  ///< it keeps the contract: f32 sums, factors not rounded, TF32 and nondeterminism as asked for
  bool has_tensor_cores = false;
};

Notes notes_of(const ConvKey& key, const Descriptor& config) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.raw();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  Notes result;
  for (int64_t i = 0; i < count; ++i) {
    switch (notes[i]) {
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        result.allowed = false;
        break;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        if (key.deterministic) result.allowed = false;
        break;
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        result.has_tensor_cores = true;
        if (key.x == kFloat && key.w == kFloat && key.y == kFloat && !key.tf32) result.allowed = false;
        break;
      default:
        break;
    }
  }
  return result;
}

/// Whether engines with tensor cores come before the others: the heuristic sometimes prefers one that computes in f32
/// (for example the gradient of an image of 32 channels on a T4). With fewer than 8 channels in a group tensor cores
/// would mostly multiply padding, and the heuristic's order stays.
bool prefers_tensor_cores(const ConvKey& key) {
  const int64_t groups = key.x_sizes[1] / key.w_sizes[1];
  return is_reduced_floating_point(key.x) && key.w_sizes[1] >= 8 && key.w_sizes[0] / groups >= 8;
}

/// The allowed ones of `configs`, in the order in which they are to be tried.
std::vector<Descriptor> in_order(const ConvKey& key, std::vector<Descriptor>&& configs) {
  std::vector<Descriptor> first, rest;
  const bool by_note = prefers_tensor_cores(key);
  for (Descriptor& config : configs) {
    try {
      const Notes notes = notes_of(key, config);
      if (notes.allowed) (by_note && !notes.has_tensor_cores ? rest : first).push_back(std::move(config));
    } catch (const DnnRefusal&) {  // without notes, nobody knows what it would do
    }
  }
  std::move(rest.begin(), rest.end(), std::back_inserter(first));
  return first;
}

/// An engine that is ready to run.
struct Engine {
  Descriptor config, plan;
  int64_t workspace_bytes;
};

std::optional<Engine> make_engine(cudnnHandle_t handle, Descriptor&& config) {
  try {
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

/// The graph of a key and the engine chosen for it.
class Plan {
 public:
  Plan(const ConvKey& key, cudnnHandle_t handle) : key_(key), handle_(handle) {}

  /// Returns false if there is no engine or `apart` is to be used instead.
  bool run(const Pointers& pointers, const std::function<void()>& apart) {
    try {
      return choice_.run(Ways{*this, pointers, apart}, benchmark());
    } catch (const BackendError& error) {  // no engine works; perhaps the caller knows another way
      why_ = error.message();
      return false;
    }
  }
  const std::string& why() const { return why_; }

 private:
  struct Ways {
    Plan& plan;
    const Pointers& pointers;
    const std::function<void()>& apart;

    bool has_alternative() const { return static_cast<bool>(apart); }
    bool can_decide() const { return true; }
    std::vector<Engine> find(size_t most) const { return plan.find(most); }
    void run(const Engine& engine) const { cuda::run(plan.key_, plan.handle_, engine, pointers); }
    std::optional<size_t> fastest(const std::vector<Engine>& engines) const {
      return fastest_of(engines.size() + (apart ? 1 : 0),
                        [&](size_t i) { i < engines.size() ? run(engines[i]) : apart(); });
    }
  };

  /// Returns up to `most` engines, best first: those that need little workspace, then the others. If there is none,
  /// `why_` holds the reason.
  std::vector<Engine> find(size_t most) {
    std::vector<Engine> engines, greedy;
    try {
      if (!graph_) graph_ = operation_graph(key_, handle_, parts_);
      const auto mode = key_.fallback ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A;
      for (Descriptor& config : in_order(key_, engine_configs(*graph_, mode))) {
        if (engines.size() == most) break;
        std::optional<Engine> engine = make_engine(handle_, std::move(config));
        if (engine) (engine->workspace_bytes <= kMostWorkspace ? engines : greedy).push_back(std::move(*engine));
      }
      why_ = "no engine meets the requirements";
    } catch (const DnnRefusal& refusal) {
      char reason[512] = "";
      ::cudnnGetLastErrorString(reason, sizeof(reason));
      why_ = fmt::format("{}: {} {}", refusal.call, ::cudnnGetErrorString(refusal.status), reason);
    }
    if (engines.empty() || most == kAllCandidates) std::move(greedy.begin(), greedy.end(), std::back_inserter(engines));
    if (engines.size() > most) engines.erase(engines.begin() + static_cast<std::ptrdiff_t>(most), engines.end());
    return engines;
  }

  ConvKey key_;
  cudnnHandle_t handle_;
  std::vector<Descriptor> parts_;  ///< of the graph; kept as long as the engines
  std::optional<Descriptor> graph_;
  Choice<Engine> choice_;
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
  key.channels_last = c.channels_last;
  key.fallback = c.fallback;
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
