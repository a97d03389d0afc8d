# Configures a project that adds tandem as a folder and has chosen no build type: tandem is optimised, none of its tests
# and programs are built, what is missing and optional is left out, and what is missing and required is named.
file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${WORK_DIR}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.22)
project(stranger CXX)
list(APPEND CMAKE_MODULE_PATH \"\${CMAKE_CURRENT_SOURCE_DIR}\")
add_subdirectory(\"${SOURCE_DIR}\" tandem)
add_library(own STATIC own.cpp)
")
file(WRITE "${WORK_DIR}/own.cpp" "")
file(WRITE "${WORK_DIR}/dependencies.cmake" "message(FATAL_ERROR \"tandem took the project's own module\")")

# configure NAME options...: sets `status` and `output`, in which each space stands for any white space.
macro(configure name)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${WORK_DIR}" -B "${WORK_DIR}/${name}" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
endmacro()

function(expect_said text)
  string(FIND "${output}" "${text}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "CMake does not say \"${text}\":\n${output}")
  endif()
endfunction()

configure(without_options -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON
          -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${output}")
endif()
expect_said("tandem is built as Release")
foreach(text "PNG was not found (libpng-dev has it)" "JPEG was not found (libjpeg-dev has it)"
             "MPI was not found (libopenmpi-dev has it)" "Protocol Buffers were not found")
  expect_said("${text}")
endforeach()
file(READ "${WORK_DIR}/without_options/compile_commands.json" commands)
string(JSON count LENGTH "${commands}")
set(optimised 0)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON command GET "${commands}" ${i} command)
  string(JSON file GET "${commands}" ${i} file)
  if(command MATCHES " -O3 .*-DNDEBUG")
    math(EXPR optimised "${optimised} + 1")
  elseif(NOT file STREQUAL "${WORK_DIR}/own.cpp")
    message(SEND_ERROR "not optimised: ${command}")
  endif()
  if(file MATCHES "^${SOURCE_DIR}/(tests|examples|benchmarks|tools)/")
    message(SEND_ERROR "would be built: ${file}")
  endif()
endforeach()
if(NOT optimised EQUAL last OR optimised EQUAL 0)
  message(SEND_ERROR "${optimised} of ${count} files are optimised, not all but the project's own")
endif()

configure(offline -DTANDEM_FETCH=OFF -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
if(status EQUAL 0)
  message(SEND_ERROR "configured without fmt")
endif()
expect_said("tandem needs fmt, which was not found: install libfmt-dev")

set(ENV{https_proxy} http://127.0.0.1:9)
configure(unreachable -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
if(status EQUAL 0)
  message(SEND_ERROR "configured without fmt and a network")
endif()
expect_said("tandem needs fmt, which was not found and could not be downloaded")
expect_said("install libfmt-dev")
expect_said("-DFETCHCONTENT_SOURCE_DIR_FMT=DIR")
unset(ENV{https_proxy})

# A project that declares fmt itself and makes it available after tandem: both use one.
get_filename_component(source "${WORK_DIR}/fmt" ABSOLUTE)
file(WRITE "${source}/CMakeLists.txt" "add_library(fmt INTERFACE)\nadd_library(fmt::fmt ALIAS fmt)\n")
file(READ "${WORK_DIR}/CMakeLists.txt" lists)
string(REPLACE "add_subdirectory" "include(FetchContent)
FetchContent_Declare(fmt SOURCE_DIR \"${source}\")
add_subdirectory" lists "${lists}")
file(WRITE "${WORK_DIR}/CMakeLists.txt" "${lists}FetchContent_MakeAvailable(fmt)\n")
configure(declared "-DFETCHCONTENT_SOURCE_DIR_FMT=${source}" -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
if(NOT status EQUAL 0)
  message(SEND_ERROR "${output}")
endif()
