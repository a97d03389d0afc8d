// The engine, and each thread's LRU cache of primitives.
#include "kernels/cpu/onednn/primitives.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/cpu/busy_machine.h"
#include "kernels/cpu/parallel.h"
#include "tandem/base/check.h"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace tandem::cpu::products {
namespace {

constexpr size_t kMaxPlans = 1024;

dnnl::engine make_engine() {
#if defined(__x86_64__)
  // oneDNN 3.2 uses AMX's f16 instructions only on request. A limit set in the environment is respected.
  if (!std::getenv("ONEDNN_MAX_CPU_ISA") && !std::getenv("DNNL_MAX_CPU_ISA")) {
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_amx_fp16);
  }
#endif
  return {dnnl::engine::kind::cpu, 0};
}

struct Library {
  dnnl::engine engine = make_engine();
  const int isa = static_cast<int>(dnnl::get_effective_cpu_isa());
};

Library& library() {
  static Library& library = *new Library;  // never destroyed: static destructors use it
  return library;
}

// A primitive is prepared for a number of threads.
int threads_here() {
#if defined(_OPENMP)
  if (omp_in_parallel()) return 1;
#endif
  return get_num_threads();
}

struct HashKey {
  size_t operator()(const Key& key) const { return key.hash(); }
};

// One cache per thread, since a thread's oneDNN primitives share a scratchpad.
struct PlanCache {
  std::list<std::pair<const Key*, Plan>> plans;  // most recently used first; the keys are in `index`
  std::unordered_map<Key, decltype(plans)::iterator, HashKey> index;
};

/// Set when this thread's cache is destroyed. Destructors of its other objects may call ops later.
constinit thread_local bool thread_ends = false;

struct OfThread {
  ~OfThread() { thread_ends = true; }
  dnnl::stream stream{engine()};
  PlanCache cache;
};

OfThread& of_thread() {
  static thread_local OfThread of_thread;
  return of_thread;
}

[[noreturn]] void fail(dnnl_status_t status, const char* what, const char* why) {
  TANDEM_CHECK(status != dnnl_out_of_memory, OutOfMemoryError,
               "oneDNN ran out of memory while trying to {}; free tensors, or use smaller ones", what);
  TANDEM_THROW(BackendError, "oneDNN failed to {} (status {}{}{})", what, static_cast<int>(status), *why ? ": " : "",
               why);
}

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) [[unlikely]]
    fail(status, what, "");
}

/// oneDNN 3.2 must not run out of memory for generated code. The error of its code generator is per thread and never
/// cleared, so that no primitive can be made on that thread any more; and some convolutions are made and cached without
/// their code, so that they crash. Therefore a primitive is made only if this much memory is left: several times what
/// the code of the largest takes.
constexpr size_t kMemoryForCode = 16 << 20;

bool has_memory_for_code() {
  void* block = ::mmap(nullptr, kMemoryForCode, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block != MAP_FAILED && ::munmap(block, kMemoryForCode) == 0;
}

#if !defined(__x86_64__)
/// Whether oneDNN multiplies small matrices of a 16-bit dtype fast. Its gemm:jit:bf16 is not: on ARM that is portable
/// loops without the bf16 instructions of the processor.
bool has_fast_product(DType dtype) {
  const dnnl::memory::desc square({64, 64}, type_of(dtype), dnnl::memory::format_tag::ab);
  const dnnl::matmul::primitive_desc pd(engine(), square, square, square, {}, true);
  return is_fast(pd) && !std::string_view(pd.impl_info_str()).starts_with("gemm");
}
#endif

}  // namespace

dnnl::engine& engine() { return library().engine; }

bool has_isa(dnnl::cpu_isa isa) { return (library().isa & static_cast<int>(isa)) == static_cast<int>(isa); }

CpuProductLibrary describe() {
  // From the least to the most.
  constexpr std::pair<dnnl::cpu_isa, const char*> kIsas[] = {
      {dnnl::cpu_isa::sse41, "sse41"},
      {dnnl::cpu_isa::avx, "avx"},
      {dnnl::cpu_isa::avx2, "avx2"},
      {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
      {dnnl::cpu_isa::avx2_vnni_2, "avx2_vnni_2"},
      {dnnl::cpu_isa::avx512_core, "avx512_core"},
      {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
      {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
      {dnnl::cpu_isa::avx512_core_fp16, "avx512_core_fp16"},
      {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
      {dnnl::cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16"},
  };
  const char* most = "";
  for (const auto& [isa, name] : kIsas) {
    if (has_isa(isa)) most = name;
  }
  const dnnl_version_t* const v = dnnl_version();
  return {"oneDNN", fmt::format("{}.{}.{}", v->major, v->minor, v->patch), most};
}

bool computes_in(DType dtype) {
#if defined(__x86_64__)
  if (dtype == DType::BF16) return has_isa(dnnl::cpu_isa::avx512_core_bf16);  // else emulated: slower than f32
  if (dtype == DType::F16) return has_isa(dnnl::cpu_isa::avx512_core_fp16);
#else
  static const bool bf16 = has_fast_product(DType::BF16), f16 = has_fast_product(DType::F16);
  if (dtype == DType::BF16) return bf16;
  if (dtype == DType::F16) return f16;
#endif
  return dtype == DType::F32;
}

int relative_rate(DType dtype) {
  if (!is_reduced_floating_point(dtype) || !computes_in(dtype)) return 1;
#if defined(__x86_64__)
  if (has_isa(dtype == kHalf ? dnnl::cpu_isa::avx512_core_amx_fp16 : dnnl::cpu_isa::avx512_core_amx)) return 16;
#endif
  return 2;
}

dnnl::memory::data_type type_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return dnnl::memory::data_type::f32;
    case DType::F16:
      return dnnl::memory::data_type::f16;
    case DType::BF16:
      return dnnl::memory::data_type::bf16;
    case DType::I32:
      return dnnl::memory::data_type::s32;
    case DType::U8:
      return dnnl::memory::data_type::u8;
    default:
      return dnnl::memory::data_type::undef;
  }
}

dnnl::memory::desc desc_of(const Array& array) {
  return {dnnl::memory::dims(array.sizes.begin(), array.sizes.begin() + array.rank), type_of(array.dtype),
          dnnl::memory::dims(array.strides.begin(), array.strides.begin() + array.rank)};
}

Key::Key(Op op) {
  add(static_cast<int64_t>(op));
  add(threads_here());
}

void Key::add(const Array& array) {
  add(array.rank << 8 | static_cast<int64_t>(array.dtype));
  for (int d = 0; d < array.rank; ++d) {
    add(array.sizes[d]);
    add(array.strides[d]);
  }
}

void Key::add(const ConvParams& p) {
  for (size_t d = 0; d < p.stride.size(); ++d) {
    add(p.stride[d]);
    add(p.padding[d]);
    add(p.dilation[d]);
  }
  add(p.groups);
}

size_t Key::hash() const {
  uint64_t h = size_;
  for (size_t i = 0; i < size_; ++i) {
    h = (h ^ static_cast<uint64_t>(words_[i])) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

bool operator==(const Key& a, const Key& b) {
  return a.size_ == b.size_ && std::memcmp(a.words_, b.words_, a.size_ * sizeof(a.words_[0])) == 0;
}

Call::Call(dnnl::primitive primitive, std::initializer_list<Argument> arguments) : primitive_(std::move(primitive)) {
  for (const Argument& argument : arguments) {
    memories_.emplace_back(argument.desc, engine(), static_cast<void*>(DNNL_MEMORY_NONE));
    arguments_.push_back({argument.index, memories_.back().get()});
  }
}

void Call::run(std::initializer_list<void*> data) const {
  note_parallel_work();
  // Uses the C functions: the C++ ones build a hash map per call.
  auto pointer = data.begin();
  for (const dnnl_exec_arg_t& argument : arguments_) {
    check(dnnl_memory_set_data_handle(argument.memory, *pointer++), "set an argument");
  }
  check(dnnl_primitive_execute(primitive_.get(), of_thread().stream.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "run a primitive");
  if (!has_run_) end_calls_before_static_objects();  // without AVX-512, the code of f32 products is such an object
  has_run_ = true;
}

Running::operator bool() const { return call_ && !thread_ends; }

const Plan& find_plan(const Key& key, Plan (*make)(void* context), void* context) {
  PlanCache& cache = of_thread().cache;
  if (auto found = cache.index.find(key); found != cache.index.end()) {
    cache.plans.splice(cache.plans.begin(), cache.plans, found->second);
    return found->second->second;
  }
  if (!has_memory_for_code()) fail(dnnl_out_of_memory, "create a primitive", "");
  Plan plan;
  try {
    plan = make(context);
  } catch (const dnnl::error& error) {
    fail(error.status, "create a primitive", error.what());
  }
  end_calls_before_static_objects();
  if (cache.plans.size() == kMaxPlans) {
    cache.index.erase(*cache.plans.back().first);
    cache.plans.pop_back();
  }
  cache.plans.emplace_front(nullptr, std::move(plan));
  cache.plans.front().first = &cache.index.emplace(key, cache.plans.begin()).first->first;
  return cache.plans.front().second;
}

bool is_fast(const char* implementation) {
  const std::string_view name(implementation);
  return name.find("ref") == name.npos && name.find("simple") == name.npos;
}

void Plan::pack(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  if (from == to) return;
  packed_bytes = std::max(from.get_size(), to.get_size());
  copy_ = Repack::make(from, to);
  if (copy_) return;
  const dnnl::reorder::primitive_desc pd(engine(), from, engine(), to);
  reorder_ = {dnnl::reorder(pd), {{DNNL_ARG_TO, to}, {DNNL_ARG_FROM, from}}};
}

void Plan::repack(void* to, void* from) const {
  if (copy_) return copy_->run(to, from);
  reorder_.run({to, from});
}

bool reorder(const Array& dst, const Array& src) {
  if (dst.rank == 0 || type_of(dst.dtype) == dnnl::memory::data_type::undef) return false;
  // oneDNN 3.2 moves 16-bit numbers through f32: slowly for f16, and for bf16 with instructions that flush subnormal
  // numbers to 0.
  if (is_reduced_floating_point(dst.dtype)) return false;
  const Running running;
  if (!running) return false;
  Key key(Key::Op::reorder);
  key.add(dst);
  key.add(src);
  const Plan& plan = find_plan(key, [&] {
    const dnnl::memory::desc source = desc_of(src), target = desc_of(dst);
    const dnnl::reorder::primitive_desc pd(engine(), source, engine(), target, {}, true);
    if (!is_fast(pd)) return Plan();
    return Plan({dnnl::reorder(pd), {{DNNL_ARG_TO, target}, {DNNL_ARG_FROM, source}}});
  });
  if (!plan.main) return false;
  plan.main.run({dst.data, src.data});
  return true;
}

}  // namespace tandem::cpu::products
