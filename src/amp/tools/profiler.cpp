#include "tandem/amp/tools/profiler.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>
#include <tuple>
#include <utility>

#include "src/amp/tools/computing_dtype.h"
#include "src/amp/tools/text.h"
#include "src/io/path.h"
#include "tandem/base/check.h"
#include "tandem/tensor/stream.h"

namespace tandem::amp {
namespace {

using Clock = std::chrono::steady_clock;

double ms_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

/// A point of time on the host, and in the work of a CUDA device if there is any.
struct Moment {
  Clock::time_point host = Clock::now();
  std::shared_ptr<Event> device = nullptr;

  static Moment now(bool on_device) {
    Moment moment;
    if (on_device) {
      moment.device = std::make_shared<Event>(/*enable_timing=*/true);
      moment.device->record();
    }
    return moment;
  }
};

double ms_between(const Moment& start, const Moment& end) {
  if (!start.device || !end.device) return ms_between(start.host, end.host);
  end.device->synchronize();
  return start.device->elapsed_time(*end.device);
}

enum class Kind { forward, backward, node, scope };

struct Call {
  std::string op;
  Kind kind = Kind::forward;
  DType dtype = kFloat;
  Moment enter = {}, start = {}, end = {};  ///< enter: before the casts
  int64_t casts = 0, cast_bytes = 0, bytes = 0;
  std::optional<size_t> outer = {};  ///< the call of the same thread during which this one ran
  bool finished = false;

  double cast_ms() const { return casts ? ms_between(enter, start) : 0; }
  double ms() const { return ms_between(casts ? start : enter, end); }
};

bool any_on_cuda(ArrayRef<const Tensor*> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor* x) { return x->defined() && x->device().is_cuda(); });
}

int64_t bytes_of(const Tensor& x) { return x.defined() ? static_cast<int64_t>(x.nbytes()) : 0; }

bool any_on_cuda(const autograd::Grads& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& x) { return x.defined() && x.device().is_cuda(); });
}

}  // namespace

class Profiler::Recorder : public autograd::Observer {
 public:
  void enter(ArrayRef<const Tensor*> inputs) override {
    const std::lock_guard lock(mutex_);
    state().entered = Moment::now(any_on_cuda(inputs));
  }
  void before(const autograd::ObservedOp& op) override {
    const std::lock_guard lock(mutex_);
    const Moment& entered = state().entered;
    begin({.op = op.name,
           .kind = op.backward_of ? Kind::backward : Kind::forward,
           .enter = entered,
           .start = Moment::now(entered.device != nullptr),
           .casts = op.cache.misses + op.cache.uncached,
           .cast_bytes = op.cache.cast_bytes});
  }
  void after(const autograd::ObservedOp& op) override {
    const std::lock_guard lock(mutex_);
    Call* const call = end([&](const Call& c) { return c.op == op.name && c.kind != Kind::node; });
    if (!call) return;
    call->dtype = computing_dtype(op);
    for (size_t i = 0; i < op.inputs.size(); ++i) call->bytes += bytes_of(op.input(i));
    for (const Tensor& y : op.outputs) call->bytes += bytes_of(y);
  }
  void before_backward(const autograd::Node& node, const autograd::Grads& gradients) override {
    const std::lock_guard lock(mutex_);
    Call call{.op = node.op, .kind = Kind::node, .enter = Moment::now(any_on_cuda(gradients))};
    for (const Tensor& g : gradients) {
      call.bytes += bytes_of(g);
      if (g.defined()) call.dtype = g.dtype();
    }
    begin(std::move(call));
  }
  void after_backward(const autograd::Node& node, const autograd::Grads& gradients) override {
    const std::lock_guard lock(mutex_);
    Call* const call = end([&](const Call& c) { return c.kind == Kind::node && c.op == node.op; });
    if (!call) return;
    for (const Tensor& g : gradients) call->bytes += bytes_of(g);
  }

  void enter_scope(std::string label, Device device) {
    const std::lock_guard lock(mutex_);
    begin({.op = std::move(label), .kind = Kind::scope, .enter = Moment::now(device.is_cuda())});
  }
  void leave_scope() {
    const std::lock_guard lock(mutex_);
    end([](const Call& c) { return c.kind == Kind::scope; });
  }

  void reset() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    threads_.clear();
    start_ = {};
  }

  /// Calls `f` with all finished calls, and their milliseconds without those of the calls inside them.
  template <class F>
  void for_each_call(F f) const {
    const std::lock_guard lock(mutex_);
    std::vector<double> inside(calls_.size());
    for (size_t i = calls_.size(); i-- > 0;) {  // calls inside another come after it
      const Call& call = calls_[i];
      if (!call.finished) continue;
      const double cast_ms = call.cast_ms(), ms = call.ms();
      // Times of the host and of a device do not add up.
      if (call.outer && !calls_[*call.outer].enter.device == !call.enter.device) inside[*call.outer] += cast_ms + ms;
      f(call, cast_ms, std::max(0.0, ms - inside[i]));
    }
  }
  const Moment& start() const { return start_; }

 private:
  struct ThreadCalls {
    Moment entered;
    std::vector<size_t> open;
  };

  ThreadCalls& state() { return threads_[std::this_thread::get_id()]; }
  void begin(Call call) {
    std::vector<size_t>& open = state().open;
    if (!open.empty()) call.outer = open.back();
    open.push_back(calls_.size());
    calls_.push_back(std::move(call));
  }
  /// Ends the innermost open call for which `is` holds, and those inside it, which exceptions left open.
  template <class Is>
  Call* end(Is is) {
    std::vector<size_t>& open = state().open;
    const auto found = std::find_if(open.rbegin(), open.rend(), [&](size_t i) { return is(calls_[i]); });
    if (found == open.rend()) return nullptr;  // it began before a reset
    Call& call = calls_[*found];
    open.erase(std::next(found).base(), open.end());
    call.end = Moment::now(call.enter.device != nullptr);
    call.finished = true;
    return &call;
  }

  mutable std::mutex mutex_;
  std::vector<Call> calls_;
  std::map<std::thread::id, ThreadCalls> threads_;
  Moment start_;
};

Profiler::Profiler(std::ostream* print_at_end)
    : recorder_(std::make_shared<Recorder>()), print_at_end_(print_at_end), guard_(recorder_) {}

Profiler::~Profiler() {
  if (!print_at_end_) return;
  try {
    *print_at_end_ << table();
  } catch (...) {  // destructors must not throw
  }
}

Profiler::Scope::Scope(std::shared_ptr<Recorder> recorder, std::string label, Device device)
    : recorder_(std::move(recorder)) {
  recorder_->enter_scope(std::move(label), device);
}
Profiler::Scope::~Scope() { recorder_->leave_scope(); }

void Profiler::reset() { recorder_->reset(); }

double Profiler::total_ms() const { return ms_between(recorder_->start().host, Clock::now()); }

std::vector<ProfiledOp> Profiler::ops() const {
  std::map<std::tuple<std::string, DType, bool>, ProfiledOp> by_op;
  recorder_->for_each_call([&](const Call& call, double cast_ms, double ms) {
    const bool backward = call.kind == Kind::node || call.kind == Kind::backward;
    ProfiledOp& sum = by_op[{call.op, call.dtype, backward}];
    sum.op = call.op;
    sum.dtype = call.dtype;
    sum.backward = backward;
    ++sum.calls;
    sum.ms += ms;
    sum.cast_ms += cast_ms;
    sum.casts += call.casts;
    sum.cast_bytes += call.cast_bytes;
    sum.bytes += call.bytes;
  });
  std::vector<ProfiledOp> all;
  for (auto& [key, sum] : by_op) all.push_back(std::move(sum));
  std::stable_sort(all.begin(), all.end(),
                   [](const ProfiledOp& a, const ProfiledOp& b) { return a.ms + a.cast_ms > b.ms + b.cast_ms; });
  return all;
}

std::string Profiler::table() const {
  const double total = total_ms();
  text::Table table(
      {"op", "pass", "dtype", "calls", "ms", "share", "us/call", "GB/s", "casts", "cast ms", "cast bytes"});
  const auto share = [&](double ms) { return fmt::format("{:.1f} %", total > 0 ? 100 * ms / total : 0); };
  double outside = total;
  for (const ProfiledOp& op : ops()) {
    outside -= op.ms + op.cast_ms;
    table.add({op.op, op.backward ? "backward" : "forward", std::string(tandem::name(op.dtype)),
               std::to_string(op.calls), fmt::format("{:.3f}", op.ms), share(op.ms + op.cast_ms),
               fmt::format("{:.1f}", 1e3 * op.ms / static_cast<double>(op.calls)),
               op.ms > 0 ? fmt::format("{:.1f}", static_cast<double>(op.bytes) * 1e-6 / op.ms) : "",
               std::to_string(op.casts), fmt::format("{:.3f}", op.cast_ms), text::bytes(op.cast_bytes)});
  }
  table.add({"outside ops", "", "", "", fmt::format("{:.3f}", outside), share(outside), "", "", "", "", ""});
  return table.str();
}

void Profiler::write_chrome_trace(const std::string& file) const {
  const OpScope op("write_chrome_trace");
  io::check_path(file);
  std::ofstream out(file);
  out << "{\"traceEvents\": [";
  const char* separator = "\n";
  const char* rows[] = {"forward", "backward", "backward", "scopes"};
  // On a device, work begins when the first call's event is reached.
  std::optional<Moment> first;
  recorder_->for_each_call([&](const Call& call, double, double) {
    if (call.enter.device) first = call.enter;
  });
  const auto microseconds = [&](const Moment& m) {
    const double host = 1e3 * ms_between(recorder_->start().host, first && m.device ? first->host : m.host);
    return m.device ? host + 1e3 * ms_between(*first, m) : host;
  };
  const auto event = [&](const std::string& name, const char* row, const Moment& start, double ms, std::string args) {
    out << separator
        << fmt::format(
               R"({{"name": {}, "ph": "X", "pid": 1, "tid": "{}", "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
               text::json(name), row, microseconds(start), 1e3 * ms, args);
    separator = ",\n";
  };
  recorder_->for_each_call([&](const Call& call, double cast_ms, double) {
    const char* row = rows[static_cast<size_t>(call.kind)];
    if (call.casts > 0) {
      event("casts for " + call.op, row, call.enter, cast_ms,
            fmt::format(R"("tensors": {}, "bytes": {})", call.casts, call.cast_bytes));
    }
    event(call.kind == Kind::node ? call.op + " (backward)" : call.op, row, call.casts ? call.start : call.enter,
          call.ms(), fmt::format(R"("dtype": "{}", "bytes": {})", tandem::name(call.dtype), call.bytes));
  });
  out << "\n]}\n";
  TANDEM_CHECK(out.flush(), IoError, "{}: cannot write the file; check its folder and the space on the disk", file);
}

std::ostream& operator<<(std::ostream& stream, const Profiler& profiler) { return stream << profiler.table(); }

}  // namespace tandem::amp
