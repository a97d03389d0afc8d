#pragma once
// Module: the text of a PTX file, and its kernels, each parsed when it is first asked for.
//
// Functions are copied into their callers: a kernel is then one list of instructions, and the lanes of a warp that meet
// again after a branch need no stack.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"
#include "ptx/tokens.h"

namespace tandem::ptx {

template <class T>
using ByName = std::map<std::string, T, std::less<>>;
/// Null if there is none.
template <class T>
const T* find(const ByName<T>& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

/// A variable's size. In PTX: .align 8 .b8 name[24]
struct Declaration {
  std::string name;
  size_t bytes = 0, alignment = 1;
};
Declaration take_declaration(Tokens& tokens);

/// A function or kernel that has been found and not yet parsed.
struct Routine {
  bool is_kernel = false;
  std::vector<Declaration> results, parameters;
  std::string_view body;  ///< from { to }
  int line = 0;           ///< of the body
};

class Module {
 public:
  /// Throws SyntaxError.
  Module(std::string text, std::string file);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& file() const { return file_; }
  const std::string& target() const { return target_; }  ///< "sm_90"
  std::vector<std::string> kernel_names() const;
  /// Throws SyntaxError, also for an instruction that the executor does not know.
  const Kernel& kernel(const std::string& name);

  // For the parser of bodies.
  const ByName<Routine>& routines() const { return routines_; }
  const ByName<Declaration>& shared_variables() const { return shared_; }
  /// Variables in global memory, with their initial values.
  const ByName<std::vector<std::byte>>& global_variables() const { return globals_; }

 private:
  void take_routine(Tokens& tokens, bool is_kernel);
  void take_global(Tokens& tokens);

  const std::string text_, file_;
  std::string target_;
  ByName<Routine> routines_;
  ByName<Declaration> shared_;
  ByName<std::vector<std::byte>> globals_;
  ByName<Kernel> kernels_;
};

}  // namespace tandem::ptx
