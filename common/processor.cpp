#include "common/processor.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace common {
namespace {

/// Returns the entries of the first processor in /proc/cpuinfo.
std::map<std::string, std::string> cpuinfo() {
  std::map<std::string, std::string> entries;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0 || colon + 2 > line.size()) continue;
    entries[line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1)] = line.substr(colon + 2);
  }
  return entries;
}

#if defined(__x86_64__)
/// Asks the processor, because old kernels do not list its newest instruction sets in /proc/cpuinfo.
std::vector<std::string> find_instruction_sets(const std::map<std::string, std::string>&) {
  std::vector<std::string> sets;
  const auto add = [&](bool present, const char* name) {
    if (present) sets.emplace_back(name);
  };
  const auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && bit(c, 29);
  unsigned d7 = 0, a71 = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) d7 = d;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) a71 = a;
  // These also ask whether the system saves the registers.
  const bool avx2 = __builtin_cpu_supports("avx2"), avx512f = __builtin_cpu_supports("avx512f"), tiles = bit(d7, 24);
  add(avx2, "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(avx2 && f16c, "f16c");
  add(avx512f, "avx512f");
  add(avx512f && bit(a71, 5), "avx512_bf16");
  add(avx512f && bit(d7, 23), "avx512_fp16");
  add(tiles && bit(d7, 22), "amx_bf16");
  add(tiles && bit(a71, 21), "amx_fp16");
  return sets;
}
#else
std::vector<std::string> find_instruction_sets(const std::map<std::string, std::string>& entries) {
  std::vector<std::string> sets;
  const auto features = entries.find("Features");
  std::istringstream words(features == entries.end() ? "" : features->second);
  for (std::string word; words >> word;) {
    if (word == "asimdhp" || word == "bf16" || word == "sve" || word == "sve2") sets.push_back(word);
  }
  return sets;
}
#endif

Processor find_processor() {
  const auto entries = cpuinfo();
  const auto number = [&](const char* key) {
    const auto entry = entries.find(key);
    return entry == entries.end() ? -1 : std::atoi(entry->second.c_str());
  };
  Processor p;
  if (const auto name = entries.find("model name"); name != entries.end()) p.name = name->second;
  p.family = number("cpu family");
  p.model = number("model");
  p.instruction_sets = find_instruction_sets(entries);
  return p;
}

}  // namespace

bool Processor::has(std::string_view instruction_set) const {
  return std::find(instruction_sets.begin(), instruction_sets.end(), instruction_set) != instruction_sets.end();
}

bool Processor::multiplies(std::string_view dtype) const {
  if (dtype == "f16") return has("avx512_fp16") || has("amx_fp16") || has("asimdhp");
  if (dtype == "bf16") return has("avx512_bf16") || has("amx_bf16") || has("bf16");
  return true;
}

std::string Processor::description() const {
  std::string details;
  if (family >= 0) details = "family " + std::to_string(family) + " model " + std::to_string(model);
  std::string sets;
  for (const std::string& set : instruction_sets) {
    if (set == "fma" || set == "f16c" || (set == "avx2" && has("avx512f"))) continue;
    sets.append(sets.empty() ? "" : " ").append(set);
  }
  if (!sets.empty()) details.append(details.empty() ? "" : "; ").append(sets);
  return details.empty() ? name : name + " (" + details + ")";
}

const Processor& processor() {
  static const Processor found = find_processor();
  return found;
}

std::string missing_arithmetic(const std::vector<std::string>& precisions) {
  std::string text;
  for (const std::string& precision : precisions) {
    if (processor().multiplies(precision)) continue;
    text += precision + ": this processor has no " + precision +
            " arithmetic, so tandem widens the numbers and computes in f32; expect less\n"
            "memory in large networks, but little gain in time, or none.\n";
  }
  return text;
}

}  // namespace common
