// `tandem inspect`: the tensors in files, and whether f16 holds their values.
#include <fmt/format.h>
#include <tandem/base/error.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/statistics.h"
#include "tools/table.h"
#include "tools/tensor_file.h"
#include "tools/text.h"

namespace tools {
namespace {

using json = nlohmann::ordered_json;

std::string shape_text(const tandem::Tensor& t) {
  std::string text = "[";
  for (int64_t d = 0; d < t.dim(); ++d) text += fmt::format("{}{}", d == 0 ? "" : ", ", t.size(d));
  return text + "]";
}

json statistics_json(const Statistics& s) {
  json result = {{"min", s.min},
                 {"max", s.max},
                 {"mean", s.mean},
                 {"largest_magnitude", s.largest},
                 {"smallest_nonzero_magnitude", s.smallest_nonzero},
                 {"zeros", s.zeros},
                 {"nan", s.nan},
                 {"inf", s.inf}};
  if (s.floating) {
    result["f16"] = {{"overflows", s.f16_overflows},
                     {"underflows", s.f16_underflows},
                     {"subnormals", s.f16_subnormals},
                     {"fits", s.fits_f16()},
                     {"verdict", s.verdict()}};
  }
  return result;
}

struct Row {
  std::string name;
  tandem::Tensor tensor;
  Statistics statistics;  ///< only with --stats
};

std::string file_verdict(const std::vector<Row>& rows) {
  std::vector<std::string> unfit;
  int64_t floating = 0, nonfinite = 0;
  for (const Row& row : rows) {
    if (!row.statistics.floating || row.statistics.number) continue;
    ++floating;
    if (row.statistics.nan + row.statistics.inf > 0) ++nonfinite;
    if (!row.statistics.fits_f16()) unfit.push_back(row.name);
  }
  std::string text;
  if (floating == 0) return "no floating tensors";
  if (nonfinite > 0) text = fmt::format("NaN or inf in {} of {} floating tensors; ", nonfinite, floating);
  if (unfit.empty()) {
    return text + (floating == 1 ? "f16 holds the floating tensor"
                                 : fmt::format("f16 holds all {} floating tensors", floating));
  }
  text += fmt::format("f16 does not hold {} of {} floating tensors: {}", unfit.size(), floating, some_of(unfit));
  return text + "; keep these in f32, or use bf16, which has the range of f32";
}

json file_json(const std::string& path, const TensorFile& file, const std::vector<Row>& rows, bool stats) {
  json result = {{"file", path}, {"format", name(file.format)}, {"bytes", file.bytes}};
  result["checkpoint"] = file.is_checkpoint();
  if (file.format == FileFormat::safetensors) {
    result["checksums"] = file.has_checksums;
    result["metadata"] = file.metadata;
  }
  if (file.format == FileFormat::pytorch) {
    result["left_out"] = file.left_out;
    result["shared_memory"] = file.shared_memory;
  }
  int64_t elements = 0;
  size_t bytes = 0;
  result["tensors"] = json::array();
  for (const Row& row : rows) {
    json sizes = json::array();
    for (int64_t d = 0; d < row.tensor.dim(); ++d) sizes.push_back(row.tensor.size(d));
    json entry = {{"name", row.name},
                  {"dtype", tandem::name(row.tensor.dtype())},
                  {"shape", sizes},
                  {"elements", row.tensor.numel()},
                  {"bytes", row.tensor.nbytes()}};
    if (stats) entry["statistics"] = statistics_json(row.statistics);
    result["tensors"].push_back(std::move(entry));
    elements += row.tensor.numel();
    bytes += row.tensor.nbytes();
  }
  result["totals"] = {{"tensors", rows.size()}, {"elements", elements}, {"bytes", bytes}};
  if (stats) result["verdict"] = file_verdict(rows);
  return result;
}

void print_tensors(const std::vector<Row>& rows) {
  Table table("llrrr");
  table.add({"name", "dtype", "shape", "elements", "bytes"});
  for (const Row& row : rows) {
    table.add({row.name, std::string(tandem::name(row.tensor.dtype())), shape_text(row.tensor),
               std::to_string(row.tensor.numel()), std::to_string(row.tensor.nbytes())});
  }
  fmt::print("{}", table.text());
}

std::string share_text(int64_t part, int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_values(const std::vector<Row>& rows) {
  Table table("lrrrrrrrr");
  table.add({"values", "min", "max", "mean", "max |x|", "min |x| > 0", "zeros", "NaN", "inf"});
  const auto number = [](double x) { return std::isnan(x) ? "-" : fmt::format("{:.4g}", x); };
  for (const Row& row : rows) {
    const Statistics& s = row.statistics;
    table.add({row.name, number(s.min), number(s.max), number(s.mean), number(s.largest), number(s.smallest_nonzero),
               share_text(s.zeros, s.count), std::to_string(s.nan), std::to_string(s.inf)});
  }
  fmt::print("\n{}", table.text());
}

/// The shares are those of the finite nonzero values.
void print_fitness(const std::vector<Row>& rows) {
  Table table("lrrrl");
  table.add({"cast to f16", "become inf", "become 0", "lose bits", "verdict"});
  bool any = false;
  for (const Row& row : rows) {
    const Statistics& s = row.statistics;
    if (!s.floating || s.number) continue;
    any = true;
    table.add({row.name, share_text(s.f16_overflows, s.nonzero()), share_text(s.f16_underflows, s.nonzero()),
               share_text(s.f16_subnormals, s.nonzero()), s.verdict()});
  }
  if (any) fmt::print("\n{}", table.text());
}

/// Prints elements and bytes by dtype, and for a checkpoint by the part that the first word of the name tells.
void print_totals(const TensorFile& file, const std::vector<Row>& rows) {
  struct Total {
    int64_t tensors = 0, elements = 0, bytes = 0;
    void add(const tandem::Tensor& t) {
      ++tensors;
      elements += t.numel();
      bytes += static_cast<int64_t>(t.nbytes());
    }
  };
  std::map<std::string, Total> dtypes, parts;
  Total all;
  for (const Row& row : rows) {
    all.add(row.tensor);
    dtypes[std::string(tandem::name(row.tensor.dtype()))].add(row.tensor);
    parts[row.name.substr(0, row.name.find('.'))].add(row.tensor);
  }
  Table table("lrrr");
  table.add({"total", "tensors", "elements", "bytes"});
  const auto add = [&](const std::string& label, const Total& total) {
    table.add({label, std::to_string(total.tensors), std::to_string(total.elements), bytes_text(total.bytes)});
  };
  if (file.is_checkpoint()) {
    for (const auto& [part, total] : parts) add(total.tensors > 1 ? part + ".*" : part, total);
  }
  if (dtypes.size() > 1) {
    for (const auto& [dtype, total] : dtypes) add(dtype, total);
  }
  add("all", all);
  fmt::print("\n{}", table.text());
}

void print_remarks(const std::string& path, const TensorFile& file) {
  for (const auto& [key, text] : file.metadata) fmt::print("metadata {}: {}\n", key, text);
  if (file.has_checksums) fmt::print("tandem wrote this file; its checksums match\n");
  if (!file.left_out.empty()) fmt::print("not shown, since not tensors or numbers: {}\n", some_of(file.left_out));
  if (!file.shared_memory.empty()) {
    fmt::print("share memory with other tensors, so the totals count it more than once: {}\n",
               some_of(file.shared_memory));
  }
  try {
    if (format_by_name(path) == file.format) return;
  } catch (const tandem::IoError&) {
    return;  // a name without a known extension promises nothing
  }
  fmt::print("the extension is that of another format; rename the file so that other programs recognise it\n");
}

json inspect(const std::string& path, const InspectOptions& options) {
  const TensorFile file = read_tensor_file(path);
  std::vector<Row> rows;
  for (const auto& item : file.tensors) {
    rows.push_back({item.key(), item.value(), options.stats ? statistics(item.value()) : Statistics{}});
  }
  if (options.as_json) return file_json(path, file, rows, options.stats);
  fmt::print("{}: {}{}, {}\n\n", path, name(file.format), file.is_checkpoint() ? ", a checkpoint" : "",
             bytes_text(file.bytes));
  print_tensors(rows);
  if (options.stats) {
    print_values(rows);
    print_fitness(rows);
  }
  print_totals(file, rows);
  print_remarks(path, file);
  if (options.stats) fmt::print("verdict: {}\n", file_verdict(rows));
  return {};
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  json files = json::array();
  int status = 0;
  for (size_t i = 0; i < options.files.size(); ++i) {
    try {
      if (i > 0 && !options.as_json) fmt::print("\n");
      json file = inspect(options.files[i], options);
      if (options.as_json) files.push_back(std::move(file));
    } catch (const tandem::Error& error) {
      fmt::print(stderr, "tandem inspect: {}\n", error.message());
      status = 1;
    }
  }
  if (options.as_json) {
    fmt::print("{}\n", json{{"files", files}}.dump(2, ' ', false, json::error_handler_t::replace));
  }
  return status;
}

}  // namespace tools
