#include "tools/tensor_file.h"

#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/io/file_kind.h>
#include <tandem/io/numpy.h>
#include <tandem/io/pickle.h>
#include <tandem/io/serialize.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unordered_set>

namespace tools {
namespace {

using tandem::IoError;
using tandem::IValue;
namespace io = tandem::io;

struct Extension {
  std::string_view text;
  FileFormat format;
};
constexpr Extension kExtensions[] = {{".safetensors", FileFormat::safetensors},
                                     {".pt", FileFormat::pytorch},
                                     {".pth", FileFormat::pytorch},
                                     {".npy", FileFormat::npy},
                                     {".npz", FileFormat::npz}};
std::string key_text(const IValue& key) {
  if (key.isString()) return key.toStringRef();
  return key.isNone() ? "None" : key.toScalar().str();
}

/// Whether this is the place of a parameter's name in libtorch's file of an optimizer. to_state_dict numbers
/// parameters.
bool is_parameter_name(std::string_view place) { return place.find("param_groups/") != place.npos; }

/// Adds the values of `value` that to_state_dict leaves out. None is not listed: it stands for an option that is not
/// set.
void find_left_out(const IValue& value, const std::string& name, std::vector<std::string>& found) {
  const auto below = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      find_left_out(entry.value(), below(key_text(entry.key())), found);
    }
  } else if (value.isObject()) {
    for (const auto& item : value.toObjectRef().attributes()) find_left_out(item.value(), below(item.key()), found);
  } else if (value.isList() || value.isTuple()) {
    int64_t i = 0;
    const auto& elements = value.isTuple() ? value.toTupleRef().elements() : value.toListRef();
    for (const IValue& element : elements) find_left_out(element, below(std::to_string(i++)), found);
  } else if (!value.isTensor() && !value.isScalar() && !value.isNone() && !is_parameter_name(name)) {
    found.push_back(fmt::format("{} ({})", name.empty() ? "the value" : name, value.tagKind()));
  }
}

/// Adds the tensors and numbers in a dictionary, although some get the same name, such as those of
/// {"a.b": ..., "a": {"b": ...}}: the later ones get a number.
void add_entries(tandem::StateDict& tensors, const tandem::GenericDict& dict, const std::string& place) {
  for (const auto& entry : dict) {
    const std::string key = place + key_text(entry.key());
    try {
      for (const auto& item : io::to_state_dict(tandem::GenericDict{{key, entry.value()}})) {
        std::string name = item.key();
        for (int i = 2; tensors.contains(name); ++i) name = fmt::format("{} ({})", item.key(), i);
        tensors.insert(name, item.value());
      }
    } catch (const tandem::StateError&) {
      if (!entry.value().isGenericDict()) throw;
      add_entries(tensors, entry.value().toGenericDict(), key + ".");
    }
  }
}

tandem::StateDict tensors_in(const IValue& value) {
  try {
    return io::to_state_dict(value);
  } catch (const tandem::StateError&) {
    if (!value.isGenericDict()) throw;
    tandem::StateDict tensors;
    add_entries(tensors, value.toGenericDict(), "");
    return tensors;
  }
}

std::vector<std::string> tensors_that_share(const tandem::StateDict& tensors) {
  std::unordered_set<const void*> seen;
  std::vector<std::string> names;
  for (const auto& item : tensors) {
    const tandem::Tensor& t = item.value();
    if (t.numel() > 0 && !seen.insert(&t.storage()).second) names.push_back(item.key());
  }
  return names;
}

/// Whether the header of a safetensors file has tandem's checksums, which load_file leaves out of the metadata.
bool has_checksums(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  char bytes[8];
  if (!file.read(bytes, 8)) return false;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  std::string header(std::min<uint64_t>(length, uint64_t{100} << 20), '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  return header.find("\"tandem.crc32\"") != header.npos;
}

}  // namespace

const char* name(FileFormat format) {
  constexpr const char* names[] = {"safetensors", "PyTorch", "NumPy array", "NumPy archive", "index of several files"};
  return names[static_cast<int>(format)];
}

FileFormat format_by_contents(const std::string& path) {
  if (std::filesystem::is_directory(path)) return FileFormat::index;
  switch (io::file_kind(path)) {
    case io::FileKind::safetensors:
      return FileFormat::safetensors;
    case io::FileKind::npy:
      return FileFormat::npy;
    case io::FileKind::npz:
      return FileFormat::npz;
    case io::FileKind::shard_index:
      return FileFormat::index;
    default:
      return FileFormat::pytorch;
  }
}

FileFormat format_by_name(const std::string& path) {
  for (const Extension& extension : kExtensions) {
    if (path.ends_with(extension.text)) return extension.format;
  }
  throw IoError(fmt::format(
      "{}: the extension does not say which format to write; end it in .safetensors, .pt, .pth, .npy or .npz", path));
}

bool TensorFile::is_checkpoint() const {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& item) { return item.key().find("param_groups.0.") != std::string::npos; });
}

TensorFile read_tensor_file(const std::string& path) {
  TensorFile file;
  file.format = format_by_contents(path);
  switch (file.format) {
    case FileFormat::safetensors: {
      io::TensorFile contents = io::load_file(path);
      file.tensors = std::move(contents.tensors);
      file.metadata = std::move(contents.metadata);
      file.has_checksums = has_checksums(path);
      break;
    }
    case FileFormat::pytorch: {
      const IValue value = io::load_pickle(path);
      file.tensors = tensors_in(value);
      find_left_out(value, "", file.left_out);
      break;
    }
    case FileFormat::npy:
      file.tensors.insert("array", io::load_npy(path));
      break;
    case FileFormat::npz:
      file.tensors = io::load_npz(path);
      break;
    case FileFormat::index:
      file.tensors = io::load_state(path);
      break;
  }
  if (file.format == FileFormat::index) {
    for (const auto& item : file.tensors) file.bytes += static_cast<int64_t>(item.value().nbytes());
  } else {
    file.bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  }
  if (file.format == FileFormat::pytorch) file.shared_memory = tensors_that_share(file.tensors);
  return file;
}

void write_tensor_file(const std::string& path, const tandem::StateDict& tensors, const io::Metadata& metadata) {
  switch (format_by_name(path)) {
    case FileFormat::safetensors:
      return io::save_file(tensors, path, metadata);
    case FileFormat::pytorch:
      return io::save_pt(tensors, path);
    case FileFormat::npy:
      return io::save_npy(tensors[0].value(), path);
    case FileFormat::npz:
      return io::save_npz(tensors, path);
    case FileFormat::index:  // no extension stands for it
      break;
  }
}

}  // namespace tools
