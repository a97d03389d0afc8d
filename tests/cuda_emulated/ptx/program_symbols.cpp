#include "cuda_emulated/ptx/program_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "cuda_emulated/emulator.h"

namespace tandem::cuda::emulated {
namespace {

/// The program's file. It stays mapped, because names point into it.
const char* map_program() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) throw Misuse("the program's own file cannot be read");
  const void* mapped = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) throw Misuse("the program's own file cannot be mapped");
  return static_cast<const char*>(mapped);
}

template <class T>
std::span<const T> items(const char* program, const Elf64_Shdr& section) {
  return {reinterpret_cast<const T*>(program + section.sh_offset), section.sh_size / sizeof(T)};
}

/// How far the loader has moved the program. The program itself is the first object in the loader's list.
uintptr_t load_offset() {
  uintptr_t offset = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &offset);
  return offset;
}

struct Symbol {
  std::string_view file;  ///< empty for a function that other files see
  std::string_view name;
};

/// The functions by address. A file's local symbols follow the symbol of the file.
std::unordered_map<uintptr_t, Symbol> read_symbols() {
  const char* const program = map_program();
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(program);
  const std::span<const Elf64_Shdr> sections{reinterpret_cast<const Elf64_Shdr*>(program + header.e_shoff),
                                             header.e_shnum};
  const uintptr_t offset = load_offset();
  std::unordered_map<uintptr_t, Symbol> symbols;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* const names = program + sections[section.sh_link].sh_offset;
    std::string_view file;
    for (const Elf64_Sym& symbol : items<Elf64_Sym>(program, section)) {
      const std::string_view name = names + symbol.st_name;
      const int type = ELF64_ST_TYPE(symbol.st_info);
      const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
      if (type == STT_FILE) file = name.substr(name.rfind('/') + 1);
      if (type != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
      symbols.try_emplace(symbol.st_value + offset, Symbol{is_local ? file : std::string_view(), name});
    }
  }
  return symbols;
}

}  // namespace

std::string kernel_name(const void* address) {
  static const auto& symbols = *new auto(read_symbols());  // never destroyed: static tensors may launch kernels later
  const auto found = symbols.find(reinterpret_cast<uintptr_t>(address));
  if (found == symbols.end()) throw Misuse("the program's symbol table lacks a kernel; was the program stripped?");
  const Symbol& symbol = found->second;
  return symbol.file.empty() ? std::string(symbol.name) : std::string(symbol.file) + ":" + std::string(symbol.name);
}

}  // namespace tandem::cuda::emulated
