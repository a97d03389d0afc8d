// IDX files. zlib's gz functions also read uncompressed files, so one code path serves both.
#include "src/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>

#include "src/io/path.h"
#include "tandem/base/check.h"
#include "tandem/base/shape.h"

namespace tandem::data {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    io::check_path(path);
    errno = 0;
    // gzopen also opens folders, and fails only later.
    const bool regular = std::filesystem::is_regular_file(path);
    file_.reset(regular ? gzopen(path.c_str(), "rb") : nullptr);
    TANDEM_CHECK(file_, IoError, "{}: cannot open the file: {}", path,
                 regular ? std::strerror(errno) : "there is no regular file with this name");
    gzbuffer(file_.get(), 1 << 17);
  }

  /// Appends up to `count` bytes to `out` and returns the number appended. Throws IoError on a corrupt gzip stream.
  size_t append(std::vector<uint8_t>& out, size_t count) {
    constexpr size_t kChunk = 1 << 20;
    size_t total = 0;
    while (total < count) {
      const size_t wanted = std::min(kChunk, count - total), before = out.size();
      out.resize(before + wanted);
      const int got = gzread(file_.get(), out.data() + before, static_cast<unsigned>(wanted));
      out.resize(before + static_cast<size_t>(std::max(got, 0)));
      read_ += static_cast<size_t>(std::max(got, 0));
      check_stream(got);
      if (got == 0) break;
      total += static_cast<size_t>(got);
    }
    return total;
  }

  size_t bytes_read() const { return read_; }

 private:
  void check_stream(int got) {
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    // Z_BUF_ERROR: the compressed stream is truncated; gzread reports this only through gzerror.
    TANDEM_CHECK(got >= 0 && (code == Z_OK || code == Z_STREAM_END), IoError,
                 "{}: the gzip stream is {} after {} uncompressed bytes ({}); fetch the file again", path_,
                 code == Z_BUF_ERROR ? "cut off" : "corrupt", read_, text);
  }

  struct Close {
    void operator()(gzFile f) const { gzclose(f); }
  };
  const std::string& path_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
  size_t read_ = 0;
};

uint32_t big_endian(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 | static_cast<uint32_t>(p[2]) << 8 |
         p[3];
}

}  // namespace

IdxArray read_idx(const std::string& path, size_t rank) {
  const OpScope op("MNIST");
  Reader reader(path);
  const size_t header_bytes = 4 + 4 * rank;
  std::vector<uint8_t> header;
  const size_t got = reader.append(header, header_bytes);
  const uint32_t expected_magic = 0x0800u + static_cast<uint32_t>(rank);
  TANDEM_CHECK(got < 4 || big_endian(header.data()) == expected_magic, IoError,
               "{}: not an IDX file of rank {} and dtype u8: it begins with {:08x}, expected {:08x}; fetch the file "
               "again",
               path, rank, big_endian(header.data()), expected_magic);
  TANDEM_CHECK(got == header_bytes, IoError, "{}: cut off in the header: {} bytes, expected {}; fetch the file again",
               path, got, header_bytes);

  IdxArray array;
  uint64_t numel = 1;
  for (size_t d = 0; d < rank; ++d) {
    const uint64_t size = big_endian(header.data() + 4 + 4 * d);
    TANDEM_CHECK(size == 0 || numel <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / size, IoError,
                 "{}: the sizes in the header are impossible: dimension {} has size {}; fetch the file again", path, d,
                 size);
    numel *= size;
    array.sizes.push_back(static_cast<int64_t>(size));
  }
  const size_t held = [&] {
    try {
      return reader.append(array.values, numel);
    } catch (const std::bad_alloc&) {  // a small compressed file can expand to any size
      array.values = {};
      TANDEM_THROW(OutOfMemoryError, "{}: its {} bytes, for sizes {}, do not fit into memory; is it the right file?",
                   path, numel, to_string(array.sizes));
    }
  }();
  TANDEM_CHECK(held == numel, IoError, "{}: cut off: {} bytes, but the header's sizes {} need {}; fetch the file again",
               path, reader.bytes_read(), to_string(array.sizes), header_bytes + numel);
  // Reading past the end also verifies the checksum of a gzip stream.
  std::vector<uint8_t> surplus;
  reader.append(surplus, 1 << 20);
  TANDEM_CHECK(surplus.empty(), IoError,
               "{}: at least {} bytes, but the header's sizes {} need {}; fetch the file again", path,
               reader.bytes_read(), to_string(array.sizes), header_bytes + numel);
  return array;
}

}  // namespace tandem::data
