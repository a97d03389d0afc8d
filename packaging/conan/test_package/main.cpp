#include <tandem/tandem.h>

// Uses the library's ops, kernels and formatting through the installed package.
int main() {
  if (tandem::version() != TANDEM_VERSION) return 2;
  const tandem::Tensor x = tandem::ones({2, 3});
  return (x + x).sum().item<float>() == 12.0f ? 0 : 1;
}
