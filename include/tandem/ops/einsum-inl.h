#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "tandem/autograd/apply.h"
#include "tandem/base/check.h"
#include "tandem/ops/broadcast.h"
#include "tandem/ops/cast_operands.h"
#include "tandem/ops/checks.h"
#include "tandem/ops/diagonal.h"
#include "tandem/ops/einsum.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/matmul_forms-inl.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/shape.h"

namespace tandem {

namespace detail {

/// Evaluates an equation. A label is the number of a letter (A-Z: 0 to 25, a-z: 26 to 51) or of a dimension of the
/// ellipsis, counted from the last (52 and up); sets of labels are bits.
class Einsum {
 public:
  Einsum(const Op<"einsum">& op, std::string_view equation, TensorList operands) : op_(op) {
    parse(equation, operands);
    for (size_t i = 0; i < operands.size(); ++i) terms_.push_back(term_of(operands[i], inputs_[i]));
  }

  Tensor run() {
    while (terms_.size() > 1) {
      const auto [i, j] = next_pair();
      const Term product = multiply(terms_[i], terms_[j], needed_beside(i, j));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      terms_[i] = product;
    }
    return finished(terms_[0]);
  }

 private:
  using Labels = std::vector<int>;
  static constexpr int kEllipsis = 52, kLabels = 64;
  static constexpr size_t kMaxOptimal = 8;

  /// A tensor and the labels of its dimensions, all different.
  struct Term {
    Tensor x;
    Labels labels;
  };

  static uint64_t bit(int label) { return uint64_t{1} << label; }
  static uint64_t set_of(const Labels& labels) {
    uint64_t set = 0;
    for (int l : labels) set |= bit(l);
    return set;
  }
  static int label_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + (c - 'a') : -1;
  }
  static char letter_of(int label) { return static_cast<char>(label < 26 ? 'A' + label : 'a' + (label - 26)); }

  /// Reads one part of the equation; `ellipsis` gets the place of "..." among the letters, or -1.
  static Labels read_part(std::string_view part, std::string_view equation, int& ellipsis) {
    Labels labels;
    ellipsis = -1;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == ' ') continue;
      if (part.substr(i, 3) == "...") {
        TANDEM_CHECK(ellipsis < 0, StateError, "'{}' has two ellipses in '{}'; one is allowed", equation, part);
        ellipsis = static_cast<int>(labels.size());
        i += 2;
        continue;
      }
      TANDEM_CHECK(label_of(part[i]) >= 0, StateError,
                   "'{}' contains '{}'; only letters, '...', ',', '->' and spaces are allowed", equation,
                   part.substr(i, 1));
      labels.push_back(label_of(part[i]));
    }
    return labels;
  }
  static void add_ellipsis(Labels& labels, int at, int64_t dims) {
    for (int64_t d = 0; d < dims; ++d) labels.insert(labels.begin() + at, kEllipsis + static_cast<int>(d));
  }

  void parse(std::string_view equation, TensorList operands) {
    const size_t arrow = equation.find("->");
    const std::string_view left = equation.substr(0, arrow);
    int64_t widest = 0;  // dimensions of the ellipsis
    size_t begin = 0;
    while (true) {
      const size_t comma = left.find(',', begin), i = inputs_.size();
      const std::string_view part = left.substr(begin, comma == std::string_view::npos ? comma : comma - begin);
      TANDEM_CHECK(i < operands.size(), StateError, "'{}' has more operands than the {} that were given", equation,
                   operands.size());
      const Tensor& x = operands[i];
      checks::defined_at(i, x);
      int ellipsis = -1;
      Labels labels = read_part(part, equation, ellipsis);
      const int64_t rest = x.dim() - static_cast<int64_t>(labels.size());
      TANDEM_CHECK(ellipsis >= 0 ? rest >= 0 : rest == 0, ShapeError,
                   "'{}' names {} dimensions of operand {}, which is {}", equation, labels.size(), i, checks::show(x));
      if (ellipsis >= 0) add_ellipsis(labels, ellipsis, rest);
      if (ellipsis >= 0) widest = std::max(widest, rest);
      for (size_t d = 0; d < labels.size(); ++d) see_size(equation, i, x, labels[d], x.size(static_cast<int64_t>(d)));
      inputs_.push_back(std::move(labels));
      if (comma == std::string_view::npos) break;
      begin = comma + 1;
    }
    TANDEM_CHECK(inputs_.size() == operands.size(), StateError, "'{}' has {} operands, but {} were given", equation,
                 inputs_.size(), operands.size());
    if (arrow == std::string_view::npos) {
      implicit_output(widest);
    } else {
      explicit_output(equation, equation.substr(arrow + 2), widest);
    }
    needed_ = set_of(output_);
  }

  void see_size(std::string_view equation, size_t operand, const Tensor& x, int label, int64_t size) {
    int64_t& known = sizes_[static_cast<size_t>(label)];
    TANDEM_CHECK(known < 0 || known == 1 || size == 1 || known == size, ShapeError,
                 "'{}': {} has size {} in operand {}, which is {}, but size {} before", equation,
                 label < kEllipsis ? std::string(1, letter_of(label)) : std::string("a dimension of '...'"), size,
                 operand, checks::show(x), known);
    if (known < 0 || known == 1) known = size;
  }

  void implicit_output(int64_t ellipsis) {
    std::array<int, kLabels> count{};
    for (const Labels& labels : inputs_) {
      for (int l : labels) ++count[static_cast<size_t>(l)];
    }
    for (int l = 0; l < kEllipsis; ++l) {
      if (count[static_cast<size_t>(l)] == 1) output_.push_back(l);
    }
    add_ellipsis(output_, 0, ellipsis);
  }

  void explicit_output(std::string_view equation, std::string_view part, int64_t widest) {
    int ellipsis = -1;
    output_ = read_part(part, equation, ellipsis);
    uint64_t seen = 0;
    for (int l : output_) {
      TANDEM_CHECK(!(seen & bit(l)), StateError, "'{}': the result has '{}' twice", equation, letter_of(l));
      TANDEM_CHECK(sizes_[static_cast<size_t>(l)] >= 0, StateError, "'{}': the result has '{}', which no operand has",
                   equation, letter_of(l));
      seen |= bit(l);
    }
    if (ellipsis >= 0) add_ellipsis(output_, ellipsis, widest);
  }

  /// Takes diagonals, and drops dimensions of size 1 that broadcast.
  Term term_of(const Tensor& x, const Labels& labels) const {
    Tensor y = x;
    Labels kept = labels;  // of y's dimensions
    for (size_t d = 0; d < kept.size(); ++d) {
      const auto at = [&](size_t i) { return kept.begin() + static_cast<std::ptrdiff_t>(i); };
      for (auto same = std::find(at(d + 1), kept.end(), kept[d]); same != kept.end();
           same = std::find(at(d + 1), kept.end(), kept[d])) {
        const auto here = static_cast<int64_t>(d), there = static_cast<int64_t>(same - kept.begin());
        TANDEM_CHECK(y.size(here) == y.size(there), ShapeError,
                     "'{}' has sizes {} and {} in the operand {}; a diagonal needs equal "
                     "sizes",
                     letter_of(kept[d]), y.size(here), y.size(there), checks::show(x));
        y = movedim(diagonal(y, 0, here, there), -1, here);
        kept.erase(same);
      }
    }
    for (size_t k = kept.size(); k-- > 0;) {
      if (y.size(static_cast<int64_t>(k)) != 1 || size_of(kept[k]) == 1) continue;
      y = squeeze(y, static_cast<int64_t>(k));
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return {y, kept};
  }

  int64_t size_of(int label) const { return sizes_[static_cast<size_t>(label)]; }
  double volume(uint64_t set) const {
    double product = 1;
    for (; set; set &= set - 1) product *= static_cast<double>(size_of(std::countr_zero(set)));
    return product;
  }

  /// Labels that the result or a term other than i and j has.
  uint64_t needed_beside(size_t i, size_t j) const {
    uint64_t set = needed_;
    for (size_t k = 0; k < terms_.size(); ++k) {
      if (k != i && k != j) set |= set_of(terms_[k].labels);
    }
    return set;
  }

  /// The pair to multiply next, the smaller number first.
  std::pair<size_t, size_t> next_pair() {
    const size_t n = terms_.size();
    if (n == 2) return {0, 1};
    if (n <= kMaxOptimal) return optimal_pair();
    std::pair<size_t, size_t> best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i + 1; j < n; ++j) {
        const double cost = volume(set_of(terms_[i].labels) | set_of(terms_[j].labels));
        if (cost < least) {
          least = cost;
          best = {i, j};
        }
      }
    }
    return best;
  }

  /// Finds the cheapest order by dynamic programming over the subsets of the terms, and returns a pair that it
  /// multiplies directly.
  std::pair<size_t, size_t> optimal_pair() const {
    const size_t n = terms_.size(), all = (size_t{1} << n) - 1;
    std::vector<uint64_t> labels(all + 1, 0);
    for (size_t s = 1; s <= all; ++s) {
      for (size_t i = 0; i < n; ++i) {
        if (s >> i & 1) labels[s] |= set_of(terms_[i].labels);
      }
    }
    // What remains of a product of the terms in s.
    const auto kept = [&](size_t s) { return labels[s] & (needed_ | labels[all & ~s]); };
    std::vector<double> cost(all + 1, std::numeric_limits<double>::infinity());
    std::vector<size_t> part(all + 1, 0);
    for (size_t s = 1; s <= all; ++s) {
      if (std::has_single_bit(s)) {
        cost[s] = 0;
        continue;
      }
      for (size_t t = (s - 1) & s; t > 0; t = (t - 1) & s) {
        const double c = cost[t] + cost[s & ~t] + volume(kept(t) | kept(s & ~t));
        if (c < cost[s]) {
          cost[s] = c;
          part[s] = t;
        }
      }
    }
    size_t s = all;
    while (std::popcount(s) > 2) s = std::has_single_bit(part[s]) ? s & ~part[s] : part[s];
    const auto i = static_cast<size_t>(std::countr_zero(s)), j = static_cast<size_t>(std::bit_width(s) - 1);
    return {i, j};
  }

  /// Sums over the labels that are not in `needed`: a single operand as by sum(), integers in i64; factors of a product
  /// in their dtype. Autocast would sum in f32, and round afterwards.
  Term summed(const Term& term, uint64_t needed) const {
    Dims dims;
    Labels kept;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      if (needed & bit(term.labels[d])) {
        kept.push_back(term.labels[d]);
      } else {
        dims.push_back(static_cast<int64_t>(d));
      }
    }
    if (dims.empty()) return term;
    const Tensor x = cast(term.x);
    const bool widens = inputs_.size() == 1 && is_integral(x.dtype(), true);
    return {sum(x, dims, false, widens ? kLong : x.dtype()), kept};
  }

  Tensor cast(const Tensor& x) const { return cast_operands(op_, {&x, 1})[0]; }

  /// Permutes the term's dimensions to the order of `labels`, which may lack none of them; those that the term lacks
  /// get size 1.
  static Tensor arranged(const Term& term, const Labels& labels) {
    Dims order, sizes;
    for (int l : labels) {
      const auto at = std::find(term.labels.begin(), term.labels.end(), l);
      const bool has = at != term.labels.end();
      if (has) order.push_back(at - term.labels.begin());
      sizes.push_back(has ? term.x.size(order.back()) : 1);
    }
    bool sorted = true;
    for (size_t i = 0; i < order.size(); ++i) sorted = sorted && order[i] == static_cast<int64_t>(i);
    return with_shape(sorted ? term.x : permute(term.x, order), sizes);
  }

  int64_t count(const Labels& labels) const {
    int64_t product = 1;
    for (int l : labels) product *= size_of(l);
    return product;
  }

  /// The product of two terms, summed over the labels that are not in `needed`.
  Term multiply(const Term& a, const Term& b, uint64_t needed) const {
    const uint64_t set_a = set_of(a.labels), set_b = set_of(b.labels);
    const Term u = summed(a, needed | set_b), v = summed(b, needed | set_a);
    Labels batch, sums, left, right;
    for (int l : u.labels) (!(set_b & bit(l)) ? left : needed & bit(l) ? batch : sums).push_back(l);
    for (int l : v.labels) {
      if (!(set_a & bit(l))) right.push_back(l);
    }
    Labels labels = batch;
    labels.insert(labels.end(), left.begin(), left.end());
    labels.insert(labels.end(), right.begin(), right.end());
    if (sums.empty()) {
      const Tensor x[] = {u.x, v.x};
      const std::vector<Tensor> pair = cast_operands(op_, {x, 2});
      return {mul(arranged({pair[0], u.labels}, labels), arranged({pair[1], v.labels}, labels)), labels};
    }
    Dims sizes;
    for (int l : labels) sizes.push_back(size_of(l));
    const auto joined = [](std::initializer_list<const Labels*> lists) {
      Labels all;
      for (const Labels* list : lists) all.insert(all.end(), list->begin(), list->end());
      return all;
    };
    const int64_t batches = count(batch), rows = count(left), columns = count(right), terms = count(sums);
    const Tensor x = arranged(u, joined({&batch, &left, &sums})), y = arranged(v, joined({&batch, &sums, &right}));
    Tensor product;
    if (rows == 1 && columns == 1 && batches != 1) {
      const Dims pairs{batches, terms};
      product = vecdot_of(op_, with_shape(x, pairs), with_shape(y, pairs), pairs, 1);
    } else if (batch.empty()) {
      check_product(with_shape(x, {rows, terms}), with_shape(y, {terms, columns}));
      product = detail::product(op_, with_shape(x, {rows, terms}), with_shape(y, {terms, columns}));
    } else {
      const Tensor p = with_shape(x, {batches, rows, terms}), q = with_shape(y, {batches, terms, columns});
      check_product(p, q);
      product = detail::product(op_, p, q);
    }
    return {with_shape(product, sizes), labels};
  }

  Tensor finished(const Term& term) const {
    const Term result = summed(term, needed_);
    return arranged({cast(result.x), result.labels}, output_);
  }

  const Op<"einsum">& op_;
  std::vector<Labels> inputs_;
  Labels output_;
  uint64_t needed_ = 0;
  std::array<int64_t, kLabels> sizes_ = [] {
    std::array<int64_t, kLabels> unknown;
    unknown.fill(-1);
    return unknown;
  }();
  std::vector<Term> terms_;
};

}  // namespace detail

TANDEM_OPS Tensor einsum(std::string_view equation, TensorList operands, std::optional<IntArrayRef> /*path*/) {
  const Op<"einsum"> op;
  TANDEM_CHECK(!operands.empty(), StateError, "no operands; give one for each part of '{}'", equation);
  return detail::Einsum(op, equation, operands).run();
}

}  // namespace tandem
