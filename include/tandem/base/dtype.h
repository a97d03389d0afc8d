#pragma once
// Element types: names, sizes and PyTorch's promotion rules.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tandem/base/half.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Element type of a tensor.
enum class DType : uint8_t { U8, I8, I16, I32, I64, F16, F32, F64, Bool, BF16 };
inline constexpr int kNumDTypes = 10;

/// libtorch's names for the type.
using ScalarType = DType;
using Dtype = DType;

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

/// Size of one element in bytes.
constexpr size_t element_size(DType t) {
  constexpr size_t sizes[kNumDTypes] = {1, 1, 2, 4, 8, 2, 4, 8, 1, 2};
  return sizes[static_cast<int>(t)];
}

/// "f32", "bf16", "i64", ...: the names used in messages.
constexpr std::string_view name(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"u8", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bool", "bf16"};
  return names[static_cast<int>(t)];
}

constexpr bool is_floating_point(DType t) {
  return t == DType::F16 || t == DType::F32 || t == DType::F64 || t == DType::BF16;
}
/// True for integer dtypes, and for bool if `include_bool`.
constexpr bool is_integral(DType t, bool include_bool) {
  return !is_floating_point(t) && (include_bool || t != DType::Bool);
}
/// f16 or bf16.
constexpr bool is_reduced_floating_point(DType t) { return t == DType::F16 || t == DType::BF16; }

/// Returns the smallest dtype that holds the values of both, by PyTorch's promotion lattice: f16 with bf16 gives f32,
/// u8 with i8 gives i16, and an integer with a floating dtype gives that floating dtype. Source: torch.promote_types.
constexpr DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  const bool fa = is_floating_point(a), fb = is_floating_point(b);
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

#define TANDEM_FOR_EACH_DTYPE(X) \
  X(U8, uint8_t)                 \
  X(I8, int8_t)                  \
  X(I16, int16_t)                \
  X(I32, int32_t)                \
  X(I64, int64_t)                \
  X(F16, Half)                   \
  X(F32, float)                  \
  X(F64, double)                 \
  X(Bool, bool)                  \
  X(BF16, BFloat16)

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

template <class T>
inline constexpr DType dtype_of = CppToDType<T>::value;

/// Calls `f(T{})` with the C++ type of `t`.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
#define TANDEM_VISIT(NAME, CPP) \
  case DType::NAME:             \
    return f(CPP{});
    TANDEM_FOR_EACH_DTYPE(TANDEM_VISIT)
#undef TANDEM_VISIT
  }
  __builtin_unreachable();
}

}  // namespace tandem
#pragma GCC visibility pop
