#include "tandem/version.h"

namespace tandem {

int version() noexcept { return TANDEM_VERSION; }

const char* version_string() noexcept { return TANDEM_VERSION_STRING; }

}  // namespace tandem
