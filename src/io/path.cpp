#include "src/io/path.h"

#include "src/io/source.h"
#include "tandem/base/check.h"

namespace tandem::io {

void check_path(const std::string& path) {
  TANDEM_CHECK(path.find('\0') == std::string::npos, IoError,
               "{}: the path has a NUL byte, where the system would cut it; remove the byte", shown(path));
}

bool is_torch_path(const std::string& path) {
  TANDEM_CHECK(!path.ends_with(".npy"), IoError,
               "{}: save() does not write .npy files; call io::save_npy(tensor, path)", path);
  TANDEM_CHECK(!path.ends_with(".npz"), IoError,
               "{}: save() does not write .npz files; call io::save_npz(tensors, path)", path);
  return path.ends_with(".pt") || path.ends_with(".pth");
}

}  // namespace tandem::io
