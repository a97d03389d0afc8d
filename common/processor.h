#pragma once
// The processor of this machine, for the examples, the benchmarks and the command-line tool. Does not depend on tandem:
// scripts/bench.sh compiles it into programs that use libtorch.
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct Processor {
  std::string name = "unknown processor";  ///< from /proc/cpuinfo, such as "AMD EPYC"
  int family = -1, model = -1;             ///< -1 where /proc/cpuinfo has none
  /// Those that matter to mixed precision, by their names in /proc/cpuinfo: "avx512f", "avx512_bf16", "amx_fp16", ...
  std::vector<std::string> instruction_sets;

  bool has(std::string_view instruction_set) const;
  /// Whether there are instructions that multiply "f16" or "bf16"; true for other dtypes. Without them, tandem widens
  /// the numbers to f32.
  bool multiplies(std::string_view dtype) const;
  /// Returns the name, family and model, and instruction sets, without those that the others imply:
  /// "AMD EPYC (family 26 model 2; avx512f avx512_bf16)".
  std::string description() const;
};

/// Returns the processor that runs this process.
const Processor& processor();
/// Returns one sentence for each of the precisions ("f32", "bf16", "f16") that this processor does not multiply, or "".
std::string missing_arithmetic(const std::vector<std::string>& precisions);

}  // namespace common
