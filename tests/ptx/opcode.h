#pragma once
// Opcode: the name of an instruction, split at its dots, and the functions that find the handler of each family. A
// family takes the modifiers that it knows; one that is left over is an error, so that nothing is ignored.
#include <string>
#include <vector>

#include "ptx/module.h"

namespace tandem::ptx {

class Opcode {
 public:
  explicit Opcode(const std::string& text);
  const std::string& mnemonic() const { return mnemonic_; }
  /// Whether the modifier, such as "lo", is there; takes it.
  bool take(const std::string& modifier);
  /// The modifiers that nobody has taken, such as ".x4".
  std::string left() const;
  /// Takes the next type, from the left; none if there is none.
  Type take_type();
  /// Takes .shared and its like; generic if there is none.
  Space take_space();
  /// Takes .rn, .rz, .rm and .rp, or with an i at the end (to integers: sets `integral`).
  void take_rounding(Instruction& i);

 private:
  std::string mnemonic_;
  std::vector<std::string> modifiers_;
};

/// Whether the first operand is a result.
bool has_result(const std::string& opcode);

/// Each sets the handler and the fields of an instruction of its family. False: it is of another family.
bool decode_integer(Opcode& op, Instruction& i);
bool decode_carry(Opcode& op, Instruction& i);
bool decode_float(Opcode& op, Instruction& i);
bool decode_compare(Opcode& op, Instruction& i);
bool decode_convert(Opcode& op, Instruction& i);
bool decode_move(Opcode& op, Instruction& i);
bool decode_memory(Opcode& op, Instruction& i);
bool decode_atomic(Opcode& op, Instruction& i);
bool decode_async_copy(Opcode& op, Instruction& i);
bool decode_matrix(Opcode& op, Instruction& i);
bool decode_exchange(Opcode& op, Instruction& i);
bool decode_control(Opcode& op, Instruction& i);

}  // namespace tandem::ptx
