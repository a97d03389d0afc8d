#include "cuda_emulated/ptx/ptx_folder.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cuda_emulated/emulator.h"

namespace tandem::cuda::emulated {

std::string kernel_name_of_ptx(const std::string& mangled) {
  constexpr std::string_view kAnonymous = "_GLOBAL__N__", kOurs = "12_GLOBAL__N_1";
  std::string name, file;
  size_t copied = 0;
  for (size_t at = mangled.find(kAnonymous); at != std::string::npos; at = mangled.find(kAnonymous, at + 1)) {
    size_t length_at = at;  // the identifier's length stands before it
    while (length_at > copied && std::isdigit(static_cast<unsigned char>(mangled[length_at - 1]))) --length_at;
    const size_t length = std::stoul(mangled.substr(length_at, at - length_at));
    // <hash>_<length>_<file>_cu_<hash>, both hashes of 8 characters
    const std::string identifier = mangled.substr(at + kAnonymous.size(), length - kAnonymous.size());
    const size_t file_at = identifier.find('_', identifier.find('_') + 1) + 1;
    file = identifier.substr(file_at, identifier.rfind("_cu_") - file_at) + ".cu:";
    name += mangled.substr(copied, length_at - copied);
    name += kOurs;
    copied = at + length;
  }
  return file + name + mangled.substr(copied);
}

PtxFolder::PtxFolder(const std::string& path, int capability) : path_(path) {
  if (!std::filesystem::is_directory(path)) throw Misuse("TANDEM_PTX is not a folder: " + path);
  for (const auto& found : std::filesystem::directory_iterator(path)) {
    if (found.path().extension() != ".ptx") continue;
    std::ifstream in(found.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    ptx::Module& module = *modules_.emplace_back(std::make_unique<ptx::Module>(text, found.path().filename().string()));
    if (module.target() != "sm_" + std::to_string(capability)) {
      throw Misuse(found.path().string() + " is for " + module.target() +
                   ", but the emulated device has compute capability " + std::to_string(capability / 10) + "." +
                   std::to_string(capability % 10) + ": set TANDEM_EMULATED_CAPABILITY");
    }
    for (const std::string& name : module.kernel_names()) entries_.try_emplace(kernel_name_of_ptx(name), &module, name);
  }
  if (entries_.empty()) throw Misuse("TANDEM_PTX has no PTX files with kernels: " + path);
}

const ptx::Kernel& PtxFolder::kernel(const std::string& name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Misuse("no PTX in " + path_ + " has the kernel " + name);
  return found->second.module->kernel(found->second.mangled);
}

}  // namespace tandem::cuda::emulated
