#pragma once
// An instruction of PTX, NVIDIA's instruction set for kernels, in the form in which it is executed: names are indices,
// and every source is a row of 32 values, one for each lane of a warp, whether it is a register, a number, an address
// or a special register such as %tid.x.
#include <array>
#include <cstdint>
#include <vector>

namespace tandem::ptx {

inline constexpr int kLanes = 32;
using Lanes = uint32_t;  ///< a set of lanes: bit l is lane l
using Row = std::array<uint64_t, kLanes>;

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  f32,
  f64
};
int bytes_of(Type type);

/// The rounding of results: to nearest even, toward zero, down, up. `none`: the instruction's default.
enum class Rounding : uint8_t { none, nearest, zero, down, up };

/// Where an instruction finds or leaves its value.
struct Operand {
  enum Kind : uint8_t { none, value, constant, predicate };
  Kind kind = none;
  bool negated = false;  ///< of predicates: !%p1
  uint8_t bytes = 8;     ///< of the register
  uint32_t index = 0;    ///< into the warp's values or predicates, or the kernel's constants
};

struct Warp;
struct Instruction;
/// Executes an instruction for some lanes of a warp, at least one.
using Handler = void (*)(Warp&, const Instruction&, Lanes);

struct Instruction {
  Handler run = nullptr;
  Type type = Type::none, source_type = Type::none;  ///< cvt.type.source_type; all others: equal
  Rounding rounding = Rounding::none;
  bool integral = false;  ///< cvt.rzi and its like: the result is an integer
  bool flush = false;     ///< .ftz: subnormal f32 inputs and results become 0
  bool saturate = false;
  uint8_t variant = 0;  ///< tells apart instructions that share a handler
  std::vector<Operand> to, from;
};

}  // namespace tandem::ptx
