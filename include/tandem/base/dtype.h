#pragma once
// Element types: names, sizes and PyTorch's promotion rules.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/base/float8.h"
#include "tandem/base/half.h"

#pragma GCC visibility push(default)
namespace tandem {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // some are also names of C++ types
/// Element type of a tensor. U16, U32, U64 and the float8 types (base/float8.h) only hold values: ops that compute
/// refuse them. Undefined is that of an undefined tensor. The names after it are libtorch's.
enum class DType : uint8_t {
  U8,
  I8,
  I16,
  I32,
  I64,
  F16,
  F32,
  F64,
  Bool,
  BF16,
  F8E4M3FN,
  F8E5M2,
  F8E8M0FNU,
  U16,
  U32,
  U64,
  Undefined,
  Byte = U8,
  Char = I8,
  Short = I16,
  Int = I32,
  Long = I64,
  Half = F16,
  Float = F32,
  Double = F64,
  BFloat16 = BF16,
  Float8_e4m3fn = F8E4M3FN,
  Float8_e5m2 = F8E5M2,
  Float8_e8m0fnu = F8E8M0FNU,
  UInt16 = U16,
  UInt32 = U32,
  UInt64 = U64
};
#pragma GCC diagnostic pop
/// The number of DType values without Undefined, for arrays.
inline constexpr int kNumDTypes = static_cast<int>(DType::Undefined);

/// libtorch's names for the type.
using ScalarType = DType;
using Dtype = DType;

/// libtorch's names for the dtypes.
inline constexpr DType kByte = DType::U8, kUInt8 = DType::U8;
inline constexpr DType kChar = DType::I8, kInt8 = DType::I8;
inline constexpr DType kShort = DType::I16, kInt16 = DType::I16;
inline constexpr DType kInt = DType::I32, kInt32 = DType::I32;
inline constexpr DType kLong = DType::I64, kInt64 = DType::I64;
inline constexpr DType kHalf = DType::F16, kFloat16 = DType::F16;
inline constexpr DType kFloat = DType::F32, kFloat32 = DType::F32;
inline constexpr DType kDouble = DType::F64, kFloat64 = DType::F64;
inline constexpr DType kBool = DType::Bool;
inline constexpr DType kBFloat16 = DType::BF16;
inline constexpr DType kUInt16 = DType::U16, kUInt32 = DType::U32, kUInt64 = DType::U64;
inline constexpr DType kFloat8_e4m3fn = DType::F8E4M3FN, kFloat8_e5m2 = DType::F8E5M2;
inline constexpr DType kFloat8_e8m0fnu = DType::F8E8M0FNU;

/// Size of one element in bytes; 0 for Undefined.
constexpr size_t element_size(DType t) {
  constexpr size_t sizes[kNumDTypes + 1] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2, 1, 1, 1, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}

/// "f32", "bf16", "i64", ...: the names used in messages.
constexpr std::string_view name(DType t) {
  constexpr std::string_view names[] = {"u8",        "i8",  "i16",  "i32",  "i64",      "f16",
                                        "f32",       "f64", "bool", "bf16", "f8e4m3fn", "f8e5m2",
                                        "f8e8m0fnu", "u16", "u32",  "u64",  "undefined"};
  return names[static_cast<int>(t)];
}

/// e4m3fn, e5m2 or e8m0fnu.
constexpr bool is_float8(DType t) { return t >= DType::F8E4M3FN && t <= DType::F8E8M0FNU; }
/// u16, u32, u64 or a float8 dtype, which only hold values: ops move and convert them, and compute in others.
constexpr bool is_storage_only(DType t) { return t >= DType::F8E4M3FN && t < DType::Undefined; }
/// u8, u16, u32 or u64.
constexpr bool is_unsigned(DType t) { return t == DType::U8 || (is_storage_only(t) && !is_float8(t)); }
/// f16, bf16, f32, f64 or a float8 dtype.
constexpr bool is_floating_point(DType t) {
  return t == DType::F16 || t == DType::F32 || t == DType::F64 || t == DType::BF16 || is_float8(t);
}
/// f16, bf16, f32 or f64: the floating dtypes in which ops compute, and which can require grad.
constexpr bool is_differentiable(DType t) { return is_floating_point(t) && !is_float8(t); }
/// True for integer dtypes, and for bool if `include_bool`.
constexpr bool is_integral(DType t, bool include_bool) {
  return !is_floating_point(t) && t != DType::Undefined && (include_bool || t != DType::Bool);
}
/// libtorch's names for these.
constexpr bool isFloatingType(DType t) { return is_floating_point(t); }
constexpr bool isIntegralType(DType t, bool include_bool = false) { return is_integral(t, include_bool); }
constexpr size_t elementSize(DType t) { return element_size(t); }
/// f16 or bf16.
constexpr bool is_reduced_floating_point(DType t) { return t == DType::F16 || t == DType::BF16; }

namespace detail {
[[noreturn]] void throw_storage_only_promotion(DType a, DType b);
[[noreturn]] void throw_storage_only_arithmetic(DType t);
[[noreturn]] void throw_undefined_dtype();
}  // namespace detail

/// Returns the smallest dtype that holds the values of both, by PyTorch's promotion lattice: f16 with bf16 gives f32,
/// u8 with i8 gives i16, and an integer with a floating dtype gives that floating dtype. Throws DTypeError for a float8
/// dtype and another one, and for u16, u32 or u64 and another dtype that is not floating. Source: torch.promote_types.
constexpr DType promote_types(DType a, DType b) {
  if (a == b) return a;
  const bool fa = is_floating_point(a), fb = is_floating_point(b);
  if (is_float8(a) || is_float8(b) || (fa == fb && (is_storage_only(a) || is_storage_only(b)))) {
    detail::throw_storage_only_promotion(a, b);
  }
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (fa != fb) return fa ? a : b;
  if (fa) {
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // f16 with bf16, or either with f32
  }
  if (a == DType::U8 || b == DType::U8) {
    const DType other = a == DType::U8 ? b : a;
    return other == DType::I8 ? DType::I16 : other;
  }
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

/// The C++ type of a dtype's elements.
template <DType T>
struct DTypeToCpp;
/// The dtype of a C++ element type; not defined for other types.
template <class T>
struct CppToDType;

/// The dtypes in which ops compute.
#define TANDEM_FOR_EACH_ARITHMETIC_DTYPE(X) \
  X(U8, uint8_t)                            \
  X(I8, int8_t)                             \
  X(I16, int16_t)                           \
  X(I32, int32_t)                           \
  X(I64, int64_t)                           \
  X(F16, Half)                              \
  X(F32, float)                             \
  X(F64, double)                            \
  X(Bool, bool)                             \
  X(BF16, BFloat16)
/// The dtypes that only hold values.
#define TANDEM_FOR_EACH_STORAGE_ONLY_DTYPE(X) \
  X(F8E4M3FN, Float8_e4m3fn)                  \
  X(F8E5M2, Float8_e5m2)                      \
  X(F8E8M0FNU, Float8_e8m0fnu)                \
  X(U16, uint16_t)                            \
  X(U32, uint32_t)                            \
  X(U64, uint64_t)
/// All dtypes.
#define TANDEM_FOR_EACH_DTYPE(X)      \
  TANDEM_FOR_EACH_ARITHMETIC_DTYPE(X) \
  TANDEM_FOR_EACH_STORAGE_ONLY_DTYPE(X)

#define TANDEM_DEFINE_DTYPE(NAME, CPP)          \
  template <>                                   \
  struct DTypeToCpp<DType::NAME> {              \
    using type = CPP;                           \
  };                                            \
  template <>                                   \
  struct CppToDType<CPP> {                      \
    static constexpr DType value = DType::NAME; \
  };
TANDEM_FOR_EACH_DTYPE(TANDEM_DEFINE_DTYPE)
#undef TANDEM_DEFINE_DTYPE

/// The dtype of the C++ element type T.
template <class T>
inline constexpr DType dtype_of = CppToDType<T>::value;

/// Calls `f(T{})` with the C++ type of `t`. Throws DTypeError for Undefined.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
#define TANDEM_VISIT(NAME, CPP) \
  case DType::NAME:             \
    return f(CPP{});
    TANDEM_FOR_EACH_DTYPE(TANDEM_VISIT)
#undef TANDEM_VISIT
    case DType::Undefined:
      detail::throw_undefined_dtype();
  }
  __builtin_unreachable();
}

/// The same for kernels that compute. Throws DTypeError for a dtype that only holds values.
template <class F>
decltype(auto) visit_arithmetic_dtype(DType t, F&& f) {
  switch (t) {
#define TANDEM_VISIT(NAME, CPP) \
  case DType::NAME:             \
    return f(CPP{});
    TANDEM_FOR_EACH_ARITHMETIC_DTYPE(TANDEM_VISIT)
#undef TANDEM_VISIT
    default:
      detail::throw_storage_only_arithmetic(t);
  }
}

}  // namespace tandem
#pragma GCC visibility pop
