#pragma once
// Files of tensors of every format that tandem reads and writes.
#include <tandem/io/safetensors.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tools {

enum class FileFormat { safetensors, pytorch, npy, npz, index };
/// "safetensors", "PyTorch", "NumPy array", "NumPy archive", "index of several files".
const char* name(FileFormat format);

/// Returns the format that the contents have, whatever the file is called. Throws IoError if tandem does not read it.
FileFormat format_by_contents(const std::string& path);
/// Returns the format that the path's extension stands for. Throws IoError for an unknown extension.
FileFormat format_by_name(const std::string& path);

struct TensorFile {
  FileFormat format = FileFormat::safetensors;
  int64_t bytes = 0;  ///< of the file; of the tensors in several files
  tandem::StateDict tensors;
  tandem::io::Metadata metadata;
  bool has_checksums = false;         ///< a safetensors file that tandem wrote; loading has verified them
  std::vector<std::string> left_out;  ///< values of a PyTorch file that are not tensors or numbers: "epoch (String)"
  std::vector<std::string> shared_memory;  ///< names of the tensors that share memory with an earlier one

  /// Whether the file has the state of an optimizer.
  bool is_checkpoint() const;
};

/// Reads a file by its contents, or several by their index or the folder with it. A single array is named "array".
/// Throws IoError.
TensorFile read_tensor_file(const std::string& path);

/// Writes tensors in the format that the extension stands for, atomically. A .npy file takes exactly one tensor.
void write_tensor_file(const std::string& path, const tandem::StateDict& tensors,
                       const tandem::io::Metadata& metadata = {});

}  // namespace tools
