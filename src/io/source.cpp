#include "src/io/source.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <iterator>
#include <memory>
#include <ostream>

#include "src/io/atomic_file.h"
#include "src/io/regular_file.h"
#include "tandem/base/check.h"
#include "tandem/base/warn.h"

namespace tandem::io {

Source file_source(const std::string& path) {
  const auto file = std::make_shared<RegularFile>(path, O_RDONLY);
  return {path + ": ", file->size(),
          [file](uint64_t offset, void* to, size_t bytes) { file->read(offset, to, bytes); }};
}

Source memory_source(std::string_view bytes) {
  return {/*where=*/"", bytes.size(), [bytes](uint64_t offset, void* to, size_t count) {
            if (count > 0) std::memcpy(to, bytes.data() + offset, count);
          }};
}

void write_file(const std::string& path, const std::function<void(const Write&)>& produce) {
  std::unique_ptr<AtomicFile> file;
  produce([&](const void* data, size_t bytes) {
    if (!file) file = std::make_unique<AtomicFile>(path);
    file->write(data, bytes);
  });
  file->commit();
}

std::string written_bytes(const std::function<void(const Write&)>& produce) {
  std::string bytes;
  produce([&](const void* data, size_t count) { bytes.append(static_cast<const char*>(data), count); });
  return bytes;
}

std::string read_stream(std::istream& stream) {
  std::string bytes(std::istreambuf_iterator<char>(stream), {});
  TANDEM_CHECK(!stream.bad(), IoError, "cannot read the stream; open it in binary mode and check that it is readable");
  return bytes;
}

void write_stream(std::ostream& stream, std::string_view bytes) {
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TANDEM_CHECK(stream.flush().good(), IoError,
               "cannot write {} bytes to the stream; check that it is open and has room", bytes.size());
}

uint32_t crc_of(uint32_t crc, const void* data, size_t bytes) {
  return bytes == 0 ? crc : static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

bool is_valid_bool(const Tensor& t) {
  const auto* bytes = static_cast<const unsigned char*>(t.raw_bytes());
  return std::all_of(bytes, bytes + t.nbytes(), [](unsigned char b) { return b <= 1; });
}

void swap_bytes(void* data, size_t count, size_t element_size) {
  if (element_size == 1) return;
  auto* at = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < count; ++i, at += element_size) std::reverse(at, at + element_size);
}

std::string shown(std::string_view name) {
  constexpr size_t limit = 80, longest = 4;  // bytes of a UTF-8 character
  size_t end = std::min(name.size(), limit);
  while (end < name.size() && end > limit - longest && (name[end] & 0xc0) == 0x80) --end;
  std::string text = fmt::format("'{}{}'", name.substr(0, end), name.size() > end ? "..." : "");
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text;
}

void warn_of_left_out(const std::string& where, const std::vector<std::string>& left_out) {
  constexpr size_t most = 16;
  if (left_out.empty()) return;
  const auto end = left_out.begin() + static_cast<std::ptrdiff_t>(std::min(left_out.size(), most));
  warn(fmt::format("{}left out, since tandem has no counterpart: {}{}", where, fmt::join(left_out.begin(), end, ", "),
                   left_out.size() > most ? ", ..." : ""));
}

}  // namespace tandem::io
