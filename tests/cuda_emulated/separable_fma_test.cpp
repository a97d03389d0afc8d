// Tests of the switch between fused and separate multiply-adds. The file is compiled with the kernels' options.
#include "cuda_emulated/emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>

#include "tandem/tandem.h"

namespace tandem::cuda {
namespace {

class FuseGuard {
 public:
  explicit FuseGuard(bool fuse) : before_(emulated::fuse_multiply_adds(fuse)) {}
  ~FuseGuard() { emulated::fuse_multiply_adds(before_); }
  FuseGuard(const FuseGuard&) = delete;
  FuseGuard& operator=(const FuseGuard&) = delete;

 private:
  bool before_;
};

#if defined(__FMA__)

template <class T>
using Vector [[gnu::vector_size(16)]] = T;

/// The operands of an instruction in the order of its name, where the destination is number 1.
template <class T>
struct Operands {
  Vector<T> first, second, third;
};

/// Instructions with every form of operands: registers, the destination read twice or thrice, and addresses.
template <class T>
struct Forms {
  std::string_view name;
  void (*registers)(Operands<T>&);
  void (*same_second)(Operands<T>&);
  void (*same_third)(Operands<T>&);
  void (*all_same)(Operands<T>&);
  void (*address)(Operands<T>&);
  void (*address_and_index)(Operands<T>&);
  void (*scaled_index)(Operands<T>&);
};

// The destination is the last operand in the assembler's order.
#define FORMS(NAME, T)                                                                                              \
  Forms<T> {                                                                                                        \
    NAME,                                                                                                           \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " %2, %1, %0" : "+x"(o.first) : "x"(o.second), "x"(o.third));                                    \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " %1, %0, %0" : "+x"(o.first) : "x"(o.third));                                                   \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " %0, %1, %0" : "+x"(o.first) : "x"(o.second));                                                  \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " %0, %0, %0" : "+x"(o.first));                                                                  \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " 32(%2), %1, %0" : "+x"(o.first) : "x"(o.second), "r"(&o), "m"(o.third));                       \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " (%2,%3), %1, %0" : "+x"(o.first) : "x"(o.second), "r"(&o), "r"(int64_t{32}), "m"(o.third));    \
        },                                                                                                          \
        [](Operands<T>& o) {                                                                                        \
          asm(NAME " 16(%2,%3,4), %1, %0" : "+x"(o.first) : "x"(o.second), "r"(&o), "r"(int64_t{4}), "m"(o.third)); \
        },                                                                                                          \
  }
#define ORDERS(KIND, SUFFIX, T) FORMS(KIND "132" SUFFIX, T), FORMS(KIND "213" SUFFIX, T), FORMS(KIND "231" SUFFIX, T)
#define KINDS(SUFFIX, T) \
  ORDERS("vfmadd", SUFFIX, T), ORDERS("vfmsub", SUFFIX, T), ORDERS("vfnmadd", SUFFIX, T), ORDERS("vfnmsub", SUFFIX, T)

// std::fma is compiled to an instruction, which the switch concerns.
float fused_multiply_add(float a, float b, float c) { return ::fmaf(a, b, c); }
double fused_multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

/// a * b + c with one rounding or two.
template <class T>
T multiply_add(T a, T b, T c, bool fused) {
  const volatile T product = a * b;
  return fused ? fused_multiply_add(a, b, c) : product + c;
}

/// The result of the instruction, which leaves all but the first element of a scalar's register as they are.
template <class T>
Vector<T> expected(std::string_view name, const Operands<T>& o, bool fused) {
  const bool negated = name.starts_with("vfn"), subtracts = name.find("sub") != name.npos;
  const bool is_scalar = name.substr(name.size() - 2, 1) == "s";
  const std::string_view order = name.substr(name.size() - 5, 3);
  Vector<T> result = o.first;
  for (size_t i = 0; i < (is_scalar ? 1 : 16 / sizeof(T)); ++i) {
    const T operands[] = {o.first[i], o.second[i], o.third[i]};
    const T a = operands[order[0] - '1'], b = operands[order[1] - '1'], c = operands[order[2] - '1'];
    result[i] = multiply_add(negated ? -a : a, b, subtracts ? -c : c, fused);
  }
  return result;
}

template <class T>
void check_all(const std::vector<Forms<T>>& instructions) {
  std::mt19937 random(1);
  std::uniform_real_distribution<T> numbers(-2, 2);
  int differences = 0;
  for (const Forms<T>& instruction : instructions) {
    for (int round = 0; round < 20; ++round) {
      Operands<T> o;
      for (Vector<T>* v : {&o.first, &o.second, &o.third}) {
        for (size_t i = 0; i < 16 / sizeof(T); ++i) (*v)[i] = numbers(random);
      }
      for (const bool fused : {false, true}) {
        const FuseGuard guard(fused);
        const auto check = [&](void (*run)(Operands<T>&), Operands<T> operands, const char* form) {
          const Vector<T> wanted = expected(instruction.name, operands, fused);
          run(operands);
          for (size_t i = 0; i < 16 / sizeof(T); ++i) {
            EXPECT_EQ(operands.first[i], wanted[i]) << instruction.name << ' ' << form << " fused: " << fused;
          }
        };
        check(instruction.registers, o, "registers");
        check(instruction.same_second, {o.first, o.first, o.third}, "second = first");
        check(instruction.same_third, {o.first, o.second, o.first}, "third = first");
        check(instruction.all_same, {o.first, o.first, o.first}, "all the same");
        check(instruction.address, o, "address");
        check(instruction.address_and_index, o, "address and index");
        check(instruction.scaled_index, o, "scaled index");
      }
      differences += expected(instruction.name, o, true)[0] != expected(instruction.name, o, false)[0];
    }
  }
  EXPECT_GT(differences, 0);
}

TEST(SeparableFma, EveryInstructionHasBothResults) {
  check_all<float>({KINDS("ss", float), KINDS("ps", float)});
  check_all<double>({KINDS("sd", double), KINDS("pd", double)});
}

/// Registers of 32 bytes.
TEST(SeparableFma, WideRegisters) {
  typedef float Wide [[gnu::vector_size(32)]];
  const float x = 1 + 0x1p-12f;
  for (const bool fused : {false, true}) {
    const FuseGuard guard(fused);
    Wide a, c;
    for (int i = 0; i < 8; ++i) {
      a[i] = x;
      c[i] = -1 - 0x1p-11f;
    }
    asm("vfmadd231ps %1, %1, %0" : "+x"(c) : "x"(a));
    for (int i = 0; i < 8; ++i) EXPECT_EQ(c[i], fused ? 0x1p-24f : 0) << i;
  }
}

TEST(SeparableFma, ExplicitCallsAlwaysFuse) {
  const volatile float x = 1 + 0x1p-12f;
  const volatile double y = 1 + 0x1p-28;
  for (const bool fused : {false, true}) {
    const FuseGuard guard(fused);
    EXPECT_EQ(::fmaf(x, x, -1 - 0x1p-11f), 0x1p-24f);
    EXPECT_EQ(::fma(y, y, -1 - 0x1p-27), 0x1p-56);
  }
}

TEST(SeparableFma, KernelsRoundOnceOrTwice) {
  const Tensor x = full({1000}, 1 + 0x1p-12, kCUDA), sum = full({1000}, -1 - 0x1p-11, kCUDA);
  for (const bool fused : {false, true}) {
    const FuseGuard guard(fused);
    EXPECT_EQ(add(sum, x, 1 + 0x1p-12).max().item<float>(), fused ? 0x1p-24f : 0);
  }
}

#endif

TEST(SeparableFma, TheSettingIsReturned) {
  const FuseGuard guard(true);
  EXPECT_TRUE(emulated::fuse_multiply_adds(false));
  EXPECT_FALSE(emulated::fuse_multiply_adds(true));
}

}  // namespace
}  // namespace tandem::cuda
