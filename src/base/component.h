#pragma once
// Components: the libraries tandem_io and tandem_distributed, with the code that needs libpng, MPI and the like. tandem
// calls them through pointers to functions and tables of them, which are null in programs that are not linked with the
// component. Internal.

/// Marks what components use of tandem and no public header declares, for a shared tandem to export it.
#define TANDEM_FOR_COMPONENTS __attribute__((visibility("default")))

namespace tandem {

/// Sets such a pointer when the component is loaded.
template <class T>
struct Provide {
  Provide(T*& pointer, T* value) { pointer = value; }
};

}  // namespace tandem
