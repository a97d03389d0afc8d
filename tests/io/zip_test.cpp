// Zip archives: round trips, zip64, and every kind of invalid archive. torch_file_test.cpp reads those of other
// writers.
#include "src/io/zip.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/throws.h"

namespace tandem::testing {
namespace {

std::string archive(const std::function<void(io::ZipWriter&)>& fill, uint64_t alignment = 1,
                    uint64_t zip64_from = 0xffffffff) {
  return io::written_bytes([&](const io::Write& write) {
    io::ZipWriter zip(write, alignment, zip64_from);
    fill(zip);
    zip.finish();
  });
}

const std::string kRepeated(99'999, 'x');

/// Two stored records and two deflated ones.
void fill(io::ZipWriter& zip) {
  zip.add_stored("folder/a", {"hel", "", "lo"});
  zip.add_stored("../empty", {});
  zip.add_deflated("packed", {kRepeated, "", "x"});
  zip.add_deflated("packed empty", {});
}

std::string text_of(const std::string& bytes, const std::string& name) {
  const io::ZipReader zip(io::memory_source(bytes));
  return zip.read_text(*zip.find(name), 1 << 20);
}

TEST(Zip, RoundTrip) {
  for (const uint64_t zip64_from : {uint64_t{0xffffffff}, uint64_t{0}, uint64_t{100}}) {
    const std::string bytes = archive(fill, 64, zip64_from);
    const io::ZipReader zip(io::memory_source(bytes));
    ASSERT_EQ(zip.entries().size(), 4u);
    EXPECT_EQ(text_of(bytes, "folder/a"), "hello");
    EXPECT_EQ(text_of(bytes, "../empty"), "");
    EXPECT_EQ(text_of(bytes, "packed"), kRepeated + "x");
    EXPECT_EQ(text_of(bytes, "packed empty"), "");
    EXPECT_EQ(zip.find("folder/a")->begin % 64, 0u);
    EXPECT_EQ(zip.find("../empty")->begin % 64, 0u);
    EXPECT_EQ(zip.find("a"), nullptr);
    EXPECT_LT(zip.find("packed")->packed, 1000u);
  }
  EXPECT_EQ(io::ZipReader(io::memory_source(archive([](io::ZipWriter&) {}))).entries().size(), 0u);
}

TEST(Zip, BytesMayFollow) {
  for (const std::string& good : {archive(fill), archive(fill, 64, 0)}) {
    std::string with_comment = good + "a comment";
    with_comment[good.size() - 2] = 9;
    for (const std::string& bytes : {good + "x", good + std::string(65'535, '\0'), with_comment, with_comment + "\n"}) {
      EXPECT_EQ(text_of(bytes, "folder/a"), "hello") << bytes.size() - good.size();
    }
    EXPECT_THROWS(text_of(good + std::string(65'536, '\0'), "a"), IoError, "do not end in a zip directory");
  }
}

TEST(Zip, ManyRecordsUseZip64) {
  const std::string bytes = archive([](io::ZipWriter& zip) {
    for (int i = 0; i < 70'000; ++i) zip.add_stored(std::to_string(i), {std::to_string(i)});
  });
  const io::ZipReader zip(io::memory_source(bytes));
  EXPECT_EQ(zip.entries().size(), 70'000u);
  EXPECT_EQ(zip.read_text(*zip.find("69999"), 10), "69999");
}

TEST(Zip, LargeOffsets) {
  // 5 GiB of a hole before the records: the source makes the bytes.
  constexpr uint64_t hole = uint64_t{5} << 30;
  std::string records;
  const io::Write write = [&](const void* data, size_t count) {
    records.append(static_cast<const char*>(data), count);
  };
  io::ZipWriter zip(write, /*alignment=*/1, /*zip64_from=*/0xffffffff, /*offset=*/hole);
  zip.add_stored("a", {"after the hole"});
  zip.finish();
  const io::ZipReader reader({"", hole + records.size(), [&](uint64_t offset, void* to, size_t count) {
                                auto* bytes = static_cast<char*>(to);
                                for (uint64_t i = 0; i < count; ++i) {
                                  bytes[i] = offset + i < hole ? '\0' : records[offset + i - hole];
                                }
                              }});
  EXPECT_EQ(reader.read_text(*reader.find("a"), 100), "after the hole");
}

TEST(ZipErrors, Writing) {
  const auto add = [](const std::vector<std::string>& names) {
    return archive([&](io::ZipWriter& zip) {
      for (const std::string& name : names) zip.add_stored(name, {});
    });
  };
  EXPECT_THROWS(add({"a", "a"}), StateError, "'a' is added twice");
  EXPECT_THROWS(add({std::string(70'000, 'x')}), StateError, "70000 bytes", "shorten");
}

/// Reads all records.
void read_all(const std::string& bytes) {
  const io::ZipReader zip(io::memory_source(bytes));
  for (const io::ZipEntry& e : zip.entries()) zip.read_text(e, 1 << 20);
}

/// Returns the archive with bytes at an offset from a signature replaced.
std::string changed(std::string bytes, const std::string& signature, size_t offset, const std::string& with,
                    size_t number = 0) {
  size_t at = bytes.find(signature);
  for (size_t i = 0; i < number; ++i) at = bytes.find(signature, at + 1);
  return bytes.replace(at + offset, with.size(), with);
}

TEST(ZipErrors, FaultsAreNamed) {
  const std::string good = archive(fill), wide = archive(fill, 1, 0);
  const std::string local = "PK\3\4", entry = "PK\1\2", end = "PK\5\6", end64 = "PK\6\6", locator = "PK\6\7";
  EXPECT_THROWS(read_all(""), IoError, "0 bytes do not end in a zip directory");
  EXPECT_THROWS(read_all(good.substr(0, good.size() - 1)), IoError, "cut off, or not a zip archive");
  EXPECT_THROWS(read_all("x" + good), IoError, "must end at byte");
  EXPECT_THROWS(read_all(changed(good, end, 10, "\xff")), IoError, "cannot have 255 entries");
  EXPECT_THROWS(read_all(changed(good, end, 10, "\3")), IoError, "bytes follow the last entry");
  EXPECT_THROWS(read_all(changed(good, end, 4, "\1")), IoError, "several volumes");
  EXPECT_THROWS(read_all(changed(good, end, 16, "\1")), IoError, "must end at byte");
  EXPECT_THROWS(read_all(changed(good, entry, 8, "\1")), IoError, "'folder/a' is encrypted");
  EXPECT_THROWS(read_all(changed(good, entry, 10, "\x0c")), IoError, "compression method 12");
  EXPECT_THROWS(read_all(changed(good, entry, 24, "\6")), IoError, "'folder/a' cannot expand from 5 to 6 bytes");
  EXPECT_THROWS(read_all(changed(good, entry, 42, "\xff\xff\xff\xff")), IoError, "lacks its zip64 sizes");
  EXPECT_THROWS(read_all(changed(good, entry, 42, "\xff\xff\xff\x7f")), IoError, "'folder/a' overlaps another record");
  EXPECT_THROWS(read_all(changed(good, entry, 28, "\xff\xff")), IoError, "entry 0 of the directory is cut off");
  EXPECT_THROWS(read_all(changed(good, entry, 0, "QQ")), IoError, "entry 0 of the directory is not one");
  EXPECT_THROWS(read_all(changed(good, local, 0, "QQ")), IoError, "'folder/a' does not agree with the directory");
  EXPECT_THROWS(read_all(changed(good, local, 30, "F")), IoError, "'folder/a' does not agree with the directory");
  EXPECT_THROWS(read_all(changed(good, local, 28, "\xff\xff")), IoError, "another record begins before its end");
  EXPECT_THROWS(read_all(changed(good, "hello", 0, "j")), IoError, "'folder/a' are corrupt", "CRC-32");
  EXPECT_THROWS(read_all(changed(good, entry, 24, "\1", 2)), IoError, "'packed' are corrupt",
                "do not inflate to 99841");
  EXPECT_THROWS(read_all(changed(good, "packed", 6, "\xff\xff")), IoError, "'packed' are corrupt");
  EXPECT_THROWS(read_all(changed(good, entry, 24, "\xff\xff\xff\x7f", 2)), IoError, "'packed' cannot expand");
  EXPECT_THROWS(read_all(changed(wide, end64, 48, "\1")), IoError, "must end at byte");
  EXPECT_THROWS(read_all(changed(wide, end64, 0, "QQ")), IoError, "no zip64 directory record at byte");
  EXPECT_THROWS(read_all(changed(wide, locator, 8, "\xff\xff\xff\xff\xff")), IoError,
                "the zip64 directory record is at");
  EXPECT_THROWS(read_all(wide + wide), IoError, "several archives in one file", "dcp_to_torch_save");
  EXPECT_THROWS(read_all(good + good), IoError, "must end at byte");
  EXPECT_THROWS(read_all(changed(wide, end, 12, std::string(4, '\0'))), IoError, "its two directory records differ");
  // Two records with one name; the lengths of the names are equal.
  const std::string twice = archive([](io::ZipWriter& zip) {
    zip.add_stored("a", {});
    zip.add_stored("b", {});
  });
  EXPECT_THROWS(read_all(changed(changed(twice, entry, 46, "a", 1), local, 30, "a", 1)), IoError, "'a' appears twice");
  // The second record's header inside the first record's data.
  EXPECT_THROWS(read_all(changed(twice, entry, 42, std::string(4, '\0'), 1)), IoError, "overlaps another record");
  const io::ZipReader zip(io::memory_source(good));
  EXPECT_THROWS(zip.read_text(*zip.find("packed"), 99'999), IoError, "has 100000 bytes; at most 99999");
}

TEST(ZipErrors, EveryCutIsRefused) {
  for (const std::string& good : {archive(fill), archive(fill, 64, 0)}) {
    for (size_t size = 0; size < good.size(); ++size) EXPECT_THROW(read_all(good.substr(0, size)), IoError) << size;
  }
}

}  // namespace
}  // namespace tandem::testing
