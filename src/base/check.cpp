#include "tandem/base/check.h"

namespace tandem::detail {

std::string in_name_of_op(std::string message) {
  const RunningOp& running = RunningOp::of_thread();
  if (running.is_whole) message.replace(0, message.find(": "), running.name);
  return message;
}

}  // namespace tandem::detail
