#pragma once
// The table at the end of a demo, and the same data as JSON.
#include <string>
#include <vector>

#include "mnist/training.h"

namespace mnist {

/// Returns a table with one row per run and the ratios to the f32 run of the same example.
std::string table(const std::vector<RunResult>& runs);
/// Writes {"runs": [...]}. Throws IoError if the file cannot be written.
void write_json(const std::string& file, const std::vector<RunResult>& runs);

}  // namespace mnist
