#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace bench {
namespace {

template <class T>
CLI::Option* add(CLI::App& app, const char* name, T& value, const std::string& help) {
  CLI::Option* const option = app.add_option(name, value, help);
  return value == T() ? option : option->capture_default_str();
}

}  // namespace

CommandLine::CommandLine(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {}
CommandLine::~CommandLine() = default;

void CommandLine::flag(const char* name, bool& value, const std::string& help) { app_->add_flag(name, value, help); }

void CommandLine::number(const char* name, int& value, const std::string& help, int least, int most) {
  add(*app_, name, value, help)->check(CLI::Range(least, most));
}

void CommandLine::number(const char* name, double& value, const std::string& help, double least, double most) {
  add(*app_, name, value, help)->check(CLI::Range(least, most));
}

void CommandLine::text(const char* name, std::string& value, const std::string& help) { add(*app_, name, value, help); }

void CommandLine::choice(const char* name, std::string& value, const std::string& help,
                         const std::vector<std::string>& choices) {
  add(*app_, name, value, help)->check(CLI::IsMember(choices));
}

void CommandLine::existing_file(const char* name, std::string& value, const std::string& help) {
  add(*app_, name, value, help)->check(CLI::ExistingFile);
}

void CommandLine::list(const char* name, std::vector<std::string>& values, const std::string& help) {
  add(*app_, name, values, help)->delimiter(',');
}

void CommandLine::require(const char* name) { app_->get_option(name)->required(); }

void CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app_->exit(error));
  }
}

}  // namespace bench
