#pragma once
// of_thread: thread-local objects that may still be used at the end of the process. Internal.
#include <cstddef>
#include <new>
#include <type_traits>

#pragma GCC visibility push(default)
namespace tandem::detail {

/// Returns the calling thread's own object, initially `make()`. At the end of the thread it is set to `make()` again,
/// but not destroyed: destructors of static objects run after those of the main thread's objects, and may use it.
/// `make` is a lambda without captures; each lambda has an object of its own.
template <class Make>
auto& of_thread(Make) {
  using T = std::invoke_result_t<Make>;
  alignas(T) static constinit thread_local std::byte memory[sizeof(T)] = {};
  struct Life {
    T* object = new (memory) T(Make()());
    ~Life() { *object = Make()(); }
  };
  static thread_local Life life;
  return *life.object;
}

}  // namespace tandem::detail
#pragma GCC visibility pop
