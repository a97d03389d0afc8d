#pragma once
// A file that appears under its name either complete or not at all.
#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>

#include "src/io/regular_file.h"

namespace tandem::io {

/// Writes to a temporary file in the same folder, which commit() renames to `path`. Until then, or if commit() is never
/// called, `path` keeps its old contents. All code in tandem that replaces files uses this class; io::save_file
/// documents links, permissions and concurrent writers. Throws IoError naming the file and the system's reason; the
/// caller declares an OpScope.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Removes the temporary file if it was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  /// Makes the contents durable, then visible under the name, then makes the name durable.
  void commit();

 private:
  void check(bool ok, const char* action) const;
  std::optional<struct stat> target() const;
  void remove_leftovers(const std::string& prefix) const;
  bool create(const std::string& prefix, mode_t mode);
  void take_owner_and_mode(const struct stat& old) const;

  std::string path_;       ///< as the caller gave it, for messages
  std::string name_;       ///< of the file in folder_; not a link
  std::string temporary_;  ///< in folder_; empty if there is none to remove
  Descriptor folder_, file_;
};

}  // namespace tandem::io
