#include "kernels/cpu/onednn/repack.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "tandem/tensor/factories.h"

namespace tandem::cpu::products {
namespace {

using Desc = dnnl::memory::desc;

/// A dimension of both layouts, after blocks have become dimensions of their own.
struct Loop {
  int64_t size, to, from;
};

bool is_padded(const Desc& desc) { return desc.get_dims() != desc.get_padded_dims(); }

/// The strides of the plain layout for the loops over the blocks of the other.
std::vector<Loop> loops_of(const Desc& blocked, const Desc& plain) {
  const auto sizes = blocked.get_dims(), strides = blocked.get_strides(), plain_strides = plain.get_strides();
  const auto blocks = blocked.get_inner_blks(), owners = blocked.get_inner_idxs();
  std::vector<int64_t> inside(sizes.size(), 1);  // by dimension: the product of its blocks further inside
  std::vector<Loop> loops;
  int64_t stride = 1;
  for (size_t b = blocks.size(); b-- > 0;) {
    const auto d = static_cast<size_t>(owners[b]);
    loops.push_back({blocks[b], stride, plain_strides[d] * inside[d]});
    inside[d] *= blocks[b];
    stride *= blocks[b];
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    loops.push_back({sizes[d] / inside[d], strides[d], plain_strides[d] * inside[d]});
  }
  return loops;
}

/// Moves pairs of 16-bit elements as one, if they are neighbours in both layouts. Returns whether they are.
bool pair_up(std::vector<Loop>& loops) {
  const auto pair = std::find_if(loops.begin(), loops.end(), [](const Loop& l) { return l.to == 1 && l.from == 1; });
  if (pair == loops.end() || pair->size % 2 != 0) return false;
  for (auto l = loops.begin(); l != loops.end(); ++l) {
    if (l != pair && (l->to % 2 != 0 || l->from % 2 != 0)) return false;
  }
  for (Loop& l : loops) {
    l.to /= 2;
    l.from /= 2;
  }
  *pair = {pair->size / 2, 1, 1};
  return true;
}

}  // namespace

std::optional<Repack> Repack::make(const Desc& from, const Desc& to) {
  if (from.get_format_kind() != dnnl::memory::format_kind::blocked ||
      to.get_format_kind() != dnnl::memory::format_kind::blocked || is_padded(from) || is_padded(to) ||
      from.get_data_type() != to.get_data_type()) {
    return {};
  }
  const bool to_plain = to.get_inner_nblks() == 0;
  if (!to_plain && from.get_inner_nblks() != 0) return {};
  std::vector<Loop> loops = to_plain ? loops_of(from, to) : loops_of(to, from);
  if (to_plain) {
    for (Loop& l : loops) std::swap(l.to, l.from);
  }
  std::erase_if(loops, [](const Loop& l) { return l.size == 1; });
  if (loops.size() > kMaxRank) return {};
  Repack repack;
  const size_t width = dnnl::memory::data_type_size(from.get_data_type());
  if (width == 2) {
    repack.unit_ = pair_up(loops) ? kFloat : kHalf;
  } else if (width != 4) {
    return {};
  }
  for (const Loop& l : loops) {
    repack.sizes_.push_back(l.size);
    repack.to_strides_.push_back(l.to);
    repack.from_strides_.push_back(l.from);
  }
  return repack;
}

void Repack::run(void* to, void* from) const {
  const TensorOptions options(unit_);
  copy(from_blob(to, sizes_, to_strides_, options), from_blob(from, sizes_, from_strides_, options));
}

}  // namespace tandem::cpu::products
