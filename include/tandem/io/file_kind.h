#pragma once
// FileKind: what a file of tensors is, by its contents.
#include <string>

#pragma GCC visibility push(default)
namespace tandem::io {

/// The kinds of files that tandem reads.
enum class FileKind {
  safetensors,
  torch,         ///< a zip archive that torch.save, torch::save or torch.jit.save wrote
  legacy_torch,  ///< what torch.save wrote before PyTorch 1.6
  npy,           ///< a NumPy array
  npz,           ///< a zip archive of NumPy arrays
  shard_index    ///< the JSON index of a checkpoint in several files: model.safetensors.index.json
};

/// Returns the kind of a file by its first bytes, whatever it is called. Throws an IoError that says what the file is
/// if tandem does not read it: a pointer of Git LFS, an HTML page, an HDF5, GGUF, ONNX or gzip file, a tar archive, a
/// bare pickle, an empty file, and others.
FileKind file_kind(const std::string& path);

}  // namespace tandem::io
#pragma GCC visibility pop
