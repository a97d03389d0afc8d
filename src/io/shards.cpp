#include "src/io/shards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/io/file_kind.h"
#include "tandem/base/check.h"
#include "tandem/io/serialize.h"

namespace tandem::io {
namespace {

constexpr uint64_t kMostIndexBytes = uint64_t{1} << 28;

nlohmann::ordered_json index_of(const Source& source) {
  TANDEM_CHECK(source.size <= kMostIndexBytes, IoError, "{}the index has {} bytes; at most {} are allowed",
               source.where, source.size, kMostIndexBytes);
  std::string text(source.size, '\0');
  source.read(0, text.data(), text.size());
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  TANDEM_CHECK(json.is_object() && json.contains("weight_map") && json["weight_map"].is_object(), IoError,
               "{}not an index of tensors: it is no JSON object with a weight_map; fetch the file again", source.where);
  return std::move(json["weight_map"]);
}

}  // namespace

std::string shard_index_in(const std::string& folder) {
  TANDEM_CHECK(!std::filesystem::exists(std::filesystem::path(folder) / ".metadata"), IoError,
               "{}: is a checkpoint of torch.distributed.checkpoint; convert it in Python: "
               "torch.distributed.checkpoint.format_utils.dcp_to_torch_save(folder, path)",
               folder);
  std::vector<std::string> found, of_safetensors;
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  TANDEM_CHECK(!error, IoError, "{}: cannot list the folder: {}; check its permissions", folder, error.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".index.json")) continue;
    found.push_back(name);
    if (name.ends_with(".safetensors.index.json")) of_safetensors.push_back(name);
  }
  std::vector<std::string>& best = of_safetensors.empty() ? found : of_safetensors;
  std::sort(best.begin(), best.end());
  TANDEM_CHECK(best.size() == 1, IoError,
               "{}: is a folder with {} files named *.index.json{}{}; name the index or the file of tensors in it",
               folder, best.size(), best.empty() ? "" : ": ", fmt::join(best, ", "));
  return (std::filesystem::path(folder) / best[0]).string();
}

StateDict load_shards(const std::string& index) {
  const nlohmann::ordered_json map = index_of(file_source(index));
  OrderedDict<std::string, StateDict> shards;
  StateDict state;
  for (const auto& [key, value] : map.items()) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    const std::filesystem::path file(name);
    TANDEM_CHECK(file.has_filename() && file == file.filename() && name != "." && name != "..", IoError,
                 "{}: the file of {} is {}, which is no name of a file beside the index; fetch the index again", index,
                 shown(key), shown(name));
    const StateDict* shard = shards.find(name);
    if (!shard) {
      const std::string path = (std::filesystem::path(index).parent_path() / file).string();
      TANDEM_CHECK(file_kind(path) != FileKind::shard_index, IoError, "{}: is an index itself; name it instead", path);
      shard = &shards.insert(name, load_state(path));
    }
    const Tensor* tensor = shard->find(key);
    TANDEM_CHECK(tensor, IoError, "{}: {} should have {}, but has not; fetch both files again", index, shown(name),
                 shown(key));
    state.insert(key, *tensor);
  }
  return state;
}

}  // namespace tandem::io
