#pragma once
// The command line of a benchmark. Only command_line.cpp includes CLI11, whose headers are slow to compile.
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

/// Options whose values parse() stores in the given variables. --help shows the variables' initial values, unless they
/// are 0 or empty.
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();

  void flag(const char* name, bool& value, const std::string& help);
  void number(const char* name, int& value, const std::string& help, int least, int most = 1 << 30);
  void number(const char* name, double& value, const std::string& help, double least, double most);
  void text(const char* name, std::string& value, const std::string& help);
  void choice(const char* name, std::string& value, const std::string& help, const std::vector<std::string>& choices);
  void existing_file(const char* name, std::string& value, const std::string& help);
  /// Values separated by commas.
  void list(const char* name, std::vector<std::string>& values, const std::string& help);
  /// Makes an option obligatory.
  void require(const char* name);
  /// Ends the program after --help, and after a message if the arguments are wrong.
  void parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace bench
