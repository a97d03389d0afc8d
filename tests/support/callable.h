#pragma once
// Callable: a std::function that costs the compiler less for each lambda. The tests' tables have thousands of lambdas.
#include <memory>
#include <type_traits>
#include <utility>

namespace tandem::testing {

template <class Signature>
class Callable;

/// Copies share the callable object.
template <class R, class... Args>
class Callable<R(Args...)> {
 public:
  Callable() = default;
  template <class F>
  requires(!std::is_same_v<F, Callable>) Callable(F f)
      : object_(static_cast<void*>(new F(std::move(f))), &destroy<F>), call_(&call<F>) {}
  explicit operator bool() const { return call_ != nullptr; }
  R operator()(Args... args) const { return call_(object_.get(), static_cast<Args&&>(args)...); }

 private:
  template <class F>
  static void destroy(void* object) {
    delete static_cast<F*>(object);
  }
  template <class F>
  static R call(void* object, Args... args) {
    return static_cast<R>((*static_cast<F*>(object))(static_cast<Args&&>(args)...));
  }

  std::shared_ptr<void> object_;
  R (*call_)(void*, Args...) = nullptr;
};

}  // namespace tandem::testing
