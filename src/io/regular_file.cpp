#include "src/io/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/io/path.h"
#include "tandem/base/check.h"

namespace tandem::io {

namespace {

constexpr size_t kMostBytes = 1 << 30;  // of one system call

void check_kind(const std::string& path, mode_t mode) {
  TANDEM_CHECK(S_ISREG(mode), IoError, "{}: is {}, not a regular file; give the path of a regular file", path,
               kind_of(mode));
}

}  // namespace

void Descriptor::reset(int value) {
  if (number >= 0) close(number);
  number = value;
}

const char* kind_of(mode_t mode) {
  return S_ISDIR(mode)                    ? "a folder"
         : S_ISFIFO(mode)                 ? "a FIFO"
         : S_ISSOCK(mode)                 ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                          : "a symbolic link";
}

bool write_bytes(int file, const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file, from, std::min(bytes, kMostBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

RegularFile::RegularFile(std::string path, int flags) : path_(std::move(path)) {
  check_path(path_);
  // stat() first, because opening a device can already act on it: closing a tape rewinds it. O_NONBLOCK and fstat() in
  // case the file is exchanged in between.
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0) check_kind(path_, status.st_mode);
  file_.reset(open(path_.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  if (file_.number < 0) {
    fail("open", errno == ENOENT && (flags & O_CREAT) ? "create its folder first"
                                                      : "check the path and the permissions of its folders");
  }
  if (fstat(file_.number, &status) != 0) fail("look at", "try again");
  check_kind(path_, status.st_mode);
}

uint64_t RegularFile::size() const {
  struct stat status {};
  if (fstat(file_.number, &status) != 0) fail("look at", "try again");
  return static_cast<uint64_t>(status.st_size);
}

void RegularFile::read(uint64_t offset, void* to, size_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_.number, at, std::min(bytes, kMostBytes), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    TANDEM_CHECK(got != 0, IoError, "{}: cannot read the file: it was truncated while it was read; use another copy",
                 path_);
    if (got < 0) fail("read", "use another copy");
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

void RegularFile::truncate(uint64_t size) const {
  if (ftruncate(file_.number, static_cast<off_t>(size)) != 0) fail("truncate", "choose another name");
}

void RegularFile::fail(const char* action, const char* cure) const {
  const int reason = errno;
  TANDEM_THROW(IoError, "{}: cannot {} the file: {}; {}", path_, action, std::strerror(reason), cure);
}

}  // namespace tandem::io
