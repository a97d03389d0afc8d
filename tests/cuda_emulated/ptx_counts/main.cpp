// ptx_counts: prints what the kernels of training cost, counted while nvcc's PTX runs on the emulated device.
//
// Usage: TANDEM_PTX=<folder> ptx_counts [--markdown FILE]
//
// --markdown replaces the tables of docs/kernel_resources.md.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "cuda_emulated/ptx_counts/rows.h"
#include "tandem/tandem.h"

namespace tandem::ptx_counts {
namespace {

int run(const char* page) {
  set_default_device(kCUDA);
  manual_seed(1);
  Report report;
  for (auto* const add : {add_elementwise, add_pools, add_indices, add_rows, add_batch_norm, add_attention, add_float8,
                          add_optimizers, add_training_steps}) {
    add(report);
  }
  if (page) {
    replace_table(page, "ops", report.ops());
    replace_table(page, "steps", report.steps());
  } else {
    std::printf("%s\n%s", report.ops().c_str(), report.steps().c_str());
  }
  return 0;
}

}  // namespace
}  // namespace tandem::ptx_counts

int main(int argc, char** argv) {
  const bool writes_page = argc == 3 && argv[1] == std::string_view("--markdown");
  if (!std::getenv("TANDEM_PTX") || !(argc == 1 || writes_page)) {
    std::fprintf(stderr, "usage: TANDEM_PTX=<folder of PTX files> %s [--markdown FILE]\n", argv[0]);
    return 2;
  }
  try {
    return tandem::ptx_counts::run(writes_page ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
