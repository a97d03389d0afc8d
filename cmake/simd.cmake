# tandem_simd_sources(tandem a.cpp b.cpp ...)
#
# Compiles each file once per instruction set and adds the objects to the target. In each compilation TANDEM_SIMD is the
# name of the set (baseline, avx2 or avx512), which the file uses as the namespace of its definitions:
#
#   namespace tandem::cpu::TANDEM_SIMD { void add(...) { ... } }
#
# So the three versions can be linked together, and the caller picks one at run time. TANDEM_SIMD_<set>=1 is defined
# too, for #if. On processors other than x86-64, and with -DTANDEM_BASELINE_ONLY=ON, there is only baseline.
#
# If several objects define an inline function or template out of line, the linker keeps one copy. If it kept the copy
# compiled for AVX-512, an older processor would crash in unrelated code. So all code in these files that is not inlined
# must have the instruction set in its name: keep helpers in the namespace above, and mark functions from headers as
# always-inline. tests/check_simd_symbols.py checks the objects.
set(TANDEM_SIMD_SETS baseline)
set(TANDEM_SIMD_FLAGS_baseline "")
if(NOT TANDEM_BASELINE_ONLY AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  list(APPEND TANDEM_SIMD_SETS avx2 avx512)
  set(TANDEM_SIMD_FLAGS_avx2 -mavx2 -mfma -mf16c)
  set(TANDEM_SIMD_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512)
endif()
if(TANDEM_BASELINE_ONLY)
  add_compile_definitions(TANDEM_BASELINE_ONLY)
endif()
# Compiled with optimisation in every build type (the last -O wins): unoptimised vector code would run for minutes.
set(TANDEM_SIMD_FLAGS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp-simd)
if(TANDEM_SANITIZE)
  list(TRANSFORM TANDEM_SIMD_FLAGS REPLACE "^-O3$" "-O2")
endif()

function(tandem_simd_sources target)
  if(NOT ARGN)
    return()
  endif()
  foreach(set IN LISTS TANDEM_SIMD_SETS)
    set(objects ${target}_simd_${set})
    if(NOT TARGET ${objects})
      add_library(${objects} OBJECT)
      get_target_property(visibility ${target} CXX_VISIBILITY_PRESET)
      if(visibility)
        set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET ${visibility})
      endif()
      set_target_properties(
        ${objects} PROPERTIES CXX_EXTENSIONS OFF
                              POSITION_INDEPENDENT_CODE $<TARGET_PROPERTY:${target},POSITION_INDEPENDENT_CODE>)
      target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
      target_compile_definitions(${objects} PRIVATE TANDEM_SIMD=${set} TANDEM_SIMD_${set}=1)
      target_compile_options(${objects} PRIVATE ${TANDEM_SIMD_FLAGS} ${TANDEM_SIMD_FLAGS_${set}})
      target_link_libraries(${objects} PRIVATE tandem_options fmt::fmt)
      if(TANDEM_OPENMP)
        target_link_libraries(${objects} PRIVATE OpenMP::OpenMP_CXX)
      endif()
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endif()
    target_sources(${objects} PRIVATE ${ARGN})
  endforeach()
endfunction()
