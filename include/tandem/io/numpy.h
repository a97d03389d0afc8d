#pragma once
// NumPy's files: .npy, an array, and .npz, a zip archive of arrays.
#include <string>

#include "tandem/tensor/state_dict.h"

#pragma GCC visibility push(default)
namespace tandem::io {

/// Reads an array that numpy.save wrote: versions 1 to 3 of the format, of either byte order. An array in Fortran order
/// keeps its strides. The contents are not trusted: memory is allocated only for data that the file contains. Throws
/// IoError if the file is missing, truncated or malformed, has more than 12 dimensions, or has a dtype that tandem does
/// not have (complex numbers, objects, records, texts).
Tensor load_npy(const std::string& path, Device device = Device(kCPU));

/// Writes a file that numpy.load reads, atomically (io/safetensors.h), in row-major order. Throws DTypeError for bf16
/// and float8, which NumPy does not have: save x.to(kFloat). Throws StateError for an undefined tensor.
void save_npy(const Tensor& tensor, const std::string& path);

/// Reads the arrays of a file that numpy.savez or numpy.savez_compressed wrote, by name. The errors are those of
/// load_npy, but arrays with a dtype that tandem does not have are left out, and a warning names them.
StateDict load_npz(const std::string& path, Device device = Device(kCPU));

/// Writes named tensors as numpy.savez, or numpy.savez_compressed if `compressed`. The errors are those of save_npy,
/// and StateError for a name that is not UTF-8.
void save_npz(const StateDict& tensors, const std::string& path, bool compressed = false);

}  // namespace tandem::io
#pragma GCC visibility pop
