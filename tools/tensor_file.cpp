#include "tools/tensor_file.h"

#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/io/numpy.h>
#include <tandem/io/pickle.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
constexpr const char* kReadable = "tandem reads .safetensors, .pt, .pth, .npy and .npz";

/// Formats that tandem does not read, by their first bytes.
struct Stranger {
  std::string_view magic;
  const char* what;
  const char* cure;
};
constexpr Stranger kStrangers[] = {
    {"\x80\x02", "a bare Python pickle or a file of PyTorch before 1.6",
     "load it in Python and write it with torch.save(state_dict, path)"},
    {"\x80\x03", "a bare Python pickle", "load it in Python and write the tensors with torch.save(state_dict, path)"},
    {"\x80\x04", "a bare Python pickle", "load it in Python and write the tensors with torch.save(state_dict, path)"},
    {"\x89HDF", "an HDF5 file, as Keras writes", "read it with h5py and write it with safetensors.numpy.save_file"},
    {"GGUF", "a GGUF file", "use the safetensors file that it was made from"},
    {"\x1f\x8b", "a gzip file", "decompress it with gunzip"},
    {"\x89PNG", "a PNG picture", kReadable},
    {"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch the file with git lfs pull"},
    {"<", "an HTML or XML text, perhaps an error page in place of a download", "download the file again"},
};

/// Returns the name of the first entry of a zip archive, of which `start` has the first bytes.
std::string_view first_entry(std::string_view start) {
  constexpr size_t kHeader = 30, kLengthAt = 26;
  if (start.size() < kHeader) return "";
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(start[i])); };
  return start.substr(kHeader, byte(kLengthAt) + (byte(kLengthAt + 1) << 8));
}

/// Returns up to 512 bytes from the beginning of a file.
std::string first_bytes(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw IoError(fmt::format("{}: no such file; check the path", path));
  if (std::filesystem::is_directory(status)) {
    throw IoError(fmt::format("{}: a folder; name a file in it ({})", path, kReadable));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw IoError(fmt::format("{}: a device, pipe or socket; copy the data to a file first", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{}: cannot be read ({}); check its permissions", path, std::strerror(errno)));
  std::string bytes(512, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  if (bytes.empty()) throw IoError(fmt::format("{}: empty; copy or download the file again", path));
  return bytes;
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
      const IValue& key = entry.key();
      find_left_out(entry.value(),
                    below(key.isString() ? key.toStringRef()
                          : key.isInt()  ? std::to_string(key.toInt())
                                         : "?"),
                    found);
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
  constexpr const char* names[] = {"safetensors", "PyTorch", "NumPy array", "NumPy archive"};
  return names[static_cast<int>(format)];
}

FileFormat format_by_contents(const std::string& path) {
  const std::string start = first_bytes(path);
  if (start.starts_with("PK\3\4")) return first_entry(start).ends_with(".npy") ? FileFormat::npz : FileFormat::pytorch;
  if (start.starts_with("PK\5\6")) return FileFormat::npz;  // an archive without entries
  if (start.starts_with("\x93NUMPY")) return FileFormat::npy;
  if (path.ends_with(".safetensors") || (start.size() > 8 && start[8] == '{')) return FileFormat::safetensors;
  for (const Stranger& stranger : kStrangers) {
    if (!start.starts_with(stranger.magic)) continue;
    throw IoError(fmt::format("{}: {}; {}", path, stranger.what, stranger.cure));
  }
  throw IoError(fmt::format("{}: not a file of tensors, or a damaged one; {}", path, kReadable));
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
  file.bytes = static_cast<int64_t>(std::filesystem::file_size(path));
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
      file.tensors = io::to_state_dict(value);
      find_left_out(value, "", file.left_out);
      break;
    }
    case FileFormat::npy:
      file.tensors.insert("array", io::load_npy(path));
      break;
    case FileFormat::npz:
      file.tensors = io::load_npz(path);
      break;
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
  }
}

}  // namespace tools
