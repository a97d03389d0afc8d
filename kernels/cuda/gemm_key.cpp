#include "kernels/cuda/gemm_key.h"

#include <fmt/format.h>

namespace tandem::cuda {

std::string to_string(const GemmKey& key) {
  constexpr const char* extras[] = {"", " with relu", " with bias", " with bias and relu", " with row sums"};
  std::string text = fmt::format("column-major {} [{}, {}]{} ld {} x [{}, {}]{} ld {} -> {} [{}, {}] ld {}{}{}",
                                 name(key.operands), key.m, key.k, key.transpose_a ? " transposed" : "", key.lda, key.k,
                                 key.n, key.transpose_b ? " transposed" : "", key.ldb, name(key.result), key.m, key.n,
                                 key.ldd, extras[static_cast<int>(key.extra)], key.accumulate ? ", accumulated" : "");
  if (key.batch > 1) {
    text +=
        fmt::format(", {} matrices, {}, {} and {} elements apart", key.batch, key.stride_a, key.stride_b, key.stride_d);
  }
  if (key.scales_a != ScaleForm::tensor) {
    constexpr const char* forms[] = {"tensor", "1 x 128", "128 x 128", "1 x 32"};
    text += fmt::format(", scales per {} and {}", forms[static_cast<int>(key.scales_a)],
                        forms[static_cast<int>(key.scales_b)]);
  }
  return text +
         fmt::format(", aligned to {}, {} and {} bytes, device {}", key.align_a, key.align_b, key.align_d, key.device);
}

}  // namespace tandem::cuda
