#pragma once
// The files that torch.save wrote before PyTorch 1.6: a sequence of pickles, then the data of the storages.
#include <string_view>

#include "src/io/source.h"
#include "tandem/io/ivalue.h"

namespace tandem::io {

/// The first value of these files, the integer 0x1950a86a20f9469cfc6c, in a pickle.
inline constexpr std::string_view kLegacyMark = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

/// Reads such a file, which is not trusted: the storages cannot be larger than the file. Throws IoError.
IValue read_legacy_torch(const Source& source, Device device);

}  // namespace tandem::io
