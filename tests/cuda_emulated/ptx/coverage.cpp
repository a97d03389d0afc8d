#include "cuda_emulated/ptx/coverage.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

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

}  // namespace

bool is_coverage_wanted() {
  static const bool wanted = std::getenv("TANDEM_PTX_COVERAGE") != nullptr;
  return wanted;
}

void add_coverage(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts, double seconds) {
  TestCoverage& test = coverage().tests[testing::running_test.name()];
  test.seconds += seconds;
  std::set<int>& lines = test.lines[{kernel.file, kernel.name}];
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].threads) lines.insert(kernel.code[i].line);
  }
}

}  // namespace tandem::cuda::emulated
