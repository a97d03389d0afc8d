#pragma once
// Arguments that no correct program passes.
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "soak/random_call_ops.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {

/// Draws arguments and reports them first, because the call may never return.
class Draw {
 public:
  Draw(uint64_t seed, std::string call, std::function<void(const std::string&)> report)
      : random_(seed), log_(std::move(call)), report_(std::move(report)) {}

  /// Mostly small tensors; also undefined, empty and overlapping ones, of any dtype.
  Tensor tensor() { return written(make(below(14))); }
  /// Also tensors with more elements than memory can hold, for ops that do not visit them first.
  Tensor view() { return written(make(below(18))); }
  Tensor image() { return below(8) == 0 ? tensor() : written(filled({1 + of(2), 3, 1 + of(7), 1 + of(7)})); }
  std::vector<Tensor> tensors(uint64_t kinds = 18) {
    std::vector<Tensor> list(below(4));
    write("{");
    for (Tensor& x : list) x = written(make(below(kinds)));
    write("}, ");
    return list;
  }
  int64_t integer() {
    static constexpr int64_t values[] = {0,
                                         1,
                                         2,
                                         3,
                                         4,
                                         -1,
                                         -2,
                                         -7,
                                         63,
                                         12,
                                         1 << 16,
                                         1L << 31,
                                         1L << 32,
                                         1L << 40,
                                         1L << 62,
                                         -(1L << 62),
                                         (1L << 32) + 1,
                                         INT64_MAX,
                                         INT64_MAX - 1,
                                         INT64_MIN,
                                         INT64_MIN + 1};
    const int64_t v = below(3) == 0 ? values[below(std::size(values))] : values[below(8)];
    return written(v);
  }
  /// At most a few times what fits in memory, for arguments where huge values only cause long work.
  int64_t modest() {
    static constexpr int64_t values[] = {0, 1, 2, 3, 5, 8, 100, -1, INT64_MIN, INT64_MAX};
    return written(values[below(std::size(values))]);
  }
  std::vector<int64_t> integers() {
    std::vector<int64_t> list(below(8) == 0 ? below(20) : below(5));
    write("{");
    for (int64_t& v : list) v = integer();
    write("}, ");
    return list;
  }
  double real() {
    static constexpr double values[] = {0, -0.0, 1, 0.5, -1, 2, 1e-320, 1e300, -1e300, HUGE_VAL, -HUGE_VAL, NAN};
    return written(values[below(std::size(values))]);
  }
  Scalar scalar() {
    if (below(2) == 0) return Scalar(real());
    return Scalar(integer());
  }
  bool flag() { return written(below(2) == 0); }
  DType dtype() {
    const auto d = static_cast<DType>(below(kNumDTypes));
    write(std::string(name(d)) + ", ");
    return d;
  }
  std::string text() {
    static const char* values[] = {"",        "tanh", "none",      "mean",   "sum",  "prod",  "amax",
                                   "reflect", "ij",   "ij,jk->ik", "linear", "\xff", "../..", "cuda:99999999999",
                                   "cpu:-1"};
    const char* v = values[below(std::size(values))];
    write(std::string("\"") + v + "\", ");
    return v;
  }
  uint64_t below(uint64_t n) { return random_() % n; }

 private:
  int64_t of(uint64_t n) { return static_cast<int64_t>(below(n)); }
  Tensor filled(std::vector<int64_t> sizes) {
    static constexpr DType dtypes[] = {kFloat, kFloat, kFloat, kDouble, kHalf, kBFloat16, kLong, kBool, kByte, kInt};
    const Tensor x = full(sizes, 1 + of(3), dtypes[below(10)]);
    if (x.is_floating_point() && below(2) == 0) x.requires_grad_();
    return x;
  }
  Tensor make(uint64_t kind) {
    switch (kind) {
      case 0:
        return {};
      case 1:
        return filled({});
      case 2:
        return filled({0});
      case 3:
        return filled({2, 0, 3});
      case 4:
        return filled({1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1});
      case 5:
        return filled({3}).expand({2, 3});
      case 6:
        return filled({7}).as_strided({3, 3}, {1, 2}, 0);
      case 7:
        return filled({1 + of(4)});
      case 8:
        return filled({2, 3, 4}).transpose(0, 2);
      case 14:
        return filled({1}).expand({1L << 62});
      case 15:
        return filled({1, 1}).expand({1L << 31, 1L << 31});
      case 16:
        return filled({0, 1}).expand({0, 1L << 62});
      case 17:
        return filled({1, 2}).expand({1L << 40, 2});
      default:
        return filled({1 + of(3), 1 + of(4)});
    }
  }
  Tensor written(Tensor x) {
    write(x.defined() ? std::string(name(x.dtype())) + to_string(x.sizes()) + (x.requires_grad() ? " leaf, " : ", ")
                      : std::string("undefined, "));
    return x;
  }
  template <class T>
  T written(T v) {
    write(std::to_string(v) + ", ");
    return v;
  }
  void write(const std::string& text) { report_(log_ += text); }

  std::mt19937_64 random_;
  std::string log_;
  std::function<void(const std::string&)> report_;
};

/// Draws the arguments of a random call (random_call_ops.h) as they are asked for.
class AbsurdArgs : public Args {
 public:
  explicit AbsurdArgs(Draw& draw) : draw_(draw) {}
  int64_t i(const char*) const override { return draw_.integer(); }
  bool flag(const char*) const override { return draw_.flag(); }
  double real(const char*) const override { return draw_.real(); }
  Scalar n(const char*) const override { return draw_.scalar(); }
  std::string text(const char*) const override { return draw_.text(); }
  std::vector<int64_t> list(const char* name) const override {
    if (std::string_view(name) == "at") return {0};  // used by the table of calls, not by an op
    return draw_.integers();
  }
  std::optional<DType> dtype() const override { return draw_.dtype(); }
  LossReduction reduction() const override { return static_cast<LossReduction>(draw_.below(3)); }

 private:
  bool null(const char*) const override { return draw_.below(4) == 0; }

  Draw& draw_;
};

}  // namespace tandem::testing
