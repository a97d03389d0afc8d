#pragma once
// The table at the end of a demo, and the same as JSON.
#include <string>
#include <vector>

#include "mnist/training.h"

namespace mnist {

/// The processor's model name, from /proc/cpuinfo.
std::string processor_name();
/// A row per run, with the ratios to the f32 run of the same example.
std::string table(const std::vector<RunResult>& runs);
/// {"runs": [...]}. Throws IoError when the file cannot be written.
void write_json(const std::string& file, const std::vector<RunResult>& runs);

}  // namespace mnist
