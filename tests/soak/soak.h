#pragma once
// Shared by the finders: the number of random inputs, child processes, and known failures.
//
//   for (Inputs inputs(200); inputs.next();) {
//     SCOPED_TRACE(inputs.reproduction());
//     std::mt19937_64 random(inputs.seed());
//     ...
//   }
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/sanitizers.h"

namespace tandem::testing {

/// The random inputs of one finder. Their seeds count up from TANDEM_SOAK_SEED (default 0). The number of inputs is
/// TANDEM_SOAK_COUNT (default `usual`), or with TANDEM_SOAK_SECONDS as many as the time allows.
class Inputs {
 public:
  explicit Inputs(uint64_t usual);
  /// Advances to the next input. Returns false at the end and after a failure.
  bool next();
  uint64_t seed() const { return seed_; }
  /// One past the last seed, if the number of inputs is fixed.
  uint64_t end() const { return end_; }
  /// Continues with `seed`.
  void skip_to(uint64_t seed) { seed_ = seed - 1; }
  /// The command that runs only the current input.
  std::string reproduction() const { return reproduction(seed_); }
  static std::string reproduction(uint64_t seed);

 private:
  uint64_t seed_, end_;
  std::chrono::steady_clock::time_point deadline_;
  bool timed_ = false;
};

/// TANDEM_SOAK_SEED.
uint64_t first_seed();

/// Returns the address space in use, in bytes.
uint64_t address_space();

/// One input that a child process tried, and how it ended. `ending` is empty on success; otherwise the signal,
/// "did not end ...", or what the child reported.
struct Outcome {
  uint64_t seed = 0;
  std::string input = {};
  std::string ending = {};
};

/// A function of a seed that child processes run. It first reports its input, so that the parent has it even if the
/// process dies, and returns a description of what is wrong, or "".
using ChildTask = std::function<std::string(uint64_t seed, const std::function<void(const std::string&)>& report)>;
/// Registers a task by name, before main.
struct ChildTaskRegistration {
  ChildTaskRegistration(const char* name, ChildTask task);
};

/// Limits for each input of a child: processor time, so that a busy machine does not matter, and address space in MiB
/// on top of what the process has reserved at its start (0: no limit).
struct ChildLimits {
  int processor_seconds = kSlowRun ? 40 : 8;
  uint64_t memory_mib = 0;
};

/// Runs the task for seeds first .. end - 1 in child processes, restarted (exec) whenever one dies, and returns
/// the inputs that failed. All seeds are tried unless `seconds` pass first.
std::vector<Outcome> run_in_children(const std::string& task, uint64_t first, uint64_t end, ChildLimits limits,
                                     double seconds = 1e9);
/// The same for a finder's inputs. Adds a failure to the current test for each bad outcome that known_failures.h does
/// not list.
void expect_good_outcomes(const std::string& task, uint64_t usual_count, ChildLimits limits);

/// main() of the child: argv is PROGRAM --child TASK FIRST END PROCESSOR_SECONDS MEMORY_MIB.
int run_child(int argc, char** argv);

/// Returns the defect in known_failures.h that explains this ending of this input, or "".
std::string known_defect(const std::string& finder, const std::string& input, const std::string& ending);

}  // namespace tandem::testing
