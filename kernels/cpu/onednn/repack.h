#pragma once
// Copies of weights between a plain layout and one of oneDNN's blocked layouts.
#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "tandem/base/dtype.h"
#include "tandem/base/shape.h"

namespace tandem::cpu::products {

/// A copy between two layouts of the same numbers, bit by bit. oneDNN 3.2's own reorder of 16-bit weights is several
/// times slower: it moves them through f32.
class Repack {
 public:
  /// Returns nothing if the layouts need padding or more dimensions than a tensor has.
  static std::optional<Repack> make(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  void run(void* to, void* from) const;

 private:
  DType unit_ = kFloat;  ///< of the size of what is moved as a whole: an element, or a pair of 16-bit elements
  Dims sizes_, to_strides_, from_strides_;
};

}  // namespace tandem::cpu::products
