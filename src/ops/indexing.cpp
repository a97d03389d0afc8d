// Tensor::index and related functions, composed of view ops and the index ops, so that autograd records them.
#include "tandem/tensor/indexing.h"

#include <cstring>

#include "tandem/base/check.h"
#include "tandem/ops/advanced_index.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/shape.h"
#include "tandem/tensor/factories.h"

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

bool is_number(const Tensor& t) {
  return t.dim() == 0 && is_integral(t.dtype(), false) && t.dtype() != kByte;  // u8 is refused: it may mean a mask
}

/// How many dimensions of x an index stands for; -1 for Ellipsis.
int64_t dims_of(const TensorIndex& i) {
  switch (i.kind) {
    case Kind::none:
    case Kind::boolean:
      return 0;
    case Kind::ellipsis:
      return -1;
    case Kind::tensor:
      return i.tensor.dtype() == kBool ? i.tensor.dim() : 1;
    default:
      return 1;
  }
}

// The number of dimensions of x that the indices use, without Ellipsis.
int64_t check_indices(const Tensor& x, Indices indices) {
  checks::defined("the input", x);
  TANDEM_CHECK(!indices.empty(), IndexError, "the list of indices is empty; {{\"...\"}} takes the whole tensor {}",
               to_string(x.sizes()));
  int64_t named = 0, ellipses = 0;
  for (const TensorIndex& i : indices) {
    if (i.kind == Kind::tensor) checks::defined("an index", i.tensor);
    i.kind == Kind::ellipsis ? ++ellipses : named += dims_of(i);
  }
  TANDEM_CHECK(ellipses <= 1, IndexError, "{} Ellipsis in one list of indices; use at most one", ellipses);
  TANDEM_CHECK(named <= x.dim(), IndexError, "{} indices for a tensor of rank {} {}; use fewer", named, x.dim(),
               to_string(x.sizes()));
  return named;
}

/// Indices split into those that make a view and those that select from it.
struct Selection {
  Tensor view;  ///< x itself if no index changes it
  std::vector<std::optional<Tensor>> tensors;
  int64_t covered = 0;  ///< dimensions of the view that `tensors` stand for

  void select(int64_t dim, const Tensor& index) {
    for (; covered < dim; ++covered) tensors.emplace_back();
    tensors.emplace_back(index);
    covered += index.dtype() == kBool ? index.dim() : 1;
  }
};

Selection selection_of(const Tensor& x, Indices indices) {
  const int64_t named = check_indices(x, indices);
  Selection s{x, {}};
  Tensor& y = s.view;
  int64_t dim = 0;  // the dimension of y for the next index
  const auto add_dim = [&](bool chosen) {
    y = unsqueeze(y, dim);
    s.select(dim++, chosen ? zeros({1}, x.options().dtype(kLong)) : empty({0}, x.options().dtype(kLong)));
  };
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
      case Kind::boolean:
        add_dim(i.integer != 0);
        break;
      case Kind::tensor:
        if (is_number(i.tensor)) {
          y = select(y, dim, i.tensor.item<int64_t>());
        } else if (i.tensor.dtype() == kBool && i.tensor.dim() == 0) {
          add_dim(i.tensor.item<bool>());
        } else {
          s.select(dim, i.tensor);
          dim = s.covered;
        }
        break;
      case Kind::slice:
        if (i.slice.start() || i.slice.stop() || i.slice.step() != 1) {
          y = slice(y, dim, i.slice.start(), i.slice.stop(), i.slice.step());
        }
        ++dim;
        break;
    }
  }
  return s;
}

Tensor read(const Tensor& x, Indices indices) {
  const OpScope op("index");
  const Selection s = selection_of(x, indices);
  if (!s.tensors.empty()) return tandem::index(s.view, s.tensors);
  return s.view.is_same(x) ? view(x, x.sizes()) : s.view;  // a new tensor, as with any other index
}

void write(const Tensor& x, Indices indices, const Tensor& value, bool accumulate) {
  const OpScope op("index_put_");
  checks::defined("the value", value);
  const Selection s = selection_of(x, indices);
  Tensor v = value;
  const auto drop_leading = [&](int64_t rank) {  // [1, 3] may be written to [3]
    while (v.dim() > rank && v.size(0) == 1) v = tandem::select(v, 0, 0);
  };
  if (!s.tensors.empty()) {
    drop_leading(0);
    index_put_(s.view, s.tensors, v, accumulate);
    return;
  }
  drop_leading(s.view.dim());
  accumulate ? s.view.add_(v) : s.view.copy_(v);
}

void write(const Tensor& x, Indices indices, Scalar value, bool accumulate) {
  const OpScope op("index_put_");
  const Selection s = selection_of(x, indices);
  if (!s.tensors.empty()) {
    index_put_(s.view, s.tensors, value, accumulate);
  } else {
    accumulate ? s.view.add_(value) : s.view.fill_(value);
  }
}

}  // namespace

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const { return read(*this, Indices(indices)); }
Tensor Tensor::index(const std::vector<TensorIndex>& indices) const { return read(*this, Indices(indices)); }

const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value,
                                 bool accumulate) const {
  write(*this, Indices(indices), value, accumulate);
  return *this;
}
const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, const Tensor& value, bool accumulate) const {
  write(*this, Indices(indices), value, accumulate);
  return *this;
}
const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, Scalar value, bool accumulate) const {
  write(*this, Indices(indices), value, accumulate);
  return *this;
}
const Tensor& Tensor::index_put_(const std::vector<TensorIndex>& indices, Scalar value, bool accumulate) const {
  write(*this, Indices(indices), value, accumulate);
  return *this;
}

Tensor Tensor::operator[](int64_t i) const {
  const OpScope op("operator[]");
  TANDEM_CHECK(dim() > 0, IndexError, "a tensor of rank 0 has no index {}; item() gives its value", i);
  return tandem::select(*this, 0, i);
}
Tensor Tensor::operator[](const Tensor& i) const {
  const OpScope op("operator[]");
  checks::defined("the index", i);
  TANDEM_CHECK(is_number(i), IndexError,
               "the index is {}, but must be an integer tensor of rank 0; use index() or index_select()",
               checks::show(i));
  return (*this)[i.item<int64_t>()];
}

}  // namespace tandem
