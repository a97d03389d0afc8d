// Record files: checksums, frames, and files that a crash left incomplete.
#include "src/io/record_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/file_size_limit.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace tandem {
namespace {

using io::RecordFile;
using testing::TemporaryFolder;

// The examples of RFC 3720, appendix B.4, which prints the bytes of a CRC from the lowest on.
TEST(Crc32c, MatchesRfc3720) {
  std::string ascending, descending;
  for (char c = 0; c < 32; ++c) ascending += c;
  descending.assign(ascending.rbegin(), ascending.rend());
  EXPECT_EQ(io::crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(io::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(io::crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(io::crc32c(descending), 0x113fdb5cu);
  std::string command(48, '\0');  // a SCSI Read (10) command
  command[0] = '\x01', command[1] = '\xc0';
  command[16] = '\x14';
  command[22] = '\x04';
  command[27] = '\x14';
  command[31] = '\x18';
  command[32] = '\x28';
  command[40] = '\x02';
  EXPECT_EQ(io::crc32c(command), 0xd9963a56u);
  EXPECT_EQ(io::crc32c(""), 0u);
}

TEST(RecordFile, FramesARecord) {
  const std::string frame = io::framed("abc");
  ASSERT_EQ(frame.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(frame.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(frame.substr(12, 3), "abc");
  const auto masked = [](const std::string& bytes) {
    const uint32_t crc = io::crc32c(bytes), mask = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    std::string text;
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(mask >> shift);
    return text;
  };
  EXPECT_EQ(frame.substr(8, 4), masked(frame.substr(0, 8)));
  EXPECT_EQ(frame.substr(15), masked("abc"));
}

std::vector<std::string> records_of(const RecordFile& file) {
  std::vector<std::string> records;
  file.for_each([&](const std::string& record) { records.push_back(record); });
  return records;
}

TEST(RecordFile, AppendingContinuesAfterTheLastWholeRecord) {
  const TemporaryFolder folder;
  const std::vector<std::string> records = {"first", "", std::string(1000, 'x')};
  std::string whole;
  for (const std::string& record : records) whole += io::framed(record);
  const size_t last = io::framed(records[2]).size();
  for (const size_t missing : {size_t{0}, size_t{1}, size_t{4}, size_t{500}, last - 12, last - 11, last - 1, last}) {
    const std::string path = folder.path("records"), left = whole.substr(0, whole.size() - missing);
    std::ofstream(path, std::ios::binary) << left;
    {
      RecordFile file(path, O_RDWR | O_APPEND);
      EXPECT_EQ(records_of(file).size(), missing == 0 ? 3u : 2u) << missing;
      file.append("next");
    }
    const auto all = records_of(RecordFile(path, O_RDWR | O_APPEND));
    ASSERT_EQ(all.size(), missing == 0 ? 4u : 3u) << missing;
    EXPECT_EQ(all[0], "first");
    EXPECT_EQ(all.back(), "next");
  }
}

TEST(RecordFile, RefusesDamagedFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path("records"), whole = io::framed("first") + io::framed("second");
  const size_t second = io::framed("first").size();
  for (const size_t at : {second, second + 9, second + 13, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_THROWS(records_of(RecordFile(path, O_RDWR)), IoError, path, "damaged at byte " + std::to_string(second),
                  "another file");
    EXPECT_EQ(std::filesystem::file_size(path), whole.size()) << "it is left as it was";
  }
}

TEST(RecordFile, FullDiskLeavesWholeRecords) {
  const TemporaryFolder folder;
  RecordFile file(folder.path("records"), O_RDWR | O_APPEND | O_CREAT);
  file.append("first");
  {
    const testing::FileSizeLimit limit(std::filesystem::file_size(file.path()) + 10);
    EXPECT_THROWS(file.append("second"), IoError, file.path(), "is the disk full?");
  }
  file.append("third");
  EXPECT_EQ(records_of(file), (std::vector<std::string>{"first", "third"}));
}

}  // namespace
}  // namespace tandem
