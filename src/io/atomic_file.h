#pragma once
// A file that appears under its name whole or not at all.
#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>

namespace tandem::io {

/// Writes to a temporary file in the same folder, which commit() renames to `path`. Before that, and if commit() is
/// never reached, `path` keeps what it held. Everything in tandem that replaces a file uses this class; io::save_file
/// says what becomes of links, permissions and concurrent writers. Throws IoError that names the file and the system's
/// reason.
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
  /// A file descriptor that is closed with its owner.
  struct Descriptor {
    int number = -1;
    Descriptor() = default;
    ~Descriptor() { reset(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    void reset(int value = -1);
  };

  void check(bool ok, const char* action) const;
  std::optional<struct stat> target() const;
  void remove_leftovers(const std::string& prefix) const;
  bool create(const std::string& prefix, mode_t mode);
  void take_owner_and_mode(const struct stat& old) const;

  std::string path_;       ///< as the caller gave it, for messages
  std::string name_;       ///< of the file, in folder_; not a link
  std::string temporary_;  ///< in folder_; empty when there is none to remove
  Descriptor folder_, file_;
};

}  // namespace tandem::io
