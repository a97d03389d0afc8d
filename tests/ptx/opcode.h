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
  /// Takes .rn, .rz, .rm and .rp, or with an i at the end (to integers: sets `integral`).
  void take_rounding(Instruction& i);

 private:
  std::string mnemonic_;
  std::vector<std::string> modifiers_;
};

/// Each sets the handler and the fields of an instruction of its family. False: it is of another family.
bool decode_integer(Opcode& op, Instruction& i);
bool decode_carry(Opcode& op, Instruction& i);
bool decode_float(Opcode& op, Instruction& i);
bool decode_compare(Opcode& op, Instruction& i);
bool decode_convert(Opcode& op, Instruction& i);

}  // namespace tandem::ptx
