#pragma once
// ForwardHooks: the functions that a module calls before and after its forward().
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/tensor/tensor.h"

#pragma GCC visibility push(default)
namespace tandem::nn {

class Module;

/// Called before forward() with the tensors among its arguments (those in vectors one by one, absent ones undefined),
/// which it may replace.
using ForwardPreHook = std::function<void(Module& module, std::vector<Tensor>& inputs)>;
/// Called after forward() with the tensors in its result, which it may replace.
using ForwardHook =
    std::function<void(Module& module, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs)>;

/// An immutable list of hooks, so that a call may change the hooks of its module.
class ForwardHooks {
 public:
  /// A hook, its name and the handle that removes it.
  struct Entry {
    unsigned handle;
    std::string name;       // may be empty
    ForwardPreHook before;  // either this or `after` is empty
    ForwardHook after;
  };

  explicit ForwardHooks(std::vector<Entry> entries) : entries_(std::move(entries)) {}
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace tandem::nn
#pragma GCC visibility pop
