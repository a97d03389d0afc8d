#pragma once
// Profiler: where the time of a step goes, op by op, casts included.
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/autograd/observer.h"

#pragma GCC visibility push(default)
namespace tandem::amp {

/// The calls of one op in one dtype, in one pass.
struct ProfiledOp {
  std::string op;  ///< or the label of a scope
  /// The op's dtype argument; else the widest dtype of its floating inputs after casts; else that of its result.
  DType dtype = kFloat;
  /// Of a node of the graph: what its backward did outside ops, such as kernels that compute gradients directly.
  bool backward = false;
  int64_t calls = 0;
  double ms = 0;           ///< without the casts, and without ops and scopes inside it
  double cast_ms = 0;      ///< casts of the inputs by the policy
  int64_t casts = 0;       ///< tensors that the policy cast
  int64_t cast_bytes = 0;  ///< written by these casts
  int64_t bytes = 0;       ///< of the inputs and the results: the least that must be read and written
};

/// During its lifetime, measures the ops of the calling thread, and of threads that get its modes through
/// ThreadContext, as OpStats counts them: forward, backward and in-place. A scope measures what is no op, such as an
/// optimizer step.
///
///   amp::Profiler profiler(&std::cout);   // prints its table at the end
///   for (...) {
///     train_one_step();                   // with { auto scope = profiler.scope("optimizer"); optimizer.step(); }
///   }
///   profiler.write_chrome_trace("trace.json");   // for chrome://tracing or ui.perfetto.dev
///
/// On the CPU the times are those of the host. On CUDA they are the device's, between events on the current stream, so
/// measuring does not wait; the functions that report wait for the device. Costs half a microsecond per op, more on
/// CUDA. Do not use it while a CUDA graph is captured.
class Profiler {
  class Recorder;

 public:
  /// The destructor writes the table to `print_at_end`, unless that is null.
  [[nodiscard]] explicit Profiler(std::ostream* print_at_end = nullptr);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Measures until its end as an op called `label`. `device` is where its work runs.
  class [[nodiscard]] Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend Profiler;
    Scope(std::shared_ptr<Recorder> recorder, std::string label, Device device);
    std::shared_ptr<Recorder> recorder_;
  };
  /// Starts a Scope.
  Scope scope(std::string label, Device device = kCPU) { return Scope(recorder_, std::move(label), device); }

  /// The calls so far, by decreasing time.
  std::vector<ProfiledOp> ops() const;
  /// Returns the milliseconds from the start of the profiler, or the last reset(), until now.
  double total_ms() const;
  /// Returns a table with one line per op, dtype and pass: time without casts, its share of total_ms() with casts, time
  /// per call, rate of memory, and casts. The last line has the time outside ops: what no scope covers of optimizer,
  /// data and program.
  std::string table() const;
  /// Writes all calls as events of the Chrome trace format, one row for the forward pass, one for the backward pass and
  /// one for scopes. Throws IoError if the file cannot be written.
  void write_chrome_trace(const std::string& file) const;
  /// Forgets all calls, for example those of the warm-up.
  void reset();

 private:
  std::shared_ptr<Recorder> recorder_;
  std::ostream* print_at_end_;
  autograd::ObserverGuard guard_;
};

/// Writes table().
std::ostream& operator<<(std::ostream& stream, const Profiler& profiler);

}  // namespace tandem::amp
#pragma GCC visibility pop
