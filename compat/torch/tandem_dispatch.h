#pragma once
// libtorch's macros that call a lambda with `scalar_t`, the C++ type of a dtype's elements.
#include "tandem/base/assert.h"
#include "tandem/base/dtype.h"

/// The cases of a switch. C++ types are those of the enumerators.
#define AT_DISPATCH_CASE(enumerator, ...)                                     \
  case enumerator: {                                                          \
    using scalar_t [[maybe_unused]] = ::tandem::DTypeToCpp<enumerator>::type; \
    return __VA_ARGS__();                                                     \
  }
#define AT_DISPATCH_SWITCH(dtype, name, ...)                                                                     \
  [&] {                                                                                                          \
    const ::tandem::DType tandem_dtype = dtype;                                                                  \
    switch (tandem_dtype) {                                                                                      \
      __VA_ARGS__                                                                                                \
      default:                                                                                                   \
        throw ::tandem::NotImplementedError(                                                                     \
            name, ::tandem::str("not implemented for ", tandem_dtype, "; convert the tensor to another dtype")); \
    }                                                                                                            \
  }()

#define AT_DISPATCH_CASE_FLOATING_TYPES(...)       \
  AT_DISPATCH_CASE(::tandem::kDouble, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kFloat, __VA_ARGS__)
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...)     \
  AT_DISPATCH_CASE(::tandem::kByte, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kChar, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kInt, __VA_ARGS__)  \
  AT_DISPATCH_CASE(::tandem::kLong, __VA_ARGS__) \
  AT_DISPATCH_CASE(::tandem::kShort, __VA_ARGS__)
#define AT_DISPATCH_CASE_ALL_TYPES(...)        \
  AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) \
  AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__)

#define AT_DISPATCH_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(a, b, dtype, name, ...)                                    \
  AT_DISPATCH_SWITCH(dtype, name,                                                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) \
                         AT_DISPATCH_CASE(b, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(dtype, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(::tandem::kHalf, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(                                        \
      dtype, name, AT_DISPATCH_CASE(::tandem::kHalf, __VA_ARGS__) AT_DISPATCH_CASE(::tandem::kBFloat16, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(dtype, name, ...) AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(a, b, dtype, name, ...)                                    \
  AT_DISPATCH_SWITCH(dtype, name,                                                             \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) \
                         AT_DISPATCH_CASE(b, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(a, b, c, dtype, name, ...)                                 \
  AT_DISPATCH_SWITCH(dtype, name,                                                             \
                     AT_DISPATCH_CASE_ALL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) \
                         AT_DISPATCH_CASE(b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(a, b, c, dtype, name, ...)                                 \
  AT_DISPATCH_SWITCH(dtype, name,                                                                  \
                     AT_DISPATCH_CASE_FLOATING_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__) \
                         AT_DISPATCH_CASE(b, __VA_ARGS__) AT_DISPATCH_CASE(c, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES_AND(a, dtype, name, ...) \
  AT_DISPATCH_SWITCH(dtype, name, AT_DISPATCH_CASE_INTEGRAL_TYPES(__VA_ARGS__) AT_DISPATCH_CASE(a, __VA_ARGS__))
/// i32 and i64, as `index_t`.
#define AT_DISPATCH_INDEX_TYPES(dtype, name, ...) \
  AT_DISPATCH_SWITCH(                                                                   \
      dtype, name, case ::tandem::kInt : {                                              \
        using index_t [[maybe_unused]] = int32_t;                                       \
        return __VA_ARGS__();                                                           \
      } case ::tandem::kLong : {                                                        \
        using index_t [[maybe_unused]] = int64_t;                                       \
        return __VA_ARGS__();                                                           \
      })

// With libtorch's complex types, of which tandem has none.
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES(dtype, name, ...) AT_DISPATCH_FLOATING_TYPES(dtype, name, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND1(a, dtype, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND(a, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_FLOATING_TYPES_AND2(a, b, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX(dtype, name, ...) AT_DISPATCH_ALL_TYPES(dtype, name, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(a, dtype, name, ...) \
  AT_DISPATCH_ALL_TYPES_AND(a, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(a, b, dtype, name, ...) \
  AT_DISPATCH_ALL_TYPES_AND2(a, b, dtype, name, __VA_ARGS__)
#define AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(a, b, c, dtype, name, ...) \
  AT_DISPATCH_ALL_TYPES_AND3(a, b, c, dtype, name, __VA_ARGS__)
