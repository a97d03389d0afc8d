#pragma once
// The .npy format. Source: NumPy's format specification (numpy.lib.format).
#include <cstdint>
#include <string>
#include <string_view>

#include "src/io/source.h"
#include "tandem/base/dtype.h"
#include "tandem/base/error.h"
#include "tandem/base/shape.h"
#include "tandem/tensor/state_dict.h"

namespace tandem::io {

struct NpyHeader {
  DType dtype = kFloat;
  bool big_endian = false;
  bool fortran_order = false;  ///< column-major
  Dims sizes;
  uint64_t size = 0;  ///< of everything before the data, in bytes
};

/// The error for an array whose dtype tandem does not have.
class ArrayDtypeError : public IoError {
  using IoError::IoError;
};

/// Reads and checks a header. The data are not checked. Throws IoError.
NpyHeader read_npy_header(const Source& source);
/// Reads an array, to the CPU. Throws IoError.
Tensor read_npy(const Source& source);
/// Reads the arrays of a .npz archive; those whose dtype tandem does not have are left out, with a warning. Throws
/// IoError.
StateDict read_npz(Source source, Device device);
/// The header of a row-major array, in version 1 of the format. Throws DTypeError for bf16.
std::string npy_header(DType dtype, IntArrayRef sizes);

}  // namespace tandem::io
