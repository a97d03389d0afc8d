#include "cuda_emulated/ptx_counts/costs.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string_view>

#include "cuda_emulated/ptx/launch_listeners.h"
#include "tandem/cuda/device.h"

namespace tandem::ptx_counts {
namespace {

/// fma.rn.f32 of "@%p1 fma.rn.f32 %f1, %f2, %f3, %f4".
std::string_view opcode(std::string_view text) {
  if (text.starts_with("@")) {
    text.remove_prefix(std::min(text.size(), text.find(' ')));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  }
  return text.substr(0, text.find_first_of(" \t;"));
}

/// Whether it computes in f64, and does not only move values.
bool is_f64(std::string_view opcode) {
  constexpr std::string_view moves[] = {"ld.", "st.", "mov.", "selp."};
  const bool moves_only = std::ranges::any_of(moves, [&](std::string_view m) { return opcode.starts_with(m); });
  return !moves_only && opcode.find(".f64") != std::string_view::npos;
}

Costs costs(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts) {
  Costs all{.launches = 1};
  for (size_t n = 0; n < counts.size(); ++n) {
    const ptx::Count& count = counts[n];
    const std::string_view name = opcode(kernel.code[n].text);
    all += {.instructions = count.warps,
            .f64_instructions = is_f64(name) ? count.warps : 0,
            .matrix_products = name.starts_with("mma.") ? count.warps : 0,
            .sectors = count.sectors,
            .least_sectors = count.least_sectors,
            .wavefronts = count.wavefronts,
            .least_wavefronts = count.least_wavefronts};
  }
  return all;
}

/// Without namespaces, parameters, and the suffixes of template arguments that are numbers.
std::string short_name(const std::string& mangled) {
  const std::unique_ptr<char, decltype(&std::free)> full(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, nullptr), &std::free);
  if (!full) return mangled;
  std::string name = full.get();
  int depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
    const bool is_anonymous = name.compare(at, 11, "(anonymous ") == 0;
    if (name[at] == '(' && depth == 0 && !is_anonymous) name.resize(at);
  }
  name = std::regex_replace(
      name, std::regex(R"(\(anonymous namespace\)::|[a-z_0-9]+::(?=[A-Za-z(])|^void |\((unsigned )?(long|int|bool)\))"),
      "");
  return std::regex_replace(name, std::regex(R"(\b(\d+)u?l\b)"), "$1");
}

/// The kernels since costs_of() began; null outside of it.
std::map<std::string, Costs>* current = nullptr;

void add_launch(const ptx::Kernel& kernel, const std::vector<ptx::Count>& counts, double) {
  if (current) (*current)[short_name(kernel.name)] += costs(kernel, counts);
}

[[maybe_unused]] const bool listens = [] {
  cuda::emulated::launch_listeners().push_back(add_launch);
  return true;
}();

}  // namespace

Costs& Costs::operator+=(const Costs& other) {
  launches += other.launches;
  instructions += other.instructions;
  f64_instructions += other.f64_instructions;
  matrix_products += other.matrix_products;
  sectors += other.sectors;
  least_sectors += other.least_sectors;
  wavefronts += other.wavefronts;
  least_wavefronts += other.least_wavefronts;
  return *this;
}

std::map<std::string, Costs> costs_of(const std::function<void()>& body) {
  cuda::synchronize();  // the emulated device runs earlier launches now
  std::map<std::string, Costs> result;
  current = &result;
  body();
  cuda::synchronize();
  current = nullptr;
  return result;
}

}  // namespace tandem::ptx_counts
