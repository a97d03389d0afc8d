// Replacing files: links, special files, permissions, leftovers and concurrent writers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "support/ordinary_user.h"
#include "support/state.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tandem/io/safetensors.h"
#include "tandem/tensor/factories.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;

void save_full(const std::string& path, double value = 1) { io::save_file({{"x", full({4}, value)}}, path); }
/// Returns "" if the file holds the data that save_full(path, value) writes.
std::string holds(const std::string& path, double value) {
  return difference(io::load_file(path).tensors["x"], full({4}, value));
}
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status;
}
mode_t mode_of(const std::string& path) { return status_of(path).st_mode & 07777; }
auto files_in(const TemporaryFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

TEST(AtomicFile, PlantedTemporariesAreNotFollowed) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", {'o', 'l', 'd'}), path = folder.path("a"), planted = path + ".tmp";
  fs::create_symlink(victim, planted);
  save_full(path, 1);
  fs::remove(planted);
  fs::create_hard_link(victim, planted);
  save_full(path, 2);
  fs::remove(planted);
  ASSERT_EQ(mkfifo(planted.c_str(), 0600), 0);
  save_full(path, 3);
  EXPECT_EQ(text_of(victim), "old");
  EXPECT_EQ(holds(path, 3), "");
  EXPECT_TRUE(S_ISREG(status_of(path).st_mode));
  EXPECT_EQ(files_in(folder), 3);  // the victim, the file, and the file that is not tandem's
}

TEST(AtomicFile, OnlyRegularFilesAreReplaced) {
  const TemporaryFolder folder;
  const std::string fifo = folder.path("fifo"), socket = folder.path("socket"), device = folder.path("device"),
                    link = folder.path("link");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
  fs::create_symlink("fifo", link);
  EXPECT_THROWS(save_full(fifo), IoError, "save_file: ", fifo, "is a FIFO");
  EXPECT_THROWS(save_full(socket), IoError, "is a socket");
  EXPECT_THROWS(save_full(link), IoError, "is a FIFO");
  EXPECT_THROWS(save_full(folder.path()), IoError, "is a folder");
  EXPECT_THROWS(save_full(""), IoError, "does not end in a file name");
  EXPECT_TRUE(S_ISFIFO(status_of(fifo).st_mode) && S_ISSOCK(status_of(socket).st_mode));
  EXPECT_TRUE(S_ISLNK(status_of(link).st_mode));
  if (mknod(device.c_str(), S_IFCHR | 0600, 0) != 0) return;  // needs root
  EXPECT_THROWS(save_full(device), IoError, "is a device");
  EXPECT_TRUE(S_ISCHR(status_of(device).st_mode));
}

TEST(AtomicFile, KeepsModeAndOwner) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  save_full(path);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(mode_of(path), 0666 & ~mask);
  for (const mode_t mode : {0600U, 0640U, 0777U}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    save_full(path);
    EXPECT_EQ(mode_of(path), mode);
  }
  if (chown(path.c_str(), 1234, 2345) != 0) return;  // needs root
  save_full(path);
  EXPECT_EQ(status_of(path).st_uid, 1234U);
  EXPECT_EQ(status_of(path).st_gid, 2345U);
  EXPECT_EQ(mode_of(path), 0777U);
}

TEST(AtomicFile, ReadOnlyFileIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  save_full(path);
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  const OrdinaryUser user;
  EXPECT_THROWS(save_full(path, 2), IoError, "cannot write the file: Permission denied", "0444", "make it writable");
  EXPECT_EQ(holds(path, 1), "");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, LostGroupGetsOnlyOthersPermissions) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  save_full(path);
  if (geteuid() != 0) GTEST_SKIP() << "needs two users";
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  ASSERT_TRUE(chown(path.c_str(), 0, 2345) == 0 && chmod(path.c_str(), 0662) == 0);
  {
    const OrdinaryUser user;
    save_full(path, 2);
  }
  EXPECT_EQ(status_of(path).st_uid, OrdinaryUser::kId);
  EXPECT_EQ(mode_of(path), 0622U);
  EXPECT_EQ(holds(path, 2), "");
}

TEST(AtomicFile, LinksAreFollowed) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path("runs"));
  fs::create_symlink("runs/latest", folder.path("link"));  // points to a link whose target does not exist yet
  fs::create_symlink("model", folder.path("runs/latest"));
  for (const double value : {1.0, 2.0}) {
    save_full(folder.path("link"), value);
    EXPECT_TRUE(fs::is_symlink(folder.path("link")) && fs::is_symlink(folder.path("runs/latest")));
    EXPECT_EQ(holds(folder.path("runs/model"), value), "");
  }
  fs::create_symlink("loop", folder.path("loop"));
  EXPECT_THROWS(save_full(folder.path("loop")), IoError, "loop", "Too many levels");
}

TEST(AtomicFile, NextSaveRemovesLeftoversOfKilledWriters) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a"), leftover = ".tmp-0123456789abcdef";
  for (const char* name : {"a.tmp-0123456789abcdef", "a.tmp-fedcba9876543210", "b.tmp-0123456789abcdef", "a.tmp-2"}) {
    folder.write(name, {1});
  }
  fs::create_symlink("b", folder.path("a.tmp-0000000000000000"));
  save_full(path);
  EXPECT_FALSE(fs::exists(path + leftover) || fs::exists(folder.path("a.tmp-fedcba9876543210")));
  EXPECT_TRUE(fs::exists(folder.path("b" + leftover)) && fs::exists(folder.path("a.tmp-2"))) << "not of this file";
  EXPECT_EQ(files_in(folder), 4);  // the two files, the link, and the saved file
}

TEST(AtomicFile, ActiveWriterIsNotDisturbed) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a"), temporary = folder.write("a.tmp-0123456789abcdef", {1});
  const int other = open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_THROWS(save_full(path), IoError, "save_file: ", "another writer is saving to it");
  EXPECT_TRUE(fs::exists(temporary) && !fs::exists(path));
  close(other);  // as the system does when a writer is killed
  save_full(path);
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, ConcurrentWritersLeaveOneCompleteFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  std::atomic<int> saved = 0;
  const auto write = [&] {
    for (int i = 0; i < 20; ++i) {
      try {
        save_full(path, 7);
        ++saved;
      } catch (const IoError& e) {
        EXPECT_NE(std::string(e.what()).find("another writer"), std::string::npos) << e.what();
      }
    }
  };
  std::thread first(write), second(write), third(write);
  first.join();
  second.join();
  third.join();
  EXPECT_GT(saved, 0);
  EXPECT_EQ(holds(path, 7), "");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, LongestNameWorks) {
  const TemporaryFolder folder;
  const std::string path = folder.path(std::string(255, 'n'));
  save_full(path);
  EXPECT_EQ(holds(path, 1), "");
  EXPECT_EQ(files_in(folder), 1);
}

}  // namespace
}  // namespace tandem::testing
