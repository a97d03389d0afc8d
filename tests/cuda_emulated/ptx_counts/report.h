#pragma once
// The tables of docs/kernel_resources.md, "Instructions per element".
#include <functional>
#include <string>
#include <vector>

#include "cuda_emulated/ptx_counts/costs.h"

namespace tandem::ptx_counts {

/// What a row is compared with.
struct Least {
  double bytes = 0;            ///< that must be moved if each operand is accessed once, of one element
  double matrix_products = 0;  ///< of 16 x 8 x 16 elements, of one element
};

class Report {
 public:
  /// Adds a row with the kernels of `body` whose name begins with `kernel`. Throws StateError if there is none.
  void add(const std::string& what, const std::string& kernel, double elements, const Least& least,
           const std::function<void()>& body);
  /// Adds all kernels of `body`, a training step, as rows of a second table.
  void add_step(const std::string& what, const std::function<void()>& body);

  /// The tables, in Markdown; numbers of at least twice their minimum are bold.
  std::string ops() const;
  std::string steps() const;

 private:
  std::vector<std::string> ops_, steps_;
};

/// Replaces what the page has between <!-- name --> and <!-- end of name -->. Throws StateError if it lacks them.
void replace_table(const std::string& page, const std::string& name, const std::string& table);

}  // namespace tandem::ptx_counts
