// Instructions that change the order of execution. block.cpp carries them out.
#include "ptx/opcode.h"

namespace tandem::ptx {

bool decode_control(Opcode& op, Instruction& i) {
  const std::string& m = op.mnemonic();
  if (m == "bra") {
    op.take("uni");
    i.control = Control::branch;
  } else if (m == "ret") {
    i.control = Control::exit;
  } else if (m == "trap") {
    i.control = Control::trap;
  } else if (m == "bar" && op.take("sync")) {
    i.control = Control::barrier;
  } else if (m == "bar" && op.take("red") && op.take("or") && op.take("pred")) {
    i.control = Control::barrier;
  }
  return i.control != Control::none;
}

}  // namespace tandem::ptx
