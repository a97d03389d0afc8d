#pragma once
// GeneratorGuard: gives a thread a random stream of its own.
#include "tandem/tensor/generator.h"

#pragma GCC visibility push(default)
namespace tandem {

/// Until the end of the scope, default_generator() of the calling thread is `generator`. For threads that draw at the
/// same time: their numbers then do not depend on their timing. Internal.
class GeneratorGuard {
 public:
  [[nodiscard]] explicit GeneratorGuard(Generator& generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  Generator* previous_;
};

namespace detail {
/// The calling thread's generator; null: the process's.
Generator*& thread_generator();
}  // namespace detail

}  // namespace tandem
#pragma GCC visibility pop
