# Installs tandem with a new prefix, moves the prefix, then configures, builds and runs tests/cmake/consumer with it, once
# with CMake and once with pkg-config. The prefix must not refer to the folders in which tandem was built.
cmake_minimum_required(VERSION 3.22)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${TANDEM_BINARY_DIR}" --prefix "${WORK_DIR}/installed")
run("${CMAKE_COMMAND}" -E rename "${WORK_DIR}/installed" "${WORK_DIR}/prefix") # an installation may be moved
foreach(file LICENSE THIRD_PARTY_NOTICES.md)
  file(GLOB_RECURSE found "${WORK_DIR}/prefix/share/doc/*/${file}")
  if(NOT found)
    message(FATAL_ERROR "no ${file} was installed")
  endif()
endforeach()
run("${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")
run("${WORK_DIR}/build/header_only")
run("${WORK_DIR}/build/components" ${LIBRARIES})

# Only programs that are linked with a component load its libraries.
set(optional "lib(jpeg|mpi|nccl|png|protobuf)")
execute_process(COMMAND ldd "${WORK_DIR}/build/consumer" OUTPUT_VARIABLE loaded COMMAND_ERROR_IS_FATAL ANY)
if(loaded MATCHES "${optional}")
  message(FATAL_ERROR "a program that is linked with tandem::tandem alone loads ${CMAKE_MATCH_0}:\n${loaded}")
endif()

# The package names what is missing.
# expect_missing(name message options...)
function(expect_missing name message)
  file(WRITE "${WORK_DIR}/${name}/CMakeLists.txt"
       "cmake_minimum_required(VERSION 3.22)\nproject(x CXX)\nfind_package(tandem REQUIRED COMPONENTS \${PARTS})\n")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${WORK_DIR}/${name}" -B "${WORK_DIR}/${name}/build" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix" ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_QUIET
    ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(message STREQUAL "" AND NOT status EQUAL 0 OR NOT message STREQUAL "" AND NOT output MATCHES "${message}")
    message(SEND_ERROR "${name}: find_package(tandem) says: ${output}")
  endif()
endfunction()
expect_missing(without_fmt "also need fmt \\(on Debian and Ubuntu: libfmt-dev\\)" -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON)
expect_missing(unknown_component "no component vision; its components are: distributed, io" -DPARTS=vision)
expect_missing(any_components "" -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON)
if("PNG" IN_LIST LIBRARIES AND NOT SHARED)
  expect_missing(without_png "tandem::io also need PNG \\(on Debian and Ubuntu: libpng-dev\\)" -DPARTS=io
                 -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON)
endif()

# pkg-config gives what a program needs, with and without --static.
find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
  file(GLOB_RECURSE module "${WORK_DIR}/prefix/*/tandem.pc")
  get_filename_component(folder "${module}" DIRECTORY)
  foreach(modules tandem "tandem-distributed;tandem-io")
    foreach(static "" --static)
      execute_process(
        COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${folder}" "${PKG_CONFIG}" --cflags --libs ${static} ${modules}
        RESULT_VARIABLE status
        OUTPUT_VARIABLE flags
        ERROR_VARIABLE output)
      if(NOT status EQUAL 0)
        message(FATAL_ERROR "pkg-config: ${output}")
      endif()
      separate_arguments(flags UNIX_COMMAND "${flags}")
      set(program "${WORK_DIR}/by_pkg_config")
      if(NOT EXISTS "${program}.o")
        run("${CXX_COMPILER}" -std=c++20 -O0 -c "${CONSUMER_DIR}/main.cpp" -o "${program}.o" ${flags})
      endif()
      run("${CXX_COMPILER}" "${program}.o" -o "${program}" ${flags})
      if(modules STREQUAL "tandem")
        run("${program}")
      else()
        run("${program}" ${LIBRARIES})
      endif()
    endforeach()
  endforeach()
else()
  message(STATUS "pkg-config is missing; the .pc files are not tested")
endif()

foreach(folder "${SOURCE_DIR}/.deps" "${SOURCE_DIR}/src" "${TANDEM_BINARY_DIR}/CMakeFiles")
  execute_process(COMMAND grep -rlF --include=*.cmake --include=*.pc "${folder}" "${WORK_DIR}/prefix"
                  OUTPUT_VARIABLE found)
  if(found)
    message(FATAL_ERROR "these files contain the build path ${folder}:\n${found}")
  endif()
endforeach()
execute_process(COMMAND readelf -d "${WORK_DIR}/build/consumer" OUTPUT_VARIABLE dynamic)
string(FIND "${dynamic}" "${SOURCE_DIR}/.deps" at)
if(NOT at EQUAL -1)
  message(FATAL_ERROR "the program looks for libraries in ${SOURCE_DIR}/.deps:\n${dynamic}")
endif()
