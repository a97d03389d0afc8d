#include "cuda_emulated/ptx_counts/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tandem/base/error.h"

namespace tandem::ptx_counts {
namespace {

constexpr double kLanes = 32, kSector = 32;
/// From this factor on, a number is far from its minimum.
constexpr double kFar = 2;

/// An H100 SXM: multiprocessors, clock in Hz, instructions of a warp per cycle, peak bandwidth in bytes/s (data sheet),
/// and the part of it that copies reach.
constexpr double kMultiprocessors = 132, kClock = 1.755e9, kIssues = 4, kBandwidth = 3.35e12, kReachable = 0.92;

/// "6.25 (4)", bold if far from the minimum.
std::string against(double value, double least) {
  const std::string text = fmt::format("{:.3g} ({:.3g})", value, least);
  return value >= kFar * least ? "**" + text + "**" : text;
}

/// "1.5", or "-" if there is nothing to compare.
std::string factor(uint64_t value, uint64_t least) {
  if (least == 0) return "-";
  const double ratio = static_cast<double>(value) / static_cast<double>(least);
  return fmt::format(fmt::runtime(ratio >= kFar ? "**{:.2f}**" : "{:.2f}"), ratio);
}

/// Thousands, without an exponent.
std::string thousands(double value) {
  return value >= 1e6 ? fmt::format("{:.0f}", value / 1e3) : fmt::format("{:.3g}", value / 1e3);
}

/// The share of an H100's peak bandwidth at which the least bytes would move.
std::string prediction(double warp_instructions, double least_bytes) {
  const double seconds = warp_instructions / (kMultiprocessors * kIssues * kClock);
  return fmt::format("{:.0f} %", 100 * std::min(kReachable, least_bytes / seconds / kBandwidth));
}

/// visit_runs of visit_runs<float, float, 2, add>.
std::string template_name(const std::string& kernel) { return kernel.substr(0, kernel.find('<')); }

}  // namespace

void Report::add(const std::string& what, const std::string& kernel, double elements, const Least& least,
                 const std::function<void()>& body) {
  Costs sum;
  std::string names;
  for (const auto& [name, costs] : costs_of(body)) {
    if (!name.starts_with(kernel)) continue;
    sum += costs;
    const std::string quoted = "`" + template_name(name) + "`";
    if (names.find(quoted) == std::string::npos) names += (names.empty() ? "" : ", ") + quoted;
  }
  if (names.empty()) throw StateError(fmt::format("ptx_counts: {}: no kernel whose name begins with {}", what, kernel));
  const auto of_element = [&](double value) { return value / elements; };
  const double warps = of_element(static_cast<double>(sum.instructions));
  const double bytes = of_element(kSector * static_cast<double>(sum.sectors));
  const bool is_product = least.matrix_products > 0;
  ops_.push_back(fmt::format(
      "| {} | {} | {:.1f} | {:.3g} | {} | {} | {} | {} |", what, names, kLanes * warps,
      of_element(kLanes * static_cast<double>(sum.f64_instructions)), against(bytes, least.bytes),
      factor(sum.wavefronts, sum.least_wavefronts),
      is_product ? against(of_element(static_cast<double>(sum.matrix_products)), least.matrix_products) : "-",
      is_product ? "-" : prediction(warps, least.bytes)));
}

void Report::add_step(const std::string& what, const std::function<void()>& body) {
  for (const auto& [name, sum] : costs_of(body)) {
    steps_.push_back(fmt::format("| {} | `{}` | {} | {} | {} | {} | {} | {} | {} |", what, name, sum.launches,
                                 thousands(kLanes * static_cast<double>(sum.instructions)),
                                 thousands(kLanes * static_cast<double>(sum.f64_instructions)),
                                 thousands(kSector * static_cast<double>(sum.sectors)),
                                 factor(sum.sectors, sum.least_sectors), factor(sum.wavefronts, sum.least_wavefronts),
                                 sum.matrix_products));
  }
}

std::string Report::ops() const {
  return "| op | kernels | instructions per element | of these in f64 | bytes per element (fewest possible) | passes "
         "over shared memory / fewest | `mma` per element (fewest possible) | predicted share of an H100's peak "
         "bandwidth |\n|---|---|---|---|---|---|---|---|\n" +
         fmt::format("{}\n", fmt::join(ops_, "\n"));
}

std::string Report::steps() const {
  return "| step | kernel | launches | thousands of instructions | of these in f64 | KB of sectors | sectors / fewest "
         "| "
         "passes over shared memory / fewest | `mma` |\n|---|---|---|---|---|---|---|---|---|\n" +
         fmt::format("{}\n", fmt::join(steps_, "\n"));
}

void replace_table(const std::string& page, const std::string& name, const std::string& table) {
  std::ifstream in(page);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string first = "<!-- " + name + " -->\n", last = "<!-- end of " + name + " -->";
  const size_t begin = text.find(first), end = text.find(last);
  if (begin == std::string::npos || end == std::string::npos) {
    throw StateError(fmt::format("ptx_counts: {} lacks the lines {} and {}", page, first, last));
  }
  text.replace(begin + first.size(), end - begin - first.size(), table);
  std::ofstream(page) << text;
}

}  // namespace tandem::ptx_counts
