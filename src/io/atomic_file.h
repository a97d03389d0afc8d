#pragma once
// A file that appears under its name whole or not at all.
#include <cstddef>
#include <string>
#include <utility>

namespace tandem::io {

/// Writes to a temporary file in the same folder, which commit() puts in the place of `path`. Before that, and where
/// commit() is never reached, `path` keeps what it held. Throws IoError that names the file and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Removes what was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  /// Makes the contents durable, then visible, then the name durable.
  void commit();

 private:
  AtomicFile(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {}
  void check(bool ok, const char* action) const;
  bool open_and_lock();

  std::string path_, temporary_;
  int file_ = -1;
};

}  // namespace tandem::io
