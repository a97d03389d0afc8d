#pragma once
#include <string>

namespace tandem::testing {

/// The path of a file or folder given relative to tests/ of the sources, such as "golden/manifest.json". The folder's
/// own path is compiled into one object only, so that ccache shares the others between checkouts.
std::string source_path(const std::string& path);

}  // namespace tandem::testing
