#pragma once
// Zip archives: the container of PyTorch's .pt and NumPy's .npz files. Names are only compared; no path is ever made
// from one. Source: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/io/source.h"

namespace tandem::io {

/// One record of an archive.
struct ZipEntry {
  std::string name;
  uint64_t size = 0;      ///< of the contents, in bytes
  uint64_t packed = 0;    ///< bytes in the archive
  uint64_t header = 0;    ///< where its local header begins
  uint64_t begin = 0;     ///< where its bytes begin
  uint32_t crc = 0;       ///< CRC-32 of the contents
  bool deflated = false;  ///< compressed with deflate; otherwise stored as it is
};

/// Reads an archive from any source. The contents are not trusted: all offsets and sizes are checked when the archive
/// is opened, records may not overlap, and no record can be larger than deflate could make it. Errors are of type
/// IoError and begin with the source's name.
class ZipReader {
 public:
  /// Throws if this is not a complete zip archive, has two records of one name, or uses encryption, several volumes or
  /// a compression other than deflate.
  explicit ZipReader(Source source);

  const std::string& where() const { return source_.where; }
  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The record with this name, or null.
  const ZipEntry* find(const std::string& name) const;
  /// Writes the record's `size` bytes to `to`. Throws if the contents are corrupt.
  void read(const ZipEntry& entry, void* to) const;
  /// Returns the record's contents. Throws if there are more than `limit` bytes.
  std::string read_text(const ZipEntry& entry, uint64_t limit) const;

 private:
  struct Directory {
    uint64_t begin = 0, size = 0, count = 0;
  };
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void check_local_headers(uint64_t end);
  void inflate_to(const ZipEntry& entry, void* to) const;
  std::string bytes_at(uint64_t offset, uint64_t count, const char* what) const;

  Source source_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> index_;
  bool has_checksums_ = false;
};

/// Writes an archive, one record after the other.
class ZipWriter {
 public:
  /// The contents of stored records begin at multiples of `alignment`; PyTorch uses 64. Zip64 records are used for
  /// sizes and offsets from `zip64_from` on, and for more than 65534 records; a smaller value is for tests. `offset`
  /// bytes precede the archive's first record.
  explicit ZipWriter(Write write, uint64_t alignment = 1, uint64_t zip64_from = 0xffffffff, uint64_t offset = 0);

  /// Adds a record whose contents are these parts, one after the other. Throws StateError for a name that was added
  /// before or is longer than 65535 bytes.
  void add_stored(const std::string& name, std::initializer_list<std::string_view> parts);
  /// Compresses with zlib's default level.
  void add_deflated(const std::string& name, std::initializer_list<std::string_view> parts);
  /// Writes the directory. Must be the last call.
  void finish();

 private:
  void begin_entry(ZipEntry entry, uint64_t alignment);
  void put(std::string_view bytes);

  Write write_;
  uint64_t alignment_, zip64_from_, offset_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace tandem::io
