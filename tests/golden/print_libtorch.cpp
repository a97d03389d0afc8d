// Prints the tensors of print_cases.inc with libtorch and writes print_expected.inc. Run by hand, with libtorch's PyPI
// package in $TORCH:
//   g++ -std=c++20 -I$TORCH/include -I$TORCH/include/torch/csrc/api/include tests/golden/print_libtorch.cpp \
//     -L$TORCH/lib -Wl,-rpath,$TORCH/lib -ltorch_cpu -lc10 -o print_libtorch && ./print_libtorch >
//     tests/golden/print_expected.inc
#include <torch/torch.h>

#include <iostream>
#include <limits>
#include <string>
#include <vector>

using Values = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

static Values range(int n, double start, double step) {
  Values v;
  for (int i = 0; i < n; ++i) v.push_back(start + i * step);
  return v;
}

static void write(const char* name, Values values, const std::vector<int64_t>& sizes, torch::Dtype dtype) {
  std::cout << "{\"" << name << "\",\n R\"(" << torch::from_blob(values.data(), sizes, torch::kDouble).to(dtype)
            << ")\"},\n";
}

int main() {
  using namespace torch;
  std::cout << "// Written by print_libtorch.cpp with libtorch " << TORCH_VERSION << ". {name, text}.\n";
#define STRIP(...) __VA_ARGS__
#define X(NAME, VALUES, SIZES, DTYPE) write(#NAME, STRIP VALUES, STRIP SIZES, DTYPE);
#include "print_cases.inc"
  std::cout << "{\"undefined\",\n R\"(" << Tensor() << ")\"},\n";
}
