#include "tandem/tensor/default_device.h"

#include "tandem/backend.h"
#include "tandem/base/op_scope.h"
#include "tandem/tensor/device_guard.h"

namespace tandem {

void set_default_device(Device device) {
  const OpScope op("set_default_device");
  backend(device.type());           // throws if the machine has no such devices
  const DeviceGuard there(device);  // throws if the index is out of range
  thread_state().default_device = device;
}

}  // namespace tandem
