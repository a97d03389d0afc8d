// The command-line tool `tandem`. docs/tool.md shows what it prints.
#include <fmt/format.h>
#include <tandem/base/error.h>
#include <tandem/version.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <string>

#include "tools/commands.h"

namespace {

CLI::App* add_info(CLI::App& program, tools::InfoOptions& options) {
  CLI::App* app = program.add_subcommand("info", "Describes this machine and says which dtypes are fast on it");
  app->add_flag("--json", options.as_json, "Print JSON; sizes are in bytes");
  return app;
}

CLI::App* add_inspect(CLI::App& program, tools::InspectOptions& options) {
  CLI::App* app =
      program.add_subcommand("inspect", "Lists the tensors in .safetensors, .pt, .pth, .npy and .npz files");
  app->add_option("FILE", options.files, "The files; the contents tell the format")->required();
  app->add_flag("--stats", options.stats, "Add the range of the values and whether f16 holds them");
  app->add_flag("--json", options.as_json, "Print JSON; counts instead of shares, null instead of NaN");
  return app;
}

CLI::App* add_convert(CLI::App& program, tools::ConvertOptions& options) {
  CLI::App* app = program.add_subcommand("convert", "Rewrites a file of tensors in another format or dtype");
  app->add_option("IN", options.in, "A .safetensors, .pt, .pth, .npy or .npz file; the contents tell the format")
      ->required();
  app->add_option("OUT", options.out, "The new file; the extension tells the format")->required();
  app->add_option("--dtype", options.dtype,
                  "Cast floating tensors, but not f64 of rank 0, which are numbers such as a learning rate")
      ->check(CLI::IsMember({"f16", "bf16", "f32", "f64"}));
  app->add_option("--tensor", options.tensors, "Write only this tensor; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--force", options.force, "Replace OUT if it exists");
  app->add_flag("--allow-overflow", options.allow_overflow, "Write inf where a value is too large for the dtype");
  return app;
}

CLI::App* add_bench(CLI::App& program, tools::BenchOptions& options) {
  CLI::App* app = program.add_subcommand(
      "bench", "Measures the peaks of this machine, and predicts and measures the gain of AMP for a network");
  auto* layers = app->add_option("--layers", options.layers, "Sizes of an MLP's input, hidden layers and output")
                     ->capture_default_str();
  app->add_option("--conv", options.conv, "A CNN instead: 3x32x32:64,128 has images of 3x32x32 and two convolutions")
      ->excludes(layers);
  app->add_option("--classes", options.classes, "Outputs of the CNN")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 20))
      ->capture_default_str();
  app->add_option("--batch", options.batch, "Examples per step")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
      ->capture_default_str();
  app->add_option("--device", options.device, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--threads", options.threads, "Threads on the CPU; by default those that tandem uses")
      ->check(CLI::Range(1, 4096));
  app->add_option("--seconds", options.seconds, "Time for the measured steps")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app->add_flag("--quick", options.quick, "Tiny products and few steps: checks that it runs, not the speed");
  app->add_flag("--json", options.as_json, "Print JSON; rates per second");
  return app;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Mixed-precision training in C++: this machine, files of tensors, and the speed to expect.",
                   "tandem");
  program.set_version_flag("--version", std::string("tandem ") + tandem::version_string());
  program.require_subcommand(1);
  tools::InfoOptions info;
  tools::InspectOptions inspect;
  tools::ConvertOptions convert;
  tools::BenchOptions bench;
  struct Command {
    CLI::App* app;
    std::function<int()> run;
  };
  const Command commands[] = {{add_info(program, info), [&] { return tools::run_info(info); }},
                              {add_inspect(program, inspect), [&] { return tools::run_inspect(inspect); }},
                              {add_convert(program, convert), [&] { return tools::run_convert(convert); }},
                              {add_bench(program, bench), [&] { return tools::run_bench(bench); }}};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 1;
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    try {
      return command.run();
    } catch (const tandem::Error& error) {
      fmt::print(stderr, "tandem {}: {}\n", command.app->get_name(), error.message());
    } catch (const std::exception& error) {
      fmt::print(stderr, "tandem {}: {}\n", command.app->get_name(), error.what());
    }
  }
  return 1;
}
