// The command-line tool `tandem`. docs/tool.md shows what it prints.
#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/version.h>

#include <exception>
#include <string>

#include "tools/commands.h"

int main(int argc, char** argv) {
  CLI::App program("Mixed-precision training in C++: this machine, files of tensors, and the speed to expect.",
                   "tandem");
  program.set_version_flag("--version", std::string("tandem ") + tandem::version_string());
  program.require_subcommand(1);
  const tools::Command commands[] = {tools::add_info(program), tools::add_inspect(program), tools::add_convert(program),
                                     tools::add_bench(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 1;
  }
  for (const tools::Command& command : commands) {
    if (!command.options->parsed()) continue;
    try {
      return command.run();
    } catch (const tandem::Error& error) {
      fmt::print(stderr, "tandem {}: {}\n", command.options->get_name(), error.message());
    } catch (const std::exception& error) {
      fmt::print(stderr, "tandem {}: {}\n", command.options->get_name(), error.what());
    }
  }
  return 1;
}
