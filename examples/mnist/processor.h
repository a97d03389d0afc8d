#pragma once
// What the tables of the examples say about the processor.
#include <string>
#include <vector>

namespace mnist {

/// Returns the processor's model name from /proc/cpuinfo.
std::string processor_name();
/// Returns lines that name those of the precisions whose arithmetic this processor lacks, or an empty string.
std::string missing_arithmetic(const std::vector<std::string>& precisions);

}  // namespace mnist
