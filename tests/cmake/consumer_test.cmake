# Installs tandem with a new prefix, then configures, builds and runs tests/cmake/consumer with it. The prefix must not
# refer to the folders in which tandem was built.
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
file(GLOB_RECURSE licenses "${WORK_DIR}/prefix/share/doc/*/LICENSE")
if(NOT licenses)
  message(FATAL_ERROR "no LICENSE was installed")
endif()
run("${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")
run("${WORK_DIR}/build/header_only")

foreach(folder "${SOURCE_DIR}/.deps" "${SOURCE_DIR}/src" "${TANDEM_BINARY_DIR}/CMakeFiles")
  execute_process(COMMAND grep -rlF --include=*.cmake "${folder}" "${WORK_DIR}/prefix" OUTPUT_VARIABLE found)
  if(found)
    message(FATAL_ERROR "these files contain the build path ${folder}:\n${found}")
  endif()
endforeach()
execute_process(COMMAND readelf -d "${WORK_DIR}/build/consumer" OUTPUT_VARIABLE dynamic)
string(FIND "${dynamic}" "${SOURCE_DIR}/.deps" at)
if(NOT at EQUAL -1)
  message(FATAL_ERROR "the program looks for libraries in ${SOURCE_DIR}/.deps:\n${dynamic}")
endif()
