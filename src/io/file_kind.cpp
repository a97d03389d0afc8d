#include "src/io/file_kind.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "src/io/legacy_torch.h"
#include "src/io/safetensors_header.h"
#include "src/io/utf8.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

using namespace std::string_view_literals;

constexpr const char* kSaveAgain = "load it in Python and write the tensors with torch.save(state_dict, path)";

/// A format that has certain bytes at a fixed offset.
struct Format {
  size_t at;
  std::string_view magic;
  std::optional<FileKind> kind;
  const char* what;
  const char* cure;
};
// The first that fits counts.
constexpr Format kFormats[] = {
    {0, "\x93NUMPY"sv, FileKind::npy, "a NumPy array (.npy)", "read it with io::load_npy"},
    {0, "PK\5\6"sv, FileKind::npz, "a zip archive without records", "save tensors in it"},
    {0, "version https://git-lfs"sv, {}, "a pointer of Git LFS, not the file itself", "fetch it with git lfs pull"},
    {0, "\x89HDF\r\n"sv, {}, "an HDF5 file, as Keras writes", "read it with h5py and write it with safetensors.numpy"},
    {0, "GGUF"sv, {}, "a GGUF file", "use the safetensors file that it was made from"},
    {0, "ggjt"sv, {}, "a GGML file", "use the safetensors file that it was made from"},
    {0, "\x1f\x8b"sv, {}, "a gzip file", "decompress it with gunzip"},
    {0, "BZh"sv, {}, "a bzip2 file", "decompress it with bunzip2"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     {},
     "an xz file",
     "decompress it with unxz"},
    {0, "\x28\xb5\x2f\xfd"sv, {}, "a zstd file", "decompress it with unzstd"},
    {0, "7z\xbc\xaf\x27\x1c"sv, {}, "a 7z archive", "unpack it"},
    {257,
     "ustar"sv,
     {},
     "a tar archive, as PyTorch before 0.2 and many others write",
     "unpack it; if PyTorch wrote it, load it in Python and write the tensors with torch.save(state_dict, path)"},
    {4, "TFL3"sv, {}, "a TensorFlow Lite model", "export the weights to safetensors"},
    {0, "MATLAB 5.0 MAT-file"sv, {}, "a MATLAB file", "read it with scipy.io.loadmat and write it with numpy.savez"},
    {0, "\x89PNG"sv, {}, "a PNG picture", "name a file of tensors"},
    {0, "\xff\xd8\xff"sv, {}, "a JPEG picture", "name a file of tensors"},
    {0, "%PDF"sv, {}, "a PDF document", "name a file of tensors"},
    {0,
     "\x7f"
     "ELF"sv,
     {},
     "a program or library",
     "name a file of tensors"},
};

size_t byte_at(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : size_t{0};
}

/// The name of the first record of a zip archive.
std::string_view first_record(std::string_view start) {
  constexpr size_t header = 30, length_at = 26;
  if (start.size() < header) return "";
  return start.substr(header, byte_at(start, length_at) + (byte_at(start, length_at + 1) << 8));
}

/// ONNX and TensorFlow models begin with a field 1 that is a small number, the version, and then a text or message.
bool is_protobuf_model(std::string_view start) {
  const size_t next = byte_at(start, 2);
  return byte_at(start, 0) == 0x08 && byte_at(start, 1) <= 0x40 && (next & 7) == 2 && next >= 0x12 && next <= 0x7a;
}

bool is_safetensors(std::string_view start) {
  uint64_t length = 0;
  if (start.size() <= sizeof length) return false;
  std::memcpy(&length, start.data(), sizeof length);
  return length <= kMaxHeaderBytes && start[sizeof length] == '{';
}

/// Whether the bytes are the beginning of a text in UTF-8, whose last character may be cut.
bool begins_text(std::string_view bytes) {
  const bool is_printable = std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || std::isspace(static_cast<unsigned char>(c));
  });
  if (!is_printable) return false;
  for (size_t cut = 0; cut <= std::min<size_t>(3, bytes.size()); ++cut) {
    if (is_utf8(bytes.substr(0, bytes.size() - cut))) return bytes.size() > cut;
  }
  return false;
}

/// Texts: those that servers send in place of a file, and JSON.
std::optional<FirstBytes> text_of(std::string_view start) {
  const size_t begin = start.starts_with("\xef\xbb\xbf") ? 3 : 0;
  const size_t first = start.find_first_not_of(" \t\r\n", begin);
  if (first == std::string_view::npos || !begins_text(start.substr(first))) return std::nullopt;
  const std::string_view text = start.substr(first);
  if (text.starts_with("<")) {
    return FirstBytes{{}, "an HTML or XML text, perhaps an error page in place of a download", "download it again"};
  }
  if (!text.starts_with("{") && !text.starts_with("[")) {
    return FirstBytes{{},
                      fmt::format("a text that begins with {}", shown(text.substr(0, text.find('\n')))),
                      "download the file again, or check the path"};
  }
  // The map may be far behind; the sum of the sizes, which some writers put first, is in no other JSON.
  if (text.find("\"weight_map\"") != text.npos || text.find("\"total_size\"") != text.npos) {
    return FirstBytes{FileKind::shard_index, "the index of a checkpoint in several files",
                      "read it with io::load_state"};
  }
  return FirstBytes{{}, "a JSON text", "name the file of the tensors; of an index, one with a weight_map"};
}

}  // namespace

FirstBytes look_at(const Source& source) {
  if (source.size == 0) return {{}, "an empty file (0 bytes)", "copy or download it again"};
  std::string start(std::min<uint64_t>(source.size, 512), '\0');
  source.read(0, start.data(), start.size());
  if (start.starts_with("PK\3\4")) {
    if (first_record(start).ends_with(".npy")) {
      return {FileKind::npz, "an archive of NumPy arrays (.npz)", "read it with io::load_npz"};
    }
    return {FileKind::torch, "a zip archive, as PyTorch writes (.pt)", "read it with io::load_pt or io::load_pickle"};
  }
  if (is_safetensors(start)) return {FileKind::safetensors, "a safetensors file", "read it with io::load_file"};
  for (const Format& f : kFormats) {
    if (start.size() > f.at && std::string_view(start).substr(f.at).starts_with(f.magic))
      return {f.kind, f.what, f.cure};
  }
  if (start[0] == '\x80' && byte_at(start, 1) >= 2 && byte_at(start, 1) <= 5) {
    if (std::string_view(start).substr(0, 32).find(kLegacyMark) != std::string_view::npos) {
      return {FileKind::legacy_torch, "a file of PyTorch before 1.6", "read it with io::load_pt or io::load_pickle"};
    }
    return {{}, "a bare Python pickle", kSaveAgain};
  }
  if (is_protobuf_model(start)) {
    return {{}, "a protobuf message, such as an ONNX or TensorFlow model", "export the weights to safetensors"};
  }
  if (std::all_of(start.begin(), start.end(), [](char c) { return c == 0; })) {
    return {{}, "zeros, as from an unfinished download", "download it again"};
  }
  return text_of(start).value_or(FirstBytes{});
}

void check_kind(const Source& source, FileKind wanted, const char* name) {
  const FirstBytes first = look_at(source);
  TANDEM_CHECK(first.kind == wanted || first.what.empty(), IoError, "{}not {}, but {}; {}", source.where, name,
               first.what, first.cure);
}

FileKind kind_of(const Source& source) {
  const FirstBytes first = look_at(source);
  TANDEM_CHECK(
      !first.what.empty(), IoError,
      "{}not a file of tensors, or a damaged one: the first of its {} bytes are those of no format that tandem "
      "reads (.safetensors, .pt, .pth, .npy, .npz); use another copy",
      source.where, source.size);
  TANDEM_CHECK(first.kind, IoError, "{}not a file of tensors, but {}; {}", source.where, first.what, first.cure);
  return *first.kind;
}

FileKind file_kind(const std::string& path) {
  const OpScope op("file_kind");
  return kind_of(file_source(path));
}

}  // namespace tandem::io
