#include "processor.h"

#include <fstream>
#include <map>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bench {
namespace {

struct Features {
  bool avx2 = false, avx512f = false, avx512_bf16 = false, avx512_fp16 = false, amx_bf16 = false, amx_fp16 = false;
};

Features features() {
  Features f;
#if defined(__x86_64__)
  const auto bit = [](unsigned word, int n) { return (word >> n & 1) != 0; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    f.avx2 = bit(b, 5);
    f.avx512f = bit(b, 16);
    f.amx_bf16 = bit(d, 22) && bit(d, 24);
    f.avx512_fp16 = bit(d, 23);
  }
  const bool tiles = bit(d, 24);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    f.avx512_bf16 = bit(a, 5);
    f.amx_fp16 = bit(a, 21) && tiles;
  }
#endif
  return f;
}

/// Returns the entries of the first processor in /proc/cpuinfo.
std::map<std::string, std::string> cpuinfo() {
  std::map<std::string, std::string> entries;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == line.npos || colon + 2 > line.size()) continue;
    entries[line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1)] = line.substr(colon + 2);
  }
  return entries;
}

std::string name_and_model() {
  auto entries = cpuinfo();
  std::string name = entries["model name"];
  if (name.empty()) name = "unknown processor";
  if (entries.contains("cpu family")) {
    name.append(" (family ").append(entries["cpu family"]).append(" model ").append(entries["model"]);
  }
  return name;
}

}  // namespace

std::string processor() {
  const Features f = features();
  std::string sets;
  const auto add = [&](bool present, const char* name) {
    if (!present) return;
    if (!sets.empty()) sets += ' ';
    sets += name;
  };
  add(f.avx2 && !f.avx512f, "avx2");
  add(f.avx512f, "avx512f");
  add(f.avx512_bf16, "avx512_bf16");
  add(f.avx512_fp16, "avx512_fp16");
  add(f.amx_bf16, "amx_bf16");
  add(f.amx_fp16, "amx_fp16");
  std::string name = name_and_model();
  if (name.find('(') == name.npos) return name;
  if (!sets.empty()) name.append("; ").append(sets);
  return name.append(")");
}

bool computes_f16() {
  const Features f = features();
  return f.avx512_fp16 || f.amx_fp16;
}

}  // namespace bench
