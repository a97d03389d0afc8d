// Tensor::index and related functions, composed of view ops, so that autograd records them.
#include "tandem/tensor/indexing.h"

#include <cstring>

#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"

namespace tandem {
namespace indexing {

TensorIndex::TensorIndex(const char* text) : kind(Kind::ellipsis) {
  const OpScope op("index");
  TANDEM_CHECK(text && std::strcmp(text, "...") == 0, StateError,
               "invalid text index '{}'; the only one is \"...\", for Ellipsis", text ? text : "null");
}

}  // namespace indexing

namespace {

using indexing::TensorIndex;
using Kind = TensorIndex::Kind;
using Indices = ArrayRef<TensorIndex>;

// The number of dimensions of x that the indices use, without Ellipsis.
int64_t check_indices(const Tensor& x, Indices indices) {
  checks::defined("the input", x);
  TANDEM_CHECK(!indices.empty(), IndexError, "the list of indices is empty; {{\"...\"}} takes the whole tensor {}",
               to_string(x.sizes()));
  int64_t named = 0, ellipses = 0;
  for (const TensorIndex& i : indices) {
    if (i.kind == Kind::tensor) checks::defined("an index", i.tensor);
    const bool number = i.kind == Kind::tensor && i.tensor.dim() == 0 && is_integral(i.tensor.dtype(), false);
    TANDEM_CHECK(i.kind != Kind::boolean, NotImplementedError,
                 "bool indices are not supported yet; use None for a new dimension, or where() for a mask");
    TANDEM_CHECK(i.kind != Kind::tensor || number, NotImplementedError,
                 "{} {} as an index is not supported yet; use where() for a mask, index_select() or gather() for "
                 "indices",
                 to_string(i.tensor.sizes()), name(i.tensor.dtype()));
    named += i.kind == Kind::integer || i.kind == Kind::slice || i.kind == Kind::tensor;
    ellipses += i.kind == Kind::ellipsis;
  }
  TANDEM_CHECK(ellipses <= 1, IndexError, "{} Ellipsis in one list of indices; use at most one", ellipses);
  TANDEM_CHECK(named <= x.dim(), IndexError, "{} indices for a tensor of rank {} {}; use fewer", named, x.dim(),
               to_string(x.sizes()));
  return named;
}

// The view described by the indices; x itself if they do not change it.
Tensor view_of(const Tensor& x, Indices indices) {
  const int64_t named = check_indices(x, indices);
  Tensor y = x;
  int64_t dim = 0;  // the dimension of y for the next index
  for (const TensorIndex& i : indices) {
    switch (i.kind) {
      case Kind::none:
        y = unsqueeze(y, dim++);
        break;
      case Kind::ellipsis:
        dim += x.dim() - named;
        break;
      case Kind::integer:
        y = select(y, dim, i.integer);
        break;
      case Kind::tensor:
        y = select(y, dim, i.tensor.item<int64_t>());
        break;
      case Kind::slice:
        if (i.slice.start() || i.slice.stop() || i.slice.step() != 1) {
          y = slice(y, dim, i.slice.start(), i.slice.stop(), i.slice.step());
        }
        ++dim;
        break;
      case Kind::boolean:
        break;  // rejected above
    }
  }
  return y;
}

Tensor read(const Tensor& x, Indices indices) {
  const OpScope op("index");
  const Tensor y = view_of(x, indices);
  return y.is_same(x) ? view(x, x.sizes()) : y;  // a new tensor, as with any other index
}

void write(const Tensor& x, Indices indices, const Tensor& value) {
  const OpScope op("index_put_");
  checks::defined("the value", value);
  const Tensor y = view_of(x, indices);
  Tensor v = value;
  while (v.dim() > y.dim() && v.size(0) == 1) v = tandem::select(v, 0, 0);  // [1, 3] may be written to [3]
  y.copy_(v);
}

void write(const Tensor& x, Indices indices, Scalar value) {
  const OpScope op("index_put_");
  view_of(x, indices).fill_(value);
}

}  // namespace

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return read(*this, Indices(indices)); }
Tensor Tensor::index(const std::vector<TensorIndex>& indices) const { return read(*this, Indices(indices)); }

const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value) const {
  write(*this, Indices(indices), value);
  return *this;
}
const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const Tensor& value) const {
  write(*this, Indices(indices), value);
  return *this;
}
const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, Scalar value) const {
  write(*this, Indices(indices), value);
  return *this;
}
const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, Scalar value) const {
  write(*this, Indices(indices), value);
  return *this;
}

Tensor Tensor::operator[](int64_t i) const {
  const OpScope op("operator[]");
  TANDEM_CHECK(dim() > 0, IndexError, "a tensor of rank 0 has no index {}; item() gives its value", i);
  return tandem::select(*this, 0, i);
}

}  // namespace tandem
