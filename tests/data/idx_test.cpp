// The IDX reader: valid files, every kind of invalid one, and random damage.
#include "src/data/idx.h"

#include <gtest/gtest.h>

#include <random>

#include "data/idx_files.h"
#include "support/memory_limit.h"
#include "support/throws.h"
#include "tandem/base/error.h"

namespace tandem::data {
namespace {

using namespace tandem::testing;

TEST(Idx, ReadsPlainAndCompressedFilesOfAnyName) {
  const TemporaryFolder folder;
  const Bytes file = idx_file({3, 5, 7}, 11);
  for (const std::string& path : {folder.write("plain", file), folder.write("plain.gz", file),
                                  folder.write("packed", gzip(file)), folder.write("packed.gz", gzip(file))}) {
    const IdxArray array = read_idx(path, 3);
    EXPECT_EQ(array.sizes, (std::vector<int64_t>{3, 5, 7}));
    EXPECT_EQ(array.values, Bytes(file.begin() + 16, file.end()));
  }
  EXPECT_EQ(read_idx(folder.write("none", idx_file({0, 5})), 2).values.size(), 0U);
}

TEST(Idx, ReadsFilesLargerThanOneChunk) {
  const TemporaryFolder folder;
  const Bytes file = idx_file({3000, 1000}, 7);
  for (const std::string& path : {folder.write("a", file), folder.write("b", gzip(file))}) {
    EXPECT_EQ(read_idx(path, 2).values, Bytes(file.begin() + 12, file.end()));
  }
}

TEST(Idx, ErrorsNameTheFileAndTheFault) {
  const TemporaryFolder folder;
  const Bytes good = idx_file({10, 10});
  const auto with = [&](Bytes bytes, size_t size) {
    bytes.resize(size);
    return bytes;
  };
  Bytes wrong_rank = idx_file({100}), floats = idx_header({10, 10}, 0x0d);

  EXPECT_THROWS(read_idx(folder.path("missing"), 2), IoError, "missing", "cannot open", "no regular file");
  EXPECT_THROWS(read_idx(folder.path(), 2), IoError, "no regular file");
  EXPECT_THROWS(read_idx(folder.write("cut", good) + '\0', 2), IoError, "NUL byte");
  EXPECT_THROWS(read_idx(folder.write("rank", wrong_rank), 2), IoError, "rank: not an IDX file", "00000801",
                "expected 00000802");
  EXPECT_THROWS(read_idx(folder.write("type", floats), 2), IoError, "00000d02");
  EXPECT_THROWS(read_idx(folder.write("empty", {}), 2), IoError, "cut off in the header: 0 bytes, expected 12");
  EXPECT_THROWS(read_idx(folder.write("header", with(good, 9)), 2), IoError, "cut off in the header: 9 bytes");
  EXPECT_THROWS(read_idx(folder.write("short", with(good, 111)), 2), IoError, "short: cut off: 111 bytes",
                "[10, 10] need 112");
  EXPECT_THROWS(read_idx(folder.write("long", with(good, 113)), 2), IoError, "at least 113 bytes", "need 112");
  EXPECT_THROWS(read_idx(folder.write("short.gz", gzip(with(good, 111))), 2), IoError, "cut off: 111 bytes");
  EXPECT_THROWS(read_idx(folder.write("long.gz", gzip(with(good, 113))), 2), IoError, "at least 113 bytes");
}

// The header may claim any size; memory is allocated only for bytes that exist.
TEST(Idx, HugeSizesInTheHeaderTakeNoMemory) {
  const TemporaryFolder folder;
  for (const auto& sizes : {std::vector<uint32_t>{0xffffffff, 1, 1}, {0xffff, 0xffff, 0xffff}}) {
    EXPECT_THROWS(read_idx(folder.write("huge", idx_header(sizes)), 3), IoError, "cut off: 16 bytes");
  }
  EXPECT_THROWS(read_idx(folder.write("impossible", idx_header({0xffffffff, 0xffffffff, 0xffffffff})), 3), IoError,
                "impossible", "dimension 1");
}

TEST(Idx, DecompressionBombThrowsOutOfMemory) {
  if (!MemoryLimit::is_possible()) GTEST_SKIP() << "memory cannot be limited";
  const TemporaryFolder folder;
  const std::string path = folder.write("bomb", gzip(idx_file({64 << 20})));
  const MemoryLimit limit(32 << 20);
  EXPECT_THROWS(read_idx(path, 1), OutOfMemoryError, "MNIST: ", "bomb", "67108864 bytes", "do not fit into memory");
}

TEST(Idx, DamagedCompressedFilesAreRefused) {
  const TemporaryFolder folder;
  Bytes file = idx_file({40, 50}, 13);
  std::mt19937 random(1);
  for (size_t i = 12; i < file.size(); ++i) file[i] = static_cast<uint8_t>(random());  // incompressible
  const Bytes packed = gzip(file);
  Bytes half(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(packed.size() / 2));
  EXPECT_THROWS(read_idx(folder.write("half", half), 2), IoError, "half", "cut off after", "uncompressed bytes");
  Bytes no_trailer(packed.begin(), packed.end() - 4);
  EXPECT_THROWS(read_idx(folder.write("trailer", no_trailer), 2), IoError, "cut off after");
  Bytes checksum = packed;
  checksum[checksum.size() - 6] ^= 1;
  EXPECT_THROWS(read_idx(folder.write("checksum", checksum), 2), IoError, "corrupt");
  Bytes content = packed;
  content[content.size() / 2] ^= 0x10;
  EXPECT_THROWS(read_idx(folder.write("content", content), 2), IoError, "corrupt");
}

TEST(Idx, RandomDamageNeverGivesWrongSizes) {
  const TemporaryFolder folder;
  std::mt19937 random(2);
  const Bytes plain = idx_file({6, 9}, 5), packed = gzip(plain);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = i % 2 == 0 ? plain : packed;
    for (uint32_t n = 1 + random() % 3; n > 0; --n) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          bytes[at] ^= static_cast<uint8_t>(1u << random() % 8);
          break;
        case 2:
          bytes.resize(at + 1);
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<uint8_t>(random()));
      }
    }
    try {
      const IdxArray array = read_idx(folder.write("damaged", bytes), 2);
      ASSERT_EQ(static_cast<int64_t>(array.values.size()), array.sizes[0] * array.sizes[1]);
    } catch (const IoError&) {
    }
  }
}

}  // namespace
}  // namespace tandem::data
