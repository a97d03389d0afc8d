#include "src/io/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tandem/base/check.h"

namespace tandem::io {

namespace {

/// The file that `path` means: a symbolic link stays one, and what it points to is replaced.
std::string resolved(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(resolved(path), resolved(path) + ".tmp") {
  std::error_code ignored;
  TANDEM_CHECK(!std::filesystem::is_directory(path_, ignored), IoError, "save: {}: is a folder; name a file in it",
               path_);
  // The temporary name is always the same, so that killed writers do not fill the folder. The lock keeps two writers
  // from mixing their bytes.
  while (!open_and_lock()) {
  }
  check(ftruncate(file_, 0) == 0, "empty");
}

/// False when the file that was opened has lost its name to another writer's rename before it was locked.
bool AtomicFile::open_and_lock() {
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  check(file_ >= 0, "create");
  const bool busy = flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;  // some file systems have no locks
  struct stat opened {
  }, named{};
  const bool same = !busy && fstat(file_, &opened) == 0 && stat(temporary_.c_str(), &named) == 0 &&
                    opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (same) return true;
  close(file_);
  file_ = -1;
  TANDEM_CHECK(!busy, IoError, "save: {}: another writer is at work on it; save to one path from one place at a time",
               path_);
  return false;
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  unlink(temporary_.c_str());
  close(file_);
}

void AtomicFile::check(bool ok, const char* action) const {
  if (ok) return;
  const int reason = errno;
  TANDEM_THROW(IoError, "save: {}: cannot {} the file: {}; {} is as it was", temporary_, action, std::strerror(reason),
               path_);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, from, std::min<size_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    check(written > 0, "write");
    from += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  check(fsync(file_) == 0, "sync");
  check(rename(temporary_.c_str(), path_.c_str()) == 0, "rename");
  close(file_);
  file_ = -1;
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int at = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = at >= 0 && (fsync(at) == 0 || errno == EINVAL);  // EINVAL: a file system that cannot
  const int reason = errno;
  if (at >= 0) close(at);
  TANDEM_CHECK(synced, IoError, "save: {}: written, but its folder cannot be synced: {}; a power failure may undo it",
               path_, std::strerror(reason));
}

}  // namespace tandem::io
