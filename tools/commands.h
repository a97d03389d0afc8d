#pragma once
// The subcommands of `tandem`, one per file.
#include <CLI/CLI.hpp>
#include <functional>

namespace tools {

struct Command {
  CLI::App* options;         ///< parsed by the program's CLI::App, which owns it
  std::function<int()> run;  ///< returns the exit status; may throw
};

/// Each adds a subcommand to the program.
Command add_info(CLI::App& program);
Command add_inspect(CLI::App& program);
Command add_convert(CLI::App& program);
Command add_bench(CLI::App& program);

}  // namespace tools
