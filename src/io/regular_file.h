#pragma once
// Opening, reading and writing files without waiting for a FIFO or writing to a device by mistake.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tandem::io {

/// A file descriptor that its owner closes; -1 if there is none.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(std::exchange(other.number, -1));
    return *this;
  }
  void reset(int value = -1);
};

/// What a file that is not a regular one is, for messages: "a folder", "a FIFO".
const char* kind_of(mode_t mode);

/// Writes all bytes. Returns false, with errno set, if the system does not.
bool write_bytes(int file, const void* data, size_t bytes);

/// An open regular file. Errors are of type IoError and begin with the path.
class RegularFile {
 public:
  /// Opens the file, which `flags` (of open(), such as O_RDONLY) may create. Follows links, except those that the
  /// system refuses because another user has placed them in a folder such as /tmp (fs.protected_symlinks). Throws for
  /// a folder, device, FIFO or socket, without waiting for the other end of a FIFO.
  RegularFile(std::string path, int flags);

  /// The file's descriptor, for system calls.
  int descriptor() const { return file_.number; }
  /// The size now.
  uint64_t size() const;
  /// Reads `bytes` bytes from `offset` on. Throws if the file does not have them.
  void read(uint64_t offset, void* to, size_t bytes) const;
  /// Cuts the file off, or extends it by zeros.
  void truncate(uint64_t size) const;

 private:
  [[noreturn]] void fail(const char* action, const char* cure) const;

  std::string path_;
  Descriptor file_;
};

}  // namespace tandem::io
