#include "tandem/amp/tools/compare_accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <thread>

#include "src/amp/tools/align.h"
#include "src/amp/tools/text.h"
#include "tandem/autograd/observer.h"
#include "tandem/base/check.h"
#include "tandem/ops/checks.h"
#include "tandem/tensor/factories.h"
#include "tandem/tensor/random.h"

namespace tandem::amp {
namespace {

/// A copy on the host. Calls the kernel directly, so that observers see no op.
Tensor host_copy(const Tensor& x, DType dtype) {
  const Tensor host = empty(x.sizes(), x.options().device(kCPU));
  backend(x).copy(host, x);
  if (dtype == x.dtype()) return host;
  const Tensor converted = empty_like(host, dtype);
  backend(host).copy(converted, host);
  return converted;
}

struct Record {
  std::string what;
  bool backward;
  int64_t call;
  Tensor value;
  friend bool operator==(const Record& a, const Record& b) {
    return a.what == b.what && a.value.sizes() == b.value.sizes();
  }
};

/// Records the floating-point results of ops on the thread that created it.
class Recorder : public autograd::Observer {
 public:
  void after(const autograd::ObservedOp& op) override {
    if (std::this_thread::get_id() != thread_) return;
    const int64_t call = calls_++;
    if (std::string_view(op.name) == "to") return;
    for (const Tensor& y : op.outputs) {
      std::string what = op.name;
      if (op.backward_of) what += fmt::format(" in the backward of {}", op.backward_of->op);
      keep(std::move(what), op.backward_of != nullptr, call, y);
    }
  }
  void after_backward(const autograd::Node& node, const autograd::Grads& gradients) override {
    if (std::this_thread::get_id() != thread_ || std::string_view(node.op) == "to") return;
    for (size_t i = 0; i < gradients.size(); ++i) {
      keep(fmt::format("gradient of input {} of {}", i, node.op), true, calls_, gradients[i]);
    }
  }
  std::vector<Record> records;

 private:
  void keep(std::string what, bool backward, int64_t call, const Tensor& y) {
    if (y.defined() && is_differentiable(y.dtype())) {
      records.push_back({std::move(what), backward, call, host_copy(y, y.dtype())});
    }
  }

  const std::thread::id thread_ = std::this_thread::get_id();
  int64_t calls_ = 0;
};

std::vector<Record> record(const std::function<void()>& run) {
  auto recorder = std::make_shared<Recorder>();
  const autograd::ObserverGuard guard(recorder);
  run();
  return std::move(recorder->records);
}

AccuracyRow compare(std::string what, const Tensor& a, const Tensor& b, double divide_b_by) {
  AccuracyRow row{.what = std::move(what), .sizes = a.impl().sizes, .dtype_a = a.dtype(), .dtype_b = b.dtype()};
  const Tensor wide_a = host_copy(a, kDouble), wide_b = host_copy(b, kDouble);
  const double *pa = wide_a.raw<double>(), *pb = wide_b.raw<double>();
  double aa = 0, bb = 0, ab = 0, dd = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double x = pa[i], y = pb[i] / divide_b_by;
    row.nonfinite_a += !std::isfinite(x);
    row.nonfinite_b += !std::isfinite(y);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    aa += x * x;
    bb += y * y;
    ab += x * y;
    dd += (y - x) * (y - x);
    row.max_error = std::max(row.max_error, std::abs(y - x));
  }
  if (dd > 0) row.relative_l2 = std::sqrt(dd / aa);
  if (aa > 0 || bb > 0) row.cosine = aa > 0 && bb > 0 ? ab / (std::sqrt(aa) * std::sqrt(bb)) : 0;
  return row;
}

void check(const CompareOptions& options) {
  TANDEM_CHECK(std::isfinite(options.loss_scale) && options.loss_scale > 0, StateError,
               "loss_scale = {}; it must be a positive number", options.loss_scale);
}

}  // namespace

AccuracyReport compare_accuracy(const std::function<void()>& run_a, const std::function<void()>& run_b,
                                const CompareOptions& options) {
  const UserCodeScope op("compare_accuracy");
  TANDEM_CHECK(run_a && run_b, StateError, "run_{} is an empty function; pass the code to run", run_a ? 'b' : 'a');
  check(options);
  const PhiloxState state = default_generator().get_state();
  const std::vector<Record> a = record(run_a);
  default_generator().set_state(state);
  const std::vector<Record> b = record(run_b);

  AccuracyReport report;
  size_t i = 0, j = 0;
  const auto skip_to = [&](size_t next_a, size_t next_b) {
    for (; i < next_a; ++i) report.only_a.push_back(fmt::format("call {}: {}", a[i].call, a[i].what));
    for (; j < next_b; ++j) report.only_b.push_back(fmt::format("call {}: {}", b[j].call, b[j].what));
  };
  for (const auto& [in_a, in_b] : align(a, b)) {
    skip_to(in_a, in_b);
    AccuracyRow row = compare(a[i].what, a[i].value, b[j].value, b[j].backward ? options.loss_scale : 1);
    row.call_a = a[i++].call;
    row.call_b = b[j++].call;
    report.rows.push_back(std::move(row));
  }
  skip_to(a.size(), b.size());
  return report;
}

AccuracyReport compare_accuracy(const nn::Module& a, const nn::Module& b, const CompareOptions& options) {
  const OpScope op("compare_accuracy");
  check(options);
  AccuracyReport report;
  const auto in_a = a.named_parameters(), in_b = b.named_parameters();
  const auto add = [&](const std::string& name, const Tensor& x, const Tensor& y, double divide_y_by) {
    if (!x.defined() || !y.defined()) {
      if (x.defined()) report.only_a.push_back(name);
      if (y.defined()) report.only_b.push_back(name);
      return;
    }
    TANDEM_CHECK(x.sizes() == y.sizes(), ShapeError,
                 "{} is {} in one module and {} in the other; compare modules of the same architecture", name,
                 checks::show(x), checks::show(y));
    report.rows.push_back(compare(name, x, y, divide_y_by));
  };
  for (const auto& item : in_a) {
    if (!in_b.contains(item.key())) {
      report.only_a.push_back(item.key());
      continue;
    }
    const Tensor &x = *item, &y = in_b[item.key()];
    add(item.key(), x, y, 1);
    add(item.key() + ".grad", x.grad(), y.grad(), options.loss_scale);
  }
  for (const auto& item : in_b) {
    if (!in_a.contains(item.key())) report.only_b.push_back(item.key());
  }
  return report;
}

double AccuracyRow::deviation() const {
  return nonfinite_b > nonfinite_a ? std::numeric_limits<double>::infinity() : relative_l2;
}

const AccuracyRow* AccuracyReport::first(double tolerance) const {
  const auto at =
      std::find_if(rows.begin(), rows.end(), [&](const AccuracyRow& r) { return r.deviation() > tolerance; });
  return at == rows.end() ? nullptr : &*at;
}

const AccuracyRow* AccuracyReport::worst() const {
  const auto at = std::max_element(rows.begin(), rows.end(), [](const AccuracyRow& a, const AccuracyRow& b) {
    return a.deviation() < b.deviation();
  });
  return at == rows.end() ? nullptr : &*at;
}

std::string AccuracyReport::table(Order order, size_t most) const {
  std::vector<const AccuracyRow*> shown;
  for (const AccuracyRow& row : rows) shown.push_back(&row);
  if (order == Order::worst) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const AccuracyRow* a, const AccuracyRow* b) { return a->deviation() > b->deviation(); });
  }
  text::Table table({"result", "call", "sizes", "a", "b", "relative L2", "max error", "cosine", "non-finite"});
  for (size_t i = 0; i < std::min(most, shown.size()); ++i) {
    const AccuracyRow& r = *shown[i];
    table.add({r.what, r.call_a < 0 ? "" : std::to_string(r.call_a), to_string(r.sizes), std::string(name(r.dtype_a)),
               std::string(name(r.dtype_b)), fmt::format("{:.2e}", r.relative_l2), fmt::format("{:.2e}", r.max_error),
               fmt::format("{:.6f}", r.cosine), fmt::format("{} / {}", r.nonfinite_a, r.nonfinite_b)});
  }
  std::string lines = table.str();
  if (shown.size() > most) lines += fmt::format("... and {} more\n", shown.size() - most);
  for (const auto& [run, list] : {std::pair{'a', &only_a}, {'b', &only_b}}) {
    for (size_t i = 0; i < std::min(most, list->size()); ++i) lines += fmt::format("only in {}: {}\n", run, (*list)[i]);
    if (list->size() > most) lines += fmt::format("... and {} more only in {}\n", list->size() - most, run);
  }
  return lines;
}

std::ostream& operator<<(std::ostream& stream, const AccuracyReport& report) { return stream << report.table(); }

}  // namespace tandem::amp
