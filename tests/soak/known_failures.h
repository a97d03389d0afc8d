#pragma once
// Failures that wait for a fix: the only place where a finder is told to look away. An entry goes when its fix comes.
#include <string_view>

namespace tandem::testing {

struct KnownFailure {
  std::string_view finder;  ///< the child task or the test
  std::string_view input;   ///< occurs in the input's description
  std::string_view ending;  ///< occurs in how it ended; what "did not end" is not tried again
  std::string_view defect;  ///< in plain words
};

// An entry a line.
// clang-format off
inline constexpr KnownFailure kKnownFailures[] = {
    {"AbsurdCalls", "print: ", "exception St", "printing a huge tensor throws std::bad_alloc or std::length_error"},
    {"AbsurdCalls", "chunk: ", "bad_alloc", "chunk into billions of parts throws std::bad_alloc"},
    {"AbsurdCalls", "", "Segmentation fault", "the number of elements of a huge expanded tensor wraps around"},
    {"AbsurdCalls", "", "signed integer overflow", "sizes, strides and offsets near 2^63 overflow (UBSan)"},
    {"FailingNew", "", "terminate called after throwing an instance of 'std::bad_alloc'",
     "destructors of graph nodes allocate"},
    {"HostileFiles", "with a FIFO at PATH.tmp", "did not end", "save() waits for a FIFO at PATH.tmp"},
    {"HostileFiles", "a link to a file at PATH.tmp", "was overwritten",
     "save() follows a link at PATH.tmp and overwrites its target"},
    {"HostileFiles", "save to a FIFO", "a FIFO was replaced", "save() puts a file in the place of a FIFO"},
    {"HostileFiles", "save to a private file", "readable to others", "save() does not keep a file's mode"},
    {"RandomOps", R"("op":"chunk")", "1 outputs, expected", "chunk of an empty dimension gives one part"},
    {"RandomOps", R"("op":"clamp")", "gradient 0", "clamp gives no gradient where x is infinite and no bound applies"},
    {"RandomOps", R"("op":"pow")", "gradient 1",
     "pow of a narrow base to an f64 exponent: the gradient has the base's precision"},
    {"RandomOps", R"("op":"atan2")", "gradient",
     "atan2's gradient is inf or NaN where x^2 + y^2 leaves the dtype's range"},
    {"RandomOps", R"("op":"var")", "gradient 0",
     "var's gradient is NaN where there are fewer elements than the correction"},
    {"RandomOps", R"("op":"norm")", "nan, expected", "norm's gradient at zero is NaN for p other than 1, 2 and inf"},
    {"RandomOps", R"("op":"arg)", "has no elements",
     "argmax along a dimension with elements of a tensor without any is refused"},
    {"RandomOps", "_\"", "share memory (expanded", "an expanded tensor without elements cannot be changed in place"},
};
// clang-format on

}  // namespace tandem::testing
