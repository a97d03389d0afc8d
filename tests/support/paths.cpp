#include "support/paths.h"

namespace tandem::testing {

std::string source_path(const std::string& path) { return TANDEM_TESTS_DIR "/" + path; }

}  // namespace tandem::testing
