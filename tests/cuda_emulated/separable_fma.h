#pragma once
// Fused multiply-adds that can be switched off while the program runs, for the kernels of the emulated device.
//
// nvcc fuses a * b + c into one instruction with one rounding, wherever it likes. The emulated kernels are compiled for
// processors with FMA, so the host's compiler does the same. The macros below replace each of these instructions by a
// sequence that computes both the fused result and the one with two roundings, and keeps one of them according to
// tandem_separate_*, which fuse_multiply_adds() writes (separable_fma.cpp). So one compilation serves both ways.
//
// The sequence changes no register but the destination, and no flags. It keeps values in the 128 bytes below the stack
// pointer: the code must be compiled with -mno-red-zone, so that the compiler does not use them. fmaf() and fma() must
// always fuse: -fno-builtin-fma and -fno-builtin-fmaf make them calls of the C library. (std::fma is always compiled to
// the instruction; kernels must not use it.)
//
// Operands are in the order of the AT&T syntax, the destination \c last. In the names of the instructions, 132, 213 and
// 231 say which operands are multiplied, counted from the destination: c = c a + b, c = b c + a and c = b a + c.
asm(R"(
.macro tandem_fma kind, order, suffix, a, b, c
  vmovups \c, -32(%rsp)
  {vex} \kind\order\suffix \a, \b, \c   # the prefix keeps this from being a macro
  vmovups \c, -64(%rsp)
  vmovups -32(%rsp), \c
  .ifc \order,132
    vmul\suffix \a, \c, \c
    tandem_add \kind, \suffix, \b, \c
  .endif
  .ifc \order,213
    vmul\suffix \b, \c, \c
    tandem_add \kind, \suffix, "\a", \c
  .endif
  .ifc \order,231
    vmul\suffix \a, \b, \c
    tandem_add \kind, \suffix, \c, \c
  .endif
  vxorps -64(%rsp), \c, \c              # c = separate ? c : fused
  vandps tandem_separate_\suffix(%rip), \c, \c
  vxorps -64(%rsp), \c, \c
.endm

# Adds to the product in \c, or subtracts from it, negated for vfn*. If the addend is \c, its old value is meant.
.macro tandem_add kind, suffix, addend, c
  .irp negated, vfnmadd, vfnmsub
    .ifc \kind,\negated
      vxorps tandem_sign_\suffix(%rip), \c, \c
    .endif
  .endr
  .ifeqs "\addend","\c"
    tandem_add_value \kind, \suffix, -32(%rsp), \c
  .else
    tandem_add_value \kind, \suffix, "\addend", \c
  .endif
.endm

.macro tandem_add_value kind, suffix, addend, c
  .irp added, vfmadd, vfnmadd
    .ifc \kind,\added
      vadd\suffix \addend, \c, \c
    .endif
  .endr
  .irp subtracted, vfmsub, vfnmsub
    .ifc \kind,\subtracted
      vsub\suffix \addend, \c, \c
    .endif
  .endr
.endm

# The commas of an address such as 8(%rdi,%rax,4) separate arguments of a macro.
.irp kind, vfmadd, vfmsub, vfnmadd, vfnmsub
.irp order, 132, 213, 231
.irp suffix, ss, sd, ps, pd
.macro \kind\order\suffix a, b, c, d, e
  .ifb \d
    tandem_fma \kind, \order, \suffix, "\a", \b, \c
  .else
    .ifb \e
      tandem_fma \kind, \order, \suffix, "\a,\b", \c, \d
    .else
      tandem_fma \kind, \order, \suffix, "\a,\b,\c", \d, \e
    .endif
  .endif
.endm
.endr
.endr
.endr
)");
