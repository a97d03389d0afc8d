#include "src/io/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "src/io/path.h"
#include "tandem/base/check.h"

namespace tandem::io {

namespace {

/// Random hexadecimal digits at the end of a temporary name, so that no one can create a link or file there in advance.
constexpr size_t kDigits = 16;
constexpr std::string_view kMark = ".tmp-";

/// The temporary names of a file, without their digits. Very long names are shortened to leave room for the digits.
std::string temporary_prefix(const std::string& name) {
  return name.substr(0, NAME_MAX - kMark.size() - kDigits).append(kMark);
}

bool is_temporary_name(std::string_view name, std::string_view prefix) {
  return name.size() == prefix.size() + kDigits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

/// Resolves symbolic links in `path`. The resulting file need not exist.
std::filesystem::path resolved(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // like the kernel
  std::error_code error;
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(path, error); ++links) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  check_path(path);
  const std::filesystem::path file = resolved(path);
  name_ = file.filename().string();
  // stat() makes the kernel follow the links as well. It detects loops, and refuses links that another user has placed
  // in a folder such as /tmp (fs.protected_symlinks).
  struct stat named {};
  const bool exists = stat(path.c_str(), &named) == 0;
  check(exists || errno == ENOENT, "look at");
  TANDEM_CHECK(!exists || S_ISREG(named.st_mode), IoError, "{}: is {}, not a regular file; give the path of a file",
               path_, kind_of(named.st_mode));
  TANDEM_CHECK(!name_.empty(), IoError, "'{}' does not end in a file name; append one", path_);

  const std::string folder = file.parent_path().string();
  folder_.reset(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  TANDEM_CHECK(folder_.number >= 0 || errno != ENOENT, IoError, "{}: its folder does not exist; create it first",
               path_);
  check(folder_.number >= 0, "open the folder of");
  const std::optional<struct stat> old = target();
  TANDEM_CHECK(exists == old.has_value() && (!exists || is_same_file(named, *old)), IoError,
               "{}: another writer has just replaced the file, or a link to it; try again", path_);

  const std::string prefix = temporary_prefix(name_);
  remove_leftovers(prefix);
  // A new file gets the process's default permissions. A replacement gets its final permissions only when it is
  // complete; until then other users cannot read it.
  for (int attempts = 1; !create(prefix, old ? 0600 : 0666); ++attempts)
    check(attempts < 100, "lock a temporary copy of");
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) unlinkat(folder_.number, temporary_.c_str(), 0);
}

void AtomicFile::check(bool ok, const char* action) const {
  if (ok) return;
  const int reason = errno;
  TANDEM_THROW(IoError, "{}: cannot {} the file: {}; it is unchanged", path_, action, std::strerror(reason));
}

/// Returns the file to replace, or nothing if there is none. Throws if it must not be replaced.
std::optional<struct stat> AtomicFile::target() const {
  struct stat found {};
  if (fstatat(folder_.number, name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    check(errno == ENOENT, "look at");
    return std::nullopt;
  }
  TANDEM_CHECK(S_ISREG(found.st_mode), IoError, "{}: is {}, not a regular file; give the path of a file", path_,
               kind_of(found.st_mode));
  // A rename needs only the folder's permissions, but a read-only file must not be replaced.
  TANDEM_CHECK(
      faccessat(folder_.number, name_.c_str(), W_OK, 0) == 0, IoError,
      "{}: cannot write the file: {} (its mode is {:04o}); it is unchanged; make it writable, or choose another name",
      path_, std::strerror(errno), found.st_mode & 07777);
  return found;
}

/// Removes temporary files left by killed writers of this file. Throws if another writer is active: every writer holds
/// a lock on its temporary file, which the system releases when the writer ends. Skips files of other users, links, and
/// files that only look similar.
void AtomicFile::remove_leftovers(const std::string& prefix) const {
  const int copy = openat(folder_.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy >= 0 ? fdopendir(copy) : nullptr, closedir);
  if (!listing && copy >= 0) close(copy);
  check(listing != nullptr, "list the folder of");
  while (const dirent* entry = readdir(listing.get())) {
    if (!is_temporary_name(entry->d_name, prefix)) continue;
    Descriptor found;
    found.reset(openat(folder_.number, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (found.number < 0 || fstat(found.number, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
        status.st_uid != geteuid()) {
      continue;
    }
    if (flock(found.number, LOCK_EX | LOCK_NB) == 0) {
      unlinkat(folder_.number, entry->d_name, 0);
    } else {
      // On file systems without locks, leftovers cannot be told from files being written, and stay.
      TANDEM_CHECK(errno != EWOULDBLOCK, IoError,
                   "{}: another writer is saving to it; save to a path from one place at a time", path_);
    }
  }
}

/// Returns false if another writer took the new file for a leftover before it was locked.
bool AtomicFile::create(const std::string& prefix, mode_t mode) {
  uint64_t random = 0;
  check(getentropy(&random, sizeof random) == 0, "choose a temporary name for");
  temporary_ = fmt::format("{}{:0{}x}", prefix, random, kDigits);
  file_.reset(openat(folder_.number, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (file_.number < 0) {
    temporary_.clear();
    check(errno == EEXIST, "create a temporary copy of");
    return false;
  }
  if (flock(file_.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {  // some file systems have no locks
    struct stat created {
    }, named{};
    if (fstat(file_.number, &created) == 0 &&
        fstatat(folder_.number, temporary_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && is_same_file(created, named)) {
      return true;
    }
  }
  unlinkat(folder_.number, temporary_.c_str(), 0);
  temporary_.clear();
  return false;
}

void AtomicFile::write(const void* data, size_t bytes) { check(write_bytes(file_.number, data, bytes), "write"); }

void AtomicFile::take_owner_and_mode(const struct stat& old) const {
  struct stat now {};
  check(fstat(file_.number, &now) == 0, "look at");
  mode_t mode = old.st_mode & 0777;
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    // Only root may change a file's owner, and a user may set only their own groups. If the group cannot be kept, the
    // new group gets no more permissions than others have.
    if (fchown(file_.number, old.st_uid, old.st_gid) != 0 && now.st_gid != old.st_gid &&
        fchown(file_.number, static_cast<uid_t>(-1), old.st_gid) != 0) {
      mode = (mode & 0707) | (mode & (mode & 07) << 3);
    }
  }
  if (mode != (now.st_mode & 07777)) check(fchmod(file_.number, mode) == 0, "set the permissions of");
}

void AtomicFile::commit() {
  if (const std::optional<struct stat> old = target()) take_owner_and_mode(*old);
  check(fsync(file_.number) == 0, "sync");
  check(renameat(folder_.number, temporary_.c_str(), folder_.number, name_.c_str()) == 0, "replace");
  temporary_.clear();
  file_.reset();
  TANDEM_CHECK(fsync(folder_.number) == 0 || errno == EINVAL,  // EINVAL: the file system cannot sync folders
               IoError, "{}: written, but its folder cannot be synced: {}; a power failure may undo the save", path_,
               std::strerror(errno));
}

}  // namespace tandem::io
