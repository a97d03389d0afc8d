#pragma once
// PTX, NVIDIA's instruction set for kernels, in the form in which it is executed: names are indices, and every source
// is a row of 32 values, one for each lane of a warp, whether it is a register, a number, an address or a special
// register such as %tid.x.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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
inline bool is_signed(Type t) { return t >= Type::s8 && t <= Type::s64; }

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

/// The memory of an address. Parameters are those of the kernel; those of a function are local memory.
enum class Space : uint8_t { generic, global, shared, local, param };

/// What an instruction does to the order of execution.
enum class Control : uint8_t {
  none,
  branch,
  exit,
  trap,
  meets,   ///< waits for the other lanes of its mask
  barrier  ///< waits for the other threads of the block
};

struct Warp;
struct Instruction;
/// Executes an instruction for some lanes of a warp, at least one.
using Handler = void (*)(Warp&, const Instruction&, Lanes);

struct Instruction {
  Handler run = nullptr;
  Control control = Control::none;
  Type type = Type::none, source_type = Type::none;  ///< cvt.type.source_type; all others: equal
  Rounding rounding = Rounding::none;
  Space space = Space::generic;
  bool integral = false;  ///< cvt.rzi and its like: the result is an integer
  bool flush = false;     ///< .ftz: subnormal f32 inputs and results become 0
  bool saturate = false;
  uint8_t variant = 0;  ///< tells apart instructions that share a handler
  Operand guard;        ///< the predicate of @%p; none: always
  Operand mask;         ///< of `meets`: the lanes that take part; none: all
  uint32_t target = 0;  ///< of a branch
  int line = 0;         ///< of the file
  std::string_view text;
  int64_t offset = 0;  ///< of [register + offset]
  std::vector<Operand> to, from;
};

struct Parameter {
  std::string name;
  size_t offset = 0, bytes = 0;
};

/// A register that the hardware sets, and the row that holds it.
struct SpecialRegister {
  std::string name;  ///< "%tid.x"
  uint32_t index;
};

struct Kernel {
  std::string name, file;  ///< the name is mangled
  std::vector<Parameter> parameters;
  size_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;  ///< of the block; of each thread
  std::vector<Instruction> code;
  uint32_t values = 0, predicates = 0;  ///< registers of a thread
  std::vector<Row> constants;
  std::vector<SpecialRegister> special;
  std::map<std::string, std::span<const std::byte>> variables;  ///< in global memory
};

}  // namespace tandem::ptx
