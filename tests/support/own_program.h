#pragma once
// For tests that start programs of this build.
#include <filesystem>
#include <string>
#include <vector>

namespace tandem::testing {

/// The words of the command that starts a program of this build: its path, after the emulator in a build for another
/// processor.
inline std::vector<std::string> command_of(const std::filesystem::path& program) {
#ifdef TANDEM_EMULATOR
  return {TANDEM_EMULATOR, program.string()};
#else
  return {program.string()};
#endif
}

/// The path of this program.
inline std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

}  // namespace tandem::testing
