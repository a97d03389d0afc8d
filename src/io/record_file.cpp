#include "src/io/record_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include "src/io/path.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

constexpr std::array<uint32_t, 256> make_crc32c_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);  // the polynomial, reflected
    table[byte] = crc;
  }
  return table;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <class T>
void append_little_endian(std::string& to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) to += static_cast<char>(static_cast<uint8_t>(value >> (8 * i)));
}

template <class T>
T little_endian(const char* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<uint8_t>(from[i])) << (8 * i);
  return value;
}

constexpr size_t kFrameHead = sizeof(uint64_t) + sizeof(uint32_t), kFrameTail = sizeof(uint32_t);

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc32c_table();
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

std::string framed(std::string_view record) {
  std::string all;
  all.reserve(kFrameHead + record.size() + kFrameTail);
  append_little_endian(all, static_cast<uint64_t>(record.size()));
  append_little_endian(all, masked_crc32c(all));
  all += record;
  append_little_endian(all, masked_crc32c(record));
  return all;
}

void create_folder(const std::string& folder) {
  check_path(folder);
  std::error_code reason;
  std::filesystem::create_directories(folder, reason);
  TANDEM_CHECK(!reason, IoError, "{}: cannot create the folder: {}; check the path and the permissions of its folders",
               folder, reason.message());
}

RecordFile::RecordFile(std::string path, int flags) : path_(std::move(path)), file_(path_, flags) {}

void RecordFile::append(std::string_view record) {
  const std::string bytes = framed(record);
  const uint64_t end = file_.size();
  if (write_bytes(file_.descriptor(), bytes.data(), bytes.size())) return;
  const int reason = errno;
  file_.truncate(end);
  TANDEM_THROW(IoError, "{}: cannot write the file: {}; is the disk full?", path_, std::strerror(reason));
}

void RecordFile::for_each(const std::function<void(const std::string&)>& visit) const {
  const uint64_t size = file_.size();
  std::string record;
  for (uint64_t at = 0; at < size;) {
    char head[kFrameHead], tail[kFrameTail];
    const uint64_t left = size - at;
    if (left < kFrameHead) return file_.truncate(at);
    file_.read(at, head, kFrameHead);
    const auto bytes = little_endian<uint64_t>(head);
    constexpr const char* kDamaged = "{}: the file is damaged at byte {}, or not an event file; use another file";
    TANDEM_CHECK(masked_crc32c({head, sizeof(uint64_t)}) == little_endian<uint32_t>(head + sizeof(uint64_t)), IoError,
                 kDamaged, path_, at);
    if (left - kFrameHead < kFrameTail || bytes > left - kFrameHead - kFrameTail) return file_.truncate(at);
    record.resize(bytes);
    file_.read(at + kFrameHead, record.data(), bytes);
    file_.read(at + kFrameHead + bytes, tail, kFrameTail);
    TANDEM_CHECK(masked_crc32c(record) == little_endian<uint32_t>(tail), IoError, kDamaged, path_, at);
    visit(record);
    at += kFrameHead + bytes + kFrameTail;
  }
}

void RecordFile::sync() const {
  TANDEM_CHECK(fsync(file_.descriptor()) == 0, IoError, "{}: cannot store the file: {}; is the disk full?", path_,
               std::strerror(errno));
}

}  // namespace tandem::io
