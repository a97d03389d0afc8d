// Products by OpenBLAS or by plain loops, in a build without oneDNN.
#include "tools/cpu_products.h"

namespace tools {

ProductLibrary product_library() {
#if defined(TANDEM_TOOL_OPENBLAS)
  return {"OpenBLAS", "", ""};
#else
  return {"none", "", ""};
#endif
}

bool multiplies(tandem::DType dtype) { return dtype == tandem::kFloat || dtype == tandem::kDouble; }

}  // namespace tools
