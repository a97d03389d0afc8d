#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include "src/io/zip.h"
#include "tandem/base/check.h"

namespace tandem::io {
namespace {

static_assert(std::endian::native == std::endian::little, "zip archives are little-endian");

/// The fixed parts of the records, in bytes.
constexpr uint64_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kDirectoryEntrySize = 46, kLocalSize = 30;
constexpr uint32_t kEndMark = 0x06054b50, kEnd64Mark = 0x06064b50, kLocatorMark = 0x07064b50,
                   kDirectoryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncryptedFlag = 1, kZip64Field = 1;
/// Values that refer to a zip64 record.
constexpr uint16_t kSee64Short = 0xffff;
constexpr uint32_t kSee64 = 0xffffffff;
/// The largest ratio of deflate: 258 bytes for 2 bits.
constexpr uint64_t kMostExpansion = 1032;

template <class T>
T number_at(std::string_view bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

ZipReader::ZipReader(Source source) : source_(std::move(source)) {
  const Directory directory = find_directory();
  read_directory(directory);
  check_local_headers(directory.begin);
}

std::string ZipReader::bytes_at(uint64_t offset, uint64_t count, const char* what) const {
  TANDEM_CHECK(offset <= source_.size && count <= source_.size - offset, IoError,
               "{}cut off, or malformed: {} of {} bytes at byte {} ends after the file's {}; fetch the file again",
               where(), what, count, offset, source_.size);
  std::string bytes(count, '\0');
  source_.read(offset, bytes.data(), bytes.size());
  return bytes;
}

/// Finds the record at the end of the archive, and the zip64 record that it refers to. A comment and padding may
/// follow.
ZipReader::Directory ZipReader::find_directory() const {
  constexpr uint64_t kMostComment = 0xffff;
  const uint64_t tail_size = std::min(source_.size, kEndSize + kMostComment);
  const std::string tail = bytes_at(source_.size - tail_size, tail_size, "the end");
  std::optional<uint64_t> found;
  for (uint64_t at = tail_size < kEndSize ? 0 : tail_size - kEndSize + 1; at > 0 && !found; --at) {
    const uint64_t rest = tail_size - (at - 1) - kEndSize;
    if (number_at<uint32_t>(tail, at - 1) == kEndMark && number_at<uint16_t>(tail, at - 1 + 20) <= rest) found = at - 1;
  }
  TANDEM_CHECK(found, IoError,
               "{}cut off, or not a zip archive: its {} bytes do not end in a zip directory; fetch the "
               "file again",
               where(), source_.size);
  const std::string_view end = std::string_view(tail).substr(*found, kEndSize);
  const uint64_t end_at = source_.size - tail_size + *found;
  Directory directory{number_at<uint32_t>(end, 16), number_at<uint32_t>(end, 12), number_at<uint16_t>(end, 10)};
  uint64_t disk = number_at<uint16_t>(end, 4), directory_end = end_at;

  const std::string locator = end_at < kLocatorSize ? "" : bytes_at(end_at - kLocatorSize, kLocatorSize, "the locator");
  const bool has_64 = !locator.empty() && number_at<uint32_t>(locator, 0) == kLocatorMark;
  if (has_64) {
    directory_end = number_at<uint64_t>(locator, 8);
    TANDEM_CHECK(end_at - kLocatorSize >= kEnd64Size && directory_end <= end_at - kLocatorSize - kEnd64Size, IoError,
                 "{}malformed: the zip64 directory record is at byte {} of {}", where(), directory_end, source_.size);
    const std::string end64 = bytes_at(directory_end, kEnd64Size, "the zip64 directory record");
    TANDEM_CHECK(number_at<uint32_t>(end64, 0) == kEnd64Mark, IoError,
                 "{}malformed: there is no zip64 directory record at byte {}", where(), directory_end);
    // In a file of several archives, the last locator may refer to the record of the first.
    TANDEM_CHECK(
        number_at<uint64_t>(end64, 4) == end_at - kLocatorSize - directory_end - 12, IoError,
        "{}malformed: its zip64 records are apart, as in several archives in one file; convert a checkpoint of "
        "torch.distributed.checkpoint with its dcp_to_torch_save",
        where());
    const Directory wide{number_at<uint64_t>(end64, 48), number_at<uint64_t>(end64, 40),
                         number_at<uint64_t>(end64, 32)};
    TANDEM_CHECK((directory.begin == kSee64 || directory.begin == wide.begin) &&
                     (directory.size == kSee64 || directory.size == wide.size) &&
                     (directory.count == kSee64Short || directory.count == wide.count),
                 IoError, "{}malformed: its two directory records differ", where());
    directory = wide;
    disk |= number_at<uint32_t>(end64, 16) | number_at<uint32_t>(end64, 20);
  }
  TANDEM_CHECK(disk == 0 || (has_64 && disk == kSee64Short), IoError,
               "{}an archive of several volumes, which tandem does not read; unpack it and pack it as one file",
               where());
  TANDEM_CHECK(directory.begin <= directory_end && directory.size == directory_end - directory.begin, IoError,
               "{}malformed: the directory has {} bytes from byte {} on, but must end at byte {}; fetch the file again",
               where(), directory.size, directory.begin, directory_end);
  TANDEM_CHECK(directory.count <= directory.size / kDirectoryEntrySize, IoError,
               "{}malformed: the directory's {} bytes cannot have {} entries", where(), directory.size,
               directory.count);
  return directory;
}

namespace {

/// Takes the 64-bit values of an entry's zip64 field, in the order in which the format has them.
class WideValues {
 public:
  WideValues(std::string_view extra, bool needed) {
    while (needed && extra.size() >= 4) {
      const size_t size = number_at<uint16_t>(extra, 2);
      if (size > extra.size() - 4) return;
      if (number_at<uint16_t>(extra, 0) == kZip64Field) {
        values_ = extra.substr(4, size);
        return;
      }
      extra.remove_prefix(4 + size);
    }
  }
  /// Replaces a value that refers to the field. Returns false if the field lacks it.
  bool take(uint64_t& value) {
    if (value != kSee64) return true;
    if (values_.size() < sizeof value) return false;
    value = number_at<uint64_t>(values_, 0);
    values_.remove_prefix(sizeof value);
    return true;
  }

 private:
  std::string_view values_;
};

}  // namespace

void ZipReader::read_directory(const Directory& directory) {
  const std::string bytes = bytes_at(directory.begin, directory.size, "the directory");
  std::string_view rest = bytes;
  entries_.reserve(directory.count);
  for (uint64_t i = 0; i < directory.count; ++i) {
    TANDEM_CHECK(rest.size() >= kDirectoryEntrySize && number_at<uint32_t>(rest, 0) == kDirectoryMark, IoError,
                 "{}malformed: entry {} of the directory is not one", where(), i);
    const uint64_t name_size = number_at<uint16_t>(rest, 28), extra_size = number_at<uint16_t>(rest, 30),
                   size = kDirectoryEntrySize + name_size + extra_size + number_at<uint16_t>(rest, 32);
    TANDEM_CHECK(size <= rest.size(), IoError, "{}malformed: entry {} of the directory is cut off", where(), i);
    ZipEntry e{std::string(rest.substr(kDirectoryEntrySize, name_size)),
               number_at<uint32_t>(rest, 24),
               number_at<uint32_t>(rest, 20),
               number_at<uint32_t>(rest, 42),
               0,
               number_at<uint32_t>(rest, 16),
               number_at<uint16_t>(rest, 10) == kDeflated};
    const bool needs_64 = e.size == kSee64 || e.packed == kSee64 || e.header == kSee64;
    WideValues wide(rest.substr(kDirectoryEntrySize + name_size, extra_size), needs_64);
    TANDEM_CHECK(wide.take(e.size) && wide.take(e.packed) && wide.take(e.header), IoError,
                 "{}malformed: {} lacks its zip64 sizes", where(), shown(e.name));
    TANDEM_CHECK((number_at<uint16_t>(rest, 8) & kEncryptedFlag) == 0, IoError,
                 "{}{} is encrypted, which tandem does not read; write the archive without a password", where(),
                 shown(e.name));
    TANDEM_CHECK(e.deflated || number_at<uint16_t>(rest, 10) == kStored, IoError,
                 "{}{} uses compression method {}; tandem reads stored and deflated records: pack the archive again",
                 where(), shown(e.name), number_at<uint16_t>(rest, 10));
    TANDEM_CHECK(e.deflated ? e.size / kMostExpansion <= e.packed : e.size == e.packed, IoError,
                 "{}malformed: {} cannot expand from {} to {} bytes", where(), shown(e.name), e.packed, e.size);
    TANDEM_CHECK(index_.emplace(e.name, entries_.size()).second, IoError, "{}malformed: {} appears twice", where(),
                 shown(e.name));
    has_checksums_ |= e.crc != 0;
    entries_.push_back(std::move(e));
    rest.remove_prefix(size);
  }
  TANDEM_CHECK(rest.empty(), IoError, "{}malformed: {} bytes follow the last entry of the directory", where(),
               rest.size());
}

/// Finds where the records' bytes begin, and checks that records are disjoint and end before `end`.
void ZipReader::check_local_headers(uint64_t end) {
  std::vector<ZipEntry*> order;
  for (ZipEntry& e : entries_) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->header < b->header; });
  for (size_t i = 0; i < order.size(); ++i) {
    ZipEntry& e = *order[i];
    const uint64_t next = i + 1 < order.size() ? std::min(order[i + 1]->header, end) : end;
    const uint64_t fixed = kLocalSize + e.name.size();
    TANDEM_CHECK(e.header <= next && fixed <= next - e.header, IoError, "{}malformed: {} overlaps another record",
                 where(), shown(e.name));
    const std::string local = bytes_at(e.header, fixed, "a record's header");
    TANDEM_CHECK(number_at<uint32_t>(local, 0) == kLocalMark && number_at<uint16_t>(local, 26) == e.name.size() &&
                     std::string_view(local).substr(kLocalSize) == e.name &&
                     number_at<uint16_t>(local, 8) == (e.deflated ? kDeflated : kStored),
                 IoError, "{}malformed: the header of {} does not agree with the directory", where(), shown(e.name));
    const uint64_t room = next - e.header - fixed, extra = number_at<uint16_t>(local, 28);
    TANDEM_CHECK(extra <= room && e.packed <= room - extra, IoError,
                 "{}malformed: {} needs {} bytes, but another record begins before its end", where(), shown(e.name),
                 e.packed);
    e.begin = e.header + fixed + extra;
  }
}

const ZipEntry* ZipReader::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

void ZipReader::read(const ZipEntry& entry, void* to) const {
  if (entry.deflated) {
    inflate_to(entry, to);
  } else if (entry.size > 0) {
    source_.read(entry.begin, to, entry.size);
  }
  // An archive whose checksums are all 0 has none: PyTorch writes such after set_crc32_options(False).
  if (!has_checksums_) return;
  const uint32_t found = crc_of(0, to, entry.size);
  TANDEM_CHECK(found == entry.crc, IoError,
               "{}the data of {} are corrupt: their CRC-32 is {:08x}, but the file says {:08x}; use another copy",
               where(), shown(entry.name), found, entry.crc);
}

std::string ZipReader::read_text(const ZipEntry& entry, uint64_t limit) const {
  TANDEM_CHECK(entry.size <= limit, IoError, "{}{} has {} bytes; at most {} are allowed", where(), shown(entry.name),
               entry.size, limit);
  std::string text(entry.size, '\0');
  read(entry, text.data());
  return text;
}

void ZipReader::inflate_to(const ZipEntry& entry, void* to) const {
  constexpr uint64_t kChunk = 1 << 16;
  z_stream stream{};
  // Negative window bits: without zlib's own header.
  TANDEM_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK, OutOfMemoryError, "{}zlib has no memory", where());
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  std::string chunk(std::min(kChunk, entry.packed), '\0');
  auto* out = static_cast<Bytef*>(to);
  uint64_t packed_left = entry.packed, left = entry.size, at = entry.begin;
  int code = Z_OK;
  Bytef surplus = 0;
  while (code == Z_OK) {
    if (stream.avail_in == 0 && packed_left > 0) {
      const auto count = static_cast<uInt>(std::min(kChunk, packed_left));
      source_.read(at, chunk.data(), count);
      at += count;
      packed_left -= count;
      stream.next_in = reinterpret_cast<Bytef*>(chunk.data());
      stream.avail_in = count;
    }
    // One byte too many shows that the contents are larger than declared.
    const auto room = static_cast<uInt>(std::min<uint64_t>(left, std::numeric_limits<uInt>::max()));
    stream.next_out = left > 0 ? out : &surplus;
    stream.avail_out = left > 0 ? room : 1;
    const uInt before = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    const uInt made = before - stream.avail_out;
    if (left == 0 && made > 0) break;
    left -= made;
    if (made > 0) out += made;
  }
  TANDEM_CHECK(code == Z_STREAM_END && left == 0 && packed_left == 0 && stream.avail_in == 0, IoError,
               "{}the data of {} are corrupt: they do not inflate to {} bytes; use another copy", where(),
               shown(entry.name), entry.size);
}

}  // namespace tandem::io
