# Stops at once, with the cure, where the system or the compiler is too old to build tandem.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
  message(FATAL_ERROR "tandem builds for 64-bit Linux only; this build is for ${CMAKE_SYSTEM_NAME}")
endif()
set(least_GNU 11)
set(least_Clang 14)
set(least ${least_${CMAKE_CXX_COMPILER_ID}})
if(least AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
  message(FATAL_ERROR "tandem is written in C++20 and needs GCC ${least_GNU} or clang ${least_Clang}; "
                      "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Name another "
                      "compiler with -DCMAKE_CXX_COMPILER=g++-12 in a new build folder")
endif()
