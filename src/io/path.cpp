#include "src/io/path.h"

#include "src/io/source.h"
#include "tandem/base/check.h"

namespace tandem::io {

void check_path(const std::string& path) {
  TANDEM_CHECK(path.find('\0') == std::string::npos, IoError,
               "{}: the path has a NUL byte, where the system would cut it; remove the byte", shown(path));
}

}  // namespace tandem::io
