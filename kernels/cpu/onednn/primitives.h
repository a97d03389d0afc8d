#pragma once
// Shared by the files of this folder: the engine, descriptors, and each thread's cache of primitives.
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/library_call.h"
#include "kernels/cpu/onednn/repack.h"
#include "kernels/cpu/products.h"

namespace tandem::cpu::products {

dnnl::engine& engine();
/// Whether oneDNN may use these instructions of an x86-64 processor.
bool has_isa(dnnl::cpu_isa isa);
dnnl::memory::data_type type_of(DType dtype);
dnnl::memory::desc desc_of(const Array& array);

/// Identifies a primitive.
class Key {
 public:
  enum class Op : uint8_t {
    matmul,
    matmul_packed,
    linear_backward_weight,
    convolution,
    backward_data,
    backward_weight,
    reorder
  };
  explicit Key(Op op);
  void add(int64_t value) { words_[size_++] = value; }
  void add(const Array& array);
  void add(const ConvParams& p);
  size_t hash() const;
  friend bool operator==(const Key& a, const Key& b);

 private:
  static constexpr size_t kMaxWords = 60;  // four arrays of rank 5, convolution parameters and a few more
  size_t size_ = 0;
  int64_t words_[kMaxWords];
};

/// A primitive and its arguments, ready to run on other data. Empty: nothing to run.
class Call {
 public:
  struct Argument {
    int index;  ///< DNNL_ARG_...
    dnnl::memory::desc desc;
  };
  Call() = default;
  Call(dnnl::primitive primitive, std::initializer_list<Argument> arguments);
  explicit operator bool() const { return static_cast<bool>(primitive_); }
  /// `data`: one pointer per argument, in order; extra pointers are ignored. Throws BackendError.
  void run(std::initializer_list<void*> data) const;

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  mutable bool has_run_ = false;
};

/// The primitives that one call of this backend runs. `main` is empty if oneDNN refused.
struct Plan {
  Plan() = default;
  explicit Plan(Call call) : main(std::move(call)) {}

  Call main;
  size_t packed_bytes = 0;  ///< size of the weights in `main`'s layout; 0 if that is the plain one
  /// The layout itself, for weights that are packed once for several calls.
  std::shared_ptr<const dnnl::memory::desc> packed = {};

  /// Prepares repack() if the layouts differ.
  void pack(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  bool repacks() const { return packed_bytes > 0; }
  /// Copies weights from the plain layout to `main`'s, or back.
  void repack(void* to, void* from) const;

 private:
  std::optional<Repack> copy_;
  Call reorder_;  ///< where there is no copy
};

/// A call of oneDNN. False if the process or the thread has ended oneDNN's state: nothing may be run.
class Running {
 public:
  explicit operator bool() const;

 private:
  LibraryCall call_;
};

/// Returns the thread's plan for `key`, created by `make` at the first call. Valid until the thread's next find_plan.
/// For use under a Running object that is true, as are the plan's calls.
const Plan& find_plan(const Key& key, Plan (*make)(void* context), void* context);
template <class Make>
const Plan& find_plan(const Key& key, Make&& make) {
  return find_plan(
      key, [](void* context) { return (*static_cast<std::remove_reference_t<Make>*>(context))(); }, &make);
}

/// Whether this implementation, given by name, is fast enough to use.
bool is_fast(const char* implementation);
/// Whether `pd` describes a fast implementation.
template <class PrimitiveDesc>
bool is_fast(const PrimitiveDesc& pd) {
  return pd && is_fast(pd.impl_info_str());
}

}  // namespace tandem::cpu::products
