#include "tandem/amp/tools/op_stats.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <ostream>
#include <tuple>
#include <utility>

#include "src/amp/tools/computing_dtype.h"
#include "src/amp/tools/text.h"
#include "tandem/base/check.h"
#include "tandem/ops/arithmetic.h"
#include "tandem/ops/convert.h"
#include "tandem/ops/elementwise.h"
#include "tandem/tensor/factories.h"

namespace tandem::amp {
namespace {

/// Ops that the policy table lists as `lower` are matrix products or convolutions, including fused ops. Backward passes
/// use gemm.
bool is_matrix_product(std::string_view op) {
  const int row = policy_row(op);
  return op == "gemm" ||
         (row >= 0 && policy_table[static_cast<size_t>(row)].cast == Cast::lower && !op.starts_with("conv"));
}

/// A matrix product in a low dtype with a row or column count that is not a multiple of 8, the unit of tensor cores and
/// AMX.
bool is_odd_product(const autograd::ObservedOp& op) {
  if (!is_matrix_product(op.name)) return false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const Tensor& x = op.input(i);
    if (!x.defined() || x.dim() < 2 || !is_reduced_floating_point(x.dtype())) continue;
    if (x.size(-1) % 8 != 0 || x.size(-2) % 8 != 0) return true;
  }
  return false;
}

void add(OpCount& sum, const OpCount& c) {
  sum.calls += c.calls;
  sum.backward_calls += c.backward_calls;
  sum.casts += c.casts;
  sum.cast_bytes += c.cast_bytes;
  sum.cache_hits += c.cache_hits;
  sum.cache_misses += c.cache_misses;
  sum.odd_products += c.odd_products;
  sum.result_elements += c.result_elements;
}

std::string json_fields(const OpCount& c) {
  return fmt::format(
      R"("calls": {}, "backward_calls": {}, "casts": {}, "cast_bytes": {}, "cache_hits": {}, "cache_misses": {}, )"
      R"("odd_products": {}, "result_elements": {}}})",
      c.calls, c.backward_calls, c.casts, c.cast_bytes, c.cache_hits, c.cache_misses, c.odd_products,
      c.result_elements);
}

}  // namespace

class OpStats::Collector : public autograd::Observer {
 public:
  void after(const autograd::ObservedOp& op) override {
    OpCount call;
    call.calls = 1;
    call.backward_calls = op.backward_of != nullptr;
    call.casts = op.cache.misses + op.cache.uncached;
    call.cast_bytes = op.cache.cast_bytes;
    call.cache_hits = op.cache.hits;
    call.cache_misses = op.cache.misses;
    call.odd_products = is_odd_product(op);
    for (const Tensor& y : op.outputs) call.result_elements += y.defined() ? y.numel() : 0;
    const DType dtype = computing_dtype(op);
    const std::lock_guard lock(mutex_);
    const auto [it, is_new] = counts_.try_emplace({op.name, dtype});
    if (is_new) it->second.op = op.name, it->second.dtype = dtype;
    add(it->second, call);
  }

  std::vector<OpCount> counts() const {
    const std::lock_guard lock(mutex_);
    std::vector<OpCount> all;
    for (const auto& [key, count] : counts_) all.push_back(count);
    return all;
  }

  void rounded(const autograd::ObservedRounding& rounding) override {
    const Tensor counts = detail::count_losses(rounding.x, rounding.codes, rounding.scales);
    const std::lock_guard lock(mutex_);
    const auto key = std::tuple(std::string(rounding.op), std::string(rounding.operand), rounding.codes.dtype());
    Rounded& sum = rounded_[key];
    ++sum.tensors;
    sum.elements += rounding.x.numel();
    sum.counts = sum.counts.defined() ? tandem::add(sum.counts.to(counts.device()), counts) : counts;
  }

  std::vector<RoundingCount> roundings() const {
    const std::lock_guard lock(mutex_);
    std::vector<RoundingCount> all;
    for (const auto& [key, sum] : rounded_) {
      const auto& [op, operand, dtype] = key;
      // Calls the kernel directly, so that observers see no op.
      const Tensor host = empty({2}, TensorOptions(kLong).device(kCPU));
      backend(sum.counts).copy(host, sum.counts);
      const int64_t* const counts = host.raw<int64_t>();
      all.push_back({op, operand, dtype, sum.tensors, {sum.elements, counts[0], counts[1]}});
    }
    return all;
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    rounded_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, DType>, OpCount> counts_;
  struct Rounded {
    int64_t tensors = 0, elements = 0;
    Tensor counts;  // of saturated and flushed elements, on the device
  };
  std::map<std::tuple<std::string, std::string, DType>, Rounded> rounded_;  // by op, operand and dtype
};

OpStats::OpStats(std::ostream* print_at_end)
    : collector_(std::make_shared<Collector>()), print_at_end_(print_at_end), guard_(collector_) {}

OpStats::~OpStats() {
  if (!print_at_end_) return;
  try {
    *print_at_end_ << table();
  } catch (...) {  // destructors must not throw
  }
}

std::vector<OpCount> OpStats::counts() const { return collector_->counts(); }
std::vector<RoundingCount> OpStats::roundings() const { return collector_->roundings(); }
void OpStats::reset() { collector_->reset(); }

OpCount OpStats::total() const {
  OpCount sum;
  sum.op = "total";
  for (const OpCount& c : counts()) add(sum, c);
  return sum;
}

std::string OpStats::table() const {
  struct Line {
    OpCount sum;
    std::map<DType, int64_t> calls;
  };
  std::map<std::string, Line> by_op;
  Line total;
  total.sum.op = "total";
  for (const OpCount& c : counts()) {
    Line& line = by_op[c.op];
    line.sum.op = c.op;
    for (Line* l : {&line, &total}) {
      add(l->sum, c);
      l->calls[c.dtype] += c.calls;
    }
  }
  std::vector<Line> lines;
  for (auto& [op, line] : by_op) lines.push_back(std::move(line));
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.sum.calls > b.sum.calls; });
  lines.push_back(total);

  struct Column {
    const char* head;
    std::vector<DType> dtypes;

    int64_t calls(const Line& line) const {
      int64_t sum = 0;
      for (const DType dtype : dtypes) {
        const auto it = line.calls.find(dtype);
        if (it != line.calls.end()) sum += it->second;
      }
      return sum;
    }
  };
  std::vector<Column> columns = {{"f16", {kHalf}}, {"bf16", {kBFloat16}}, {"f32", {kFloat}}, {"f64", {kDouble}}};
  const Column float8{"float8", {kFloat8_e4m3fn, kFloat8_e5m2}};
  if (float8.calls(total) > 0) columns.insert(columns.begin(), float8);
  std::vector<std::string> head{"op"};
  for (const Column& column : columns) head.push_back(column.head);
  for (const char* rest : {"other", "backward", "casts", "cast bytes", "cache hits", "mean size"}) head.push_back(rest);
  text::Table table(std::move(head));
  for (const Line& line : lines) {
    const OpCount& c = line.sum;
    int64_t other = c.calls;
    std::vector<std::string> row{c.op};
    for (const Column& column : columns) {
      const int64_t calls = column.calls(line);
      other -= calls;
      row.push_back(std::to_string(calls));
    }
    for (const int64_t n : {other, c.backward_calls, c.casts}) row.push_back(std::to_string(n));
    row.push_back(text::bytes(c.cast_bytes));
    row.push_back(std::to_string(c.cache_hits));
    row.push_back(std::to_string(c.calls ? c.result_elements / c.calls : 0));
    table.add(std::move(row));
  }
  std::string lines_below;
  if (total.sum.odd_products > 0) {
    lines_below = fmt::format(
        "{} products in f16 or bf16 have a size that is not a multiple of 8, which slows down tensor cores\n",
        total.sum.odd_products);
  }
  for (const RoundingCount& r : roundings()) {
    lines_below +=
        fmt::format("{} of {} in {}: {} tensors, {:.3g} % of the elements saturated, {:.3g} % became 0\n", r.operand,
                    r.op, tandem::name(r.dtype), r.tensors, r.losses.saturated_percent(), r.losses.flushed_percent());
  }
  return table.str() + lines_below;
}

std::string OpStats::json() const {
  std::string text = "{\"ops\": [";
  const char* separator = "";
  for (const OpCount& c : counts()) {
    text += fmt::format("{}{{\"op\": {}, \"dtype\": \"{}\", {}", separator, text::json(c.op), tandem::name(c.dtype),
                        json_fields(c));
    separator = ", ";
  }
  text += "], \"total\": {" + json_fields(total()) + ", \"roundings\": [";
  separator = "";
  for (const RoundingCount& r : roundings()) {
    text += fmt::format(R"({}{{"op": {}, "operand": "{}", "dtype": "{}", "tensors": {}, "elements": {}, )"
                        R"("saturated": {}, "flushed": {}}})",
                        separator, text::json(r.op), r.operand, tandem::name(r.dtype), r.tensors, r.losses.elements,
                        r.losses.saturated, r.losses.flushed);
    separator = ", ";
  }
  return text + "]}";
}

std::ostream& operator<<(std::ostream& stream, const OpStats& stats) { return stream << stats.table(); }

}  // namespace tandem::amp
