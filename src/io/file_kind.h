#pragma once
// Names files by their first bytes.
#include <optional>
#include <string>

#include "src/io/source.h"
#include "tandem/io/file_kind.h"

namespace tandem::io {

/// What the first bytes tell about a file.
struct FirstBytes {
  std::optional<FileKind> kind;  ///< nothing for what tandem does not read
  std::string what;              ///< for messages: "a gzip file"; empty if the bytes tell nothing
  std::string cure;              ///< what to do with it
};

/// Looks at the first bytes.
FirstBytes look_at(const Source& source);

/// Throws an IoError that names what the source is, if that is known and something else than `wanted`. `name` is that
/// of `wanted`: "a safetensors file".
void check_kind(const Source& source, FileKind wanted, const char* name);

/// Returns the kind. Throws an IoError that names what the source is, if tandem does not read it.
FileKind kind_of(const Source& source);

}  // namespace tandem::io
