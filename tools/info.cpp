// `tandem info`: what is fast on this machine.
#include <fmt/format.h>
#include <tandem/cuda/device.h>
#include <tandem/tensor/cpu_capability.h>
#include <tandem/tensor/threads.h>
#include <tandem/version.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include "common/processor.h"
#include "tools/commands.h"
#include "tools/cuda_versions.h"
#include "tools/system_memory.h"
#include "tools/text.h"

namespace tools {
namespace {

using json = nlohmann::ordered_json;
using tandem::DType;

constexpr DType kCandidates[] = {tandem::kFloat, tandem::kBFloat16, tandem::kHalf};

std::string openmp() {
#if defined(_OPENMP)
  // The compiler states the month of the specification.
  constexpr std::pair<int, const char*> kVersions[] = {{202411, "6.0"}, {202111, "5.2"}, {202011, "5.1"},
                                                       {201811, "5.0"}, {201511, "4.5"}, {201307, "4.0"}};
  for (const auto& [month, version] : kVersions) {
    if (_OPENMP >= month) return version;
  }
  return "3 or older";
#else
  return "none";
#endif
}

std::string cpu_advice() {
  const bool bf16 = tandem::cpu_multiplies(tandem::kBFloat16), f16 = tandem::cpu_multiplies(tandem::kHalf);
  if (bf16) return "autocast to bf16: it is fast here, has the range of f32 and needs no loss scaling";
  if (f16) return "autocast to f16, with a GradScaler: it is fast here";
  return "f32: bf16 and f16 are widened to f32 here, so autocast saves memory in large networks but no time";
}

json cpu_json() {
  const common::Processor& p = common::processor();
  json cpu = {{"name", p.name}, {"family", nullptr}, {"model", nullptr}, {"instruction_sets", p.instruction_sets}};
  if (p.family >= 0) cpu["family"] = p.family;
  if (p.model >= 0) cpu["model"] = p.model;
  cpu["cores"] = std::thread::hardware_concurrency();
  cpu["threads"] = tandem::get_num_threads();
  cpu["simd_level"] = tandem::get_cpu_capability();
  for (const DType dtype : kCandidates) cpu["fast_products"][std::string(name(dtype))] = tandem::cpu_multiplies(dtype);
  cpu["advice"] = cpu_advice();
  return cpu;
}

/// The dtypes that a device multiplies on its tensor cores, by its compute capability.
std::vector<std::string> multiplied_by(const tandem::cuda::DeviceProperties& device) {
  const int capability = device.major * 10 + device.minor;
  std::vector<std::string> dtypes = {"f32"};
  if (capability >= 70) dtypes.emplace_back("f16");
  if (capability >= 80) dtypes.emplace_back("bf16");
  if (capability >= 89) dtypes.emplace_back("f8");
  return dtypes;
}

std::string advice_for(const tandem::cuda::DeviceProperties& device) {
  if (device.major >= 8) return "autocast to bf16, or to f16 with a GradScaler: equally fast; f16 has three more bits";
  return "autocast to f16, with a GradScaler: this device does not multiply bf16";
}

json cuda_json() {
  json cuda = {{"compiled", has_cuda_backend() || tandem::cuda::is_available()},
               {"available", tandem::cuda::is_available()}};
  if (!tandem::cuda::is_available()) cuda["reason"] = tandem::cuda::unavailable_reason();
  for (const auto& [library, version] : cuda_versions()) cuda["versions"][library] = version;
  cuda["devices"] = json::array();
  for (int i = 0; i < tandem::cuda::device_count(); ++i) {
    const tandem::cuda::DeviceProperties& device = tandem::cuda::get_device_properties(i);
    cuda["devices"].push_back({{"name", device.name},
                               {"capability", fmt::format("{}.{}", device.major, device.minor)},
                               {"multiprocessors", device.multi_processor_count},
                               {"memory", device.total_memory},
                               {"multiplies", multiplied_by(device)},
                               {"advice", advice_for(device)}});
  }
  return cuda;
}

json info() {
  const tandem::CpuProductLibrary library = tandem::cpu_product_library();
  const SystemMemory memory = system_memory();
  json result = {{"tandem", tandem::version_string()},
                 {"cpu", cpu_json()},
                 {"products", {{"library", library.name}, {"version", library.version}, {"isa", library.isa}}},
                 {"openmp", openmp()},
                 {"memory", {{"total", memory.total}, {"available", memory.available}}},
                 {"cuda", cuda_json()}};
  if (memory.limit) result["memory"]["limit"] = *memory.limit;
  return result;
}

void row(const char* label, const std::string& text) { fmt::print("{:<13} {}\n", label, text); }

std::string joined(const json& words, const char* separator = " ") {
  std::string text;
  for (const json& word : words) text.append(text.empty() ? "" : separator).append(word.get<std::string>());
  return text.empty() ? "none" : text;
}

void print_cpu(const json& cpu) {
  std::string name = cpu["name"];
  if (!cpu["family"].is_null()) name += fmt::format(", family {} model {}", cpu["family"].dump(), cpu["model"].dump());
  row("processor", name);
  row("cores", fmt::format("{}; tandem uses {}", cpu["cores"].dump(), count_text(cpu["threads"], "thread")));
  row("instructions", joined(cpu["instruction_sets"]));
  row("SIMD level", cpu["simd_level"]);
  std::string products;
  for (const auto& [dtype, fast] : cpu["fast_products"].items()) {
    products += fmt::format("{}{} {}", products.empty() ? "" : ", ", dtype, fast ? "fast" : "widened to f32");
  }
  row("products", products);
  row("choose", cpu["advice"]);
}

void print_cuda(const json& cuda) {
  std::string text = cuda["compiled"] ? "compiled in" : "not compiled in";
  if (cuda.contains("versions")) {
    for (const auto& [library, version] : cuda["versions"].items()) {
      text += fmt::format(", {} {}", library, version.get<std::string>());
    }
  }
  row("CUDA", text);
  if (cuda.contains("reason")) row("", cuda["reason"]);
  int index = 0;
  for (const json& device : cuda["devices"]) {
    row(fmt::format("GPU {}", index++).c_str(),
        fmt::format("{}, compute capability {}, {} multiprocessors, {}", device["name"].get<std::string>(),
                    device["capability"].get<std::string>(), device["multiprocessors"].dump(),
                    bytes_text(device["memory"])));
    row("  products", joined(device["multiplies"], ", "));
    row("  choose", device["advice"]);
  }
}

void print(const json& info) {
  row("tandem", info["tandem"]);
  print_cpu(info["cpu"]);
  const json& products = info["products"];
  std::string library = products["library"];
  if (products["version"] != "") library += " " + products["version"].get<std::string>();
  if (products["isa"] != "") library += ", uses " + products["isa"].get<std::string>();
  row("library", library);
  row("OpenMP", info["openmp"]);
  const json& memory = info["memory"];
  row("memory", fmt::format("{}, {} available{}", bytes_text(memory["total"]), bytes_text(memory["available"]),
                            memory.contains("limit")
                                ? fmt::format(", limited to {} by the control group", bytes_text(memory["limit"]))
                                : ""));
  print_cuda(info["cuda"]);
}

}  // namespace

int run_info(const InfoOptions& options) {
  const json result = info();
  if (options.as_json) {
    fmt::print("{}\n", result.dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    print(result);
  }
  return 0;
}

}  // namespace tools
