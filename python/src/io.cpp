// Files of named tensors.
#include "tandem/io/serialize.h"

#include "bridge.h"
#include "tandem/autograd/grad_mode.h"

namespace tandem::python {

void bind_io(nb::module_& m) {
  m.def(
      "save",
      [](const nb::dict& tensors, const std::string& path) {
        const StateDict state = state_from(tensors);
        const nb::gil_scoped_release unlocked;
        io::save_state(state, path);
      },
      "tensors"_a, "path"_a,
      "Writes a dict of tensors to a safetensors file, or to a PyTorch file if the path ends in .pt or .pth.");
  m.def(
      "load",
      [](const std::string& path, const std::optional<DeviceArg>& device) {
        StateDict tensors;
        {
          const nb::gil_scoped_release unlocked;
          tensors = io::load_state(path);
          if (device) {
            const NoGradGuard no_grad;
            for (auto& item : tensors) item.value() = item.value().to(device->get());
          }
        }
        return state_to(tensors);
      },
      "path"_a, "device"_a = nb::none(), "Reads the tensors of a safetensors or PyTorch file.");
}

}  // namespace tandem::python
