// Geometry of sizes and strides.
#include "tandem/base/shape.h"

#include "tandem/base/check.h"
#include "tandem/base/checked.h"

namespace tandem {
namespace {

[[noreturn]] void throw_too_many(IntArrayRef sizes) {
  const OpScope op("numel");
  TANDEM_THROW(ShapeError, "sizes {} have more elements than int64 can count; choose smaller ones", to_string(sizes));
}

}  // namespace

void Dims::rank_overflow() {
  const OpScope op("Dims");
  TANDEM_THROW(ShapeError, "the rank exceeds the limit of {}; reshape to fewer dimensions", kMaxRank);
}

int64_t numel_of(IntArrayRef sizes) {
  Checked n = 1;
  bool empty = false;
  for (int64_t s : sizes) {
    empty |= s == 0;
    n *= s != 0 ? s : 1;
  }
  if (!n.fits()) throw_too_many(sizes);
  return empty ? 0 : *n.value();
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(sizes.size(), 1);
  Checked step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = step.value_or(1);
    step *= sizes[d] > 1 ? sizes[d] : 1;  // sizes of 0 count as 1, as in PyTorch
  }
  if (!step.fits()) throw_too_many(sizes);
  return strides;
}

std::optional<int64_t> extent_of(IntArrayRef sizes, IntArrayRef strides) {
  Checked extent = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    extent += Checked(sizes[d] - 1) * strides[d];
  }
  return extent.value();
}

bool is_expanded(IntArrayRef sizes, IntArrayRef strides) {
  bool repeats = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    repeats |= strides[d] == 0 && sizes[d] > 1;
  }
  return repeats;
}

Dims channels_last_strides(IntArrayRef sizes) {
  const OpScope op("channels_last_strides");
  TANDEM_CHECK(sizes.size() == 4, ShapeError,
               "channels-last needs a tensor of rank 4 [N, C, H, W], got rank {} {}; use MemoryFormat::Contiguous",
               sizes.size(), to_string(sizes));
  Dims strides(4, 1);
  Checked step = 1;
  for (size_t d : {1, 3, 2, 0}) {
    strides[d] = step.value_or(1);
    step *= sizes[d] > 1 ? sizes[d] : 1;
  }
  if (!step.fits()) throw_too_many(sizes);
  return strides;
}

Dims broadcast_shapes(IntArrayRef a, IntArrayRef b) {
  const size_t rank = a.size() > b.size() ? a.size() : b.size();
  Dims out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // i counts from the last dimension
    const int64_t sa = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t sb = i < b.size() ? b[b.size() - 1 - i] : 1;
    TANDEM_CHECK(sa == sb || sa == 1 || sb == 1, ShapeError,
                 "shapes {} and {} do not broadcast: sizes {} and {} at dimension {}; they must be equal or 1",
                 to_string(a), to_string(b), sa, sb, rank - 1 - i);
    out[rank - 1 - i] = sa == 1 ? sb : sa;
  }
  return out;
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t n = rank > 0 ? rank : 1;
  TANDEM_CHECK(dim >= -n && dim < n, IndexError,
               "dimension {} is out of range for a tensor of rank {}; use one in [{}, {}]", dim, rank, -n, n - 1);
  return dim < 0 ? dim + n : dim;
}

std::string to_string(IntArrayRef values) { return fmt::format("[{}]", fmt::join(values.begin(), values.end(), ", ")); }

}  // namespace tandem
