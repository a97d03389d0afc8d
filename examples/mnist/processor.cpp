#include "mnist/processor.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>

#include <fmt/format.h>

namespace mnist {
namespace {

/// Returns the value of the first line of /proc/cpuinfo that has one of these names, or "".
std::string cpuinfo(std::initializer_list<const char*> names) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    for (const char* name : names) {
      if (line.starts_with(name)) return line.substr(std::min(line.find(':') + 2, line.size()));
    }
  }
  return "";
}

/// Whether the processor has one of these instruction sets.
bool has_any(std::initializer_list<const char*> sets) {
  const std::string flags = fmt::format(" {} ", cpuinfo({"flags", "Features"}));
  return std::any_of(sets.begin(), sets.end(),
                     [&](const char* set) { return flags.find(fmt::format(" {} ", set)) != flags.npos; });
}

}  // namespace

std::string processor_name() {
  const std::string name = cpuinfo({"model name"});
  return name.empty() ? "unknown" : name;
}

std::string missing_arithmetic(const std::vector<std::string>& precisions) {
  std::string text;
  for (const std::string& precision : precisions) {
    const bool missing = (precision == "f16" && !has_any({"avx512_fp16", "amx_fp16", "asimdhp"})) ||
                         (precision == "bf16" && !has_any({"avx512_bf16", "amx_bf16", "bf16"}));
    if (!missing) continue;
    text += fmt::format(
        "{}: this processor has no {} arithmetic, so tandem widens the numbers and computes in f32; expect less\n"
        "memory in large networks, but no gain in time.\n",
        precision, precision);
  }
  return text;
}

}  // namespace mnist
