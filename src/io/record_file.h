#pragma once
// Files of records in TensorFlow's framing (TFRecord), which TensorBoard's event files have.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/io/regular_file.h"

namespace tandem::io {

/// The CRC-32C (Castagnoli) of the bytes, as RFC 3720 (iSCSI) defines it; appendix B.4 has examples.
uint32_t crc32c(std::string_view bytes);

/// A record with its frame: the size as u64, the masked CRC-32C of these 8 bytes as u32, the bytes, and their masked
/// CRC-32C; numbers are little-endian. The mask, ((crc >> 15) | (crc << 17)) + 0xa282ead8, is that of LevelDB's log
/// format: the CRC of data that contain CRCs would be weak.
std::string framed(std::string_view record);

/// Creates a folder and those above it, unless they exist. Throws IoError.
void create_folder(const std::string& folder);

/// An open file of records. Errors are of type IoError and begin with the path.
class RecordFile {
 public:
  /// `flags` are those of RegularFile.
  RecordFile(std::string path, int flags);

  /// Hands one record to the operating system. If that fails, removes what was written of it and throws.
  void append(std::string_view record);
  /// Calls `visit` with each record. Cuts off an incomplete last record, as a crash leaves it: readers would stop
  /// there. Throws if a checksum is wrong.
  void for_each(const std::function<void(const std::string&)>& visit) const;
  /// Waits until the file system has stored the records.
  void sync() const;
  void truncate(uint64_t size) const { file_.truncate(size); }
  bool empty() const { return file_.size() == 0; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  RegularFile file_;
};

}  // namespace tandem::io
