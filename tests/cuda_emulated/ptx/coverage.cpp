// Which PTX instructions each test executes: written at the program's end to the folder that TANDEM_PTX_COVERAGE names,
// for scripts/ptx_coverage.py.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "cuda_emulated/ptx/launch_listeners.h"
#include "support/running_test.h"

namespace tandem::cuda::emulated {
namespace {

struct TestCoverage {
  double seconds = 0;                                                  ///< that its kernels took
  std::map<std::pair<std::string, std::string>, std::set<int>> lines;  ///< executed, by PTX file and kernel
};

/// The executed lines of 1, 2, 3 and 7 as " 1-3 7".
void write_ranges(std::ostream& out, const std::set<int>& lines) {
  for (auto at = lines.begin(); at != lines.end();) {
    const int first = *at;
    int last = first;
    while (++at != lines.end() && *at == last + 1) ++last;
    out << ' ' << first;
    if (last > first) out << '-' << last;
  }
}

/// A line per test, `test <name> <seconds>`, followed by one per kernel, `kernel <file> <name> <lines...>`.
struct Coverage {
  std::map<std::string, TestCoverage> tests;

  void write() const {
    const std::filesystem::path folder = std::getenv("TANDEM_PTX_COVERAGE");
    std::filesystem::create_directories(folder);
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename().string();
    std::ofstream out(folder / (program + "." + std::to_string(getpid()) + ".txt"));
    for (const auto& [name, test] : tests) {
      out << "test " << name << ' ' << test.seconds << '\n';
      for (const auto& [kernel, lines] : test.lines) {
        out << "kernel " << kernel.first << ' ' << kernel.second;
        write_ranges(out, lines);
        out << '\n';
      }
    }
  }
};

/// Written when the program ends. Never destroyed, because static tensors may be freed later, and that lets work run.
Coverage& coverage() {
  static auto& all = []() -> Coverage& {
    std::atexit([] { coverage().write(); });
    return *new Coverage;
  }();
  return all;
}

/// Adds a launch to the test that is running.
void add_coverage(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts, double seconds) {
  TestCoverage& test = coverage().tests[testing::running_test.name()];
  test.seconds += seconds;
  std::set<int>& lines = test.lines[{kernel.file, kernel.name}];
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].threads) lines.insert(kernel.code[i].line);
  }
}

[[maybe_unused]] const bool is_wanted = [] {
  if (!std::getenv("TANDEM_PTX_COVERAGE")) return false;
  launch_listeners().push_back(add_coverage);
  return true;
}();

}  // namespace
}  // namespace tandem::cuda::emulated
