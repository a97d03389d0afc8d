#include "src/data/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

#include "src/io/path.h"
#include "tandem/base/check.h"

namespace tandem::data {

std::vector<uint8_t> read_file(const std::string& path, uint64_t most) {
  namespace fs = std::filesystem;
  io::check_path(path);
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(regular ? std::fopen(path.c_str(), "rb") : nullptr,
                                                             [](std::FILE* f) { return f ? std::fclose(f) : 0; });
  TANDEM_CHECK(file, IoError, "{}: cannot open the file: {}", path,
               regular ? std::strerror(errno) : "there is no regular file with this name");
  const uint64_t size = fs::file_size(path, error);
  TANDEM_CHECK(!error, IoError, "{}: cannot find out its size: {}", path, error.message());
  TANDEM_CHECK(size <= most, IoError, "{}: the file has {} bytes, but at most {} are read; is it the right file?", path,
               size, most);
  try {
    std::vector<uint8_t> bytes(size);
    const size_t got = std::fread(bytes.data(), 1, size, file.get());
    TANDEM_CHECK(got == size, IoError, "{}: only {} of {} bytes could be read: {}", path, got, size,
                 std::strerror(errno));
    return bytes;
  } catch (const std::bad_alloc&) {
    TANDEM_THROW(OutOfMemoryError, "{}: its {} bytes do not fit into memory", path, size);
  }
}

}  // namespace tandem::data
