// Tensor methods that forward to the ops of rearrange.h, split.h, join.h, diagonal.h and random.h.
#include "tandem/ops/diagonal.h"
#include "tandem/ops/join.h"
#include "tandem/ops/random.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/shape.h"
#include "tandem/ops/split.h"

namespace tandem {

Tensor Tensor::squeeze(IntArrayRef dims) const { return tandem::squeeze(*this, dims); }
Tensor Tensor::broadcast_to(IntArrayRef sizes) const { return tandem::broadcast_to(*this, sizes); }
std::vector<Tensor> Tensor::split(int64_t split_size, int64_t dim) const {
  return tandem::split(*this, split_size, dim);
}
std::vector<Tensor> Tensor::split(IntArrayRef split_sizes, int64_t dim) const {
  return tandem::split(*this, split_sizes, dim);
}
std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef split_sizes, int64_t dim) const {
  return tandem::split_with_sizes(*this, split_sizes, dim);
}
std::vector<Tensor> Tensor::tensor_split(int64_t sections, int64_t dim) const {
  return tandem::tensor_split(*this, sections, dim);
}
std::vector<Tensor> Tensor::tensor_split(IntArrayRef indices, int64_t dim) const {
  return tandem::tensor_split(*this, indices, dim);
}
std::vector<Tensor> Tensor::tensor_split(const Tensor& indices_or_sections, int64_t dim) const {
  return tandem::tensor_split(*this, indices_or_sections, dim);
}
std::vector<Tensor> Tensor::hsplit(int64_t sections) const { return tandem::hsplit(*this, sections); }
std::vector<Tensor> Tensor::hsplit(IntArrayRef indices) const { return tandem::hsplit(*this, indices); }
std::vector<Tensor> Tensor::vsplit(int64_t sections) const { return tandem::vsplit(*this, sections); }
std::vector<Tensor> Tensor::vsplit(IntArrayRef indices) const { return tandem::vsplit(*this, indices); }
std::vector<Tensor> Tensor::dsplit(int64_t sections) const { return tandem::dsplit(*this, sections); }
std::vector<Tensor> Tensor::dsplit(IntArrayRef indices) const { return tandem::dsplit(*this, indices); }
std::vector<Tensor> Tensor::unbind(int64_t dim) const { return tandem::unbind(*this, dim); }
Tensor Tensor::flip(IntArrayRef dims) const { return tandem::flip(*this, dims); }
Tensor Tensor::fliplr() const { return tandem::fliplr(*this); }
Tensor Tensor::flipud() const { return tandem::flipud(*this); }
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const { return tandem::roll(*this, shifts, dims); }
Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const { return tandem::rot90(*this, k, dims); }
Tensor Tensor::repeat(IntArrayRef repeats) const { return tandem::repeat(*this, repeats); }
Tensor Tensor::tile(IntArrayRef repeats) const { return tandem::tile(*this, repeats); }
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim,
                                 std::optional<int64_t> /*output_size*/) const {
  return tandem::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim,
                                 std::optional<int64_t> /*output_size*/) const {
  return tandem::repeat_interleave(*this, repeats, dim);
}
Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination) const {
  return tandem::movedim(*this, source, destination);
}
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
  return tandem::movedim(*this, source, destination);
}
Tensor Tensor::moveaxis(IntArrayRef source, IntArrayRef destination) const {
  return tandem::moveaxis(*this, source, destination);
}
Tensor Tensor::moveaxis(int64_t source, int64_t destination) const {
  return tandem::moveaxis(*this, source, destination);
}
Tensor Tensor::swapaxes(int64_t axis0, int64_t axis1) const { return tandem::swapaxes(*this, axis0, axis1); }
Tensor Tensor::swapdims(int64_t dim0, int64_t dim1) const { return tandem::swapdims(*this, dim0, dim1); }
Tensor Tensor::unflatten(int64_t dim, IntArrayRef sizes) const { return tandem::unflatten(*this, dim, sizes); }
Tensor Tensor::ravel() const { return tandem::ravel(*this); }
Tensor Tensor::narrow_copy(int64_t dim, int64_t start, int64_t length) const {
  return tandem::narrow_copy(*this, dim, start, length);
}
Tensor Tensor::unfold(int64_t dim, int64_t size, int64_t step) const { return tandem::unfold(*this, dim, size, step); }
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return tandem::select_scatter(*this, src, dim, index);
}
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                             int64_t step) const {
  return tandem::slice_scatter(*this, src, dim, start, end, step);
}
Tensor Tensor::tril(int64_t diagonal) const { return tandem::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return tandem::triu(*this, diagonal); }
Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diagonal(*this, offset, dim1, dim2);
}
Tensor Tensor::diag(int64_t diagonal) const { return tandem::diag(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diag_embed(*this, offset, dim1, dim2);
}
Tensor Tensor::diagflat(int64_t offset) const { return tandem::diagflat(*this, offset); }
Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diagonal_scatter(*this, src, offset, dim1, dim2);
}
Tensor Tensor::trace() const { return tandem::trace(*this); }
Tensor Tensor::bernoulli(std::optional<Generator> generator) const { return tandem::bernoulli(*this, generator); }
Tensor Tensor::bernoulli(double p, std::optional<Generator> generator) const {
  return tandem::bernoulli(*this, p, generator);
}
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, std::optional<Generator> generator) const {
  return tandem::multinomial(*this, num_samples, replacement, generator);
}

}  // namespace tandem
