// Files in the format of safetensors.
#include "tandem/io/safetensors.h"

#include "bridge.h"

namespace tandem::python {

void bind_io(nb::module_& m) {
  m.def(
      "save",
      [](const nb::dict& tensors, const std::string& path) {
        const StateDict state = state_from(tensors);
        const nb::gil_scoped_release unlocked;
        io::save_file(state, path);
      },
      "tensors"_a, "path"_a, "Writes a dict of tensors to a safetensors file.");
  m.def(
      "load",
      [](const std::string& path, const std::optional<DeviceArg>& device) {
        io::TensorFile file;
        {
          const nb::gil_scoped_release unlocked;
          file = io::load_file(path, device ? device->get() : Device(kCPU));
        }
        return state_to(file.tensors);
      },
      "path"_a, "device"_a = nb::none(), "Reads the tensors of a safetensors file.");
}

}  // namespace tandem::python
