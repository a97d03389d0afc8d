# Configures tandem as the recipes of packaging/ do: Conan's with the files that it exports only, and each with the
# libraries that it declares only. An installed oneDNN stands in for the one that the Conan recipe downloads.
file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${WORK_DIR}/declared.cmake" "macro(find_package name)
  string(TOLOWER \"\${name}\" lower)
  if(lower IN_LIST DECLARED)
    _find_package(\${ARGV})
  endif()
endmacro()
")

# configure(recipe source options libraries...)
function(configure recipe source options)
  # The names that CMake has for the libraries. Threads and OpenMP come with the compiler.
  set(declared threads openmp)
  foreach(library IN LISTS ARGN)
    string(REGEX REPLACE "^(lib|open)|-turbo$" "" library "${library}")
    string(REPLACE "-" "_" library "${library}")
    string(REPLACE "onednn" "dnnl" library "${library}")
    list(APPEND declared "${library}")
  endforeach()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${WORK_DIR}/build_${recipe}" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" "-Ddnnl_DIR=${DNNL_DIR}" "-DDECLARED=${declared}"
            "-DCMAKE_PROJECT_tandem_INCLUDE=${WORK_DIR}/declared.cmake" -DTANDEM_FETCH=OFF ${options}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "the ${recipe} recipe exports or declares too little:\n${output}")
  endif()
endfunction()

# matches(variable pattern text): the first group of each match
function(matches variable pattern text)
  string(REGEX MATCHALL "${pattern}" found "${text}")
  list(TRANSFORM found REPLACE "${pattern}" "\\1")
  if(NOT found)
    message(FATAL_ERROR "nothing matches ${pattern}")
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

set(switches -DTANDEM_BUILD_TESTS=OFF -DTANDEM_BUILD_EXAMPLES=OFF -DTANDEM_BUILD_BENCHMARKS=OFF -DTANDEM_BUILD_TOOLS=OFF)
file(READ "${SOURCE_DIR}/packaging/conan/conanfile.py" recipe)
matches(exports "for pattern in \\(([^)]*)\\)" "${recipe}")
matches(exports "\"([^\"]+)\"" "${exports}")
foreach(pattern IN LISTS exports)
  get_filename_component(folder "${pattern}" DIRECTORY)
  string(REPLACE "/*" "" path "${pattern}")
  if(path STREQUAL pattern)
    file(COPY "${SOURCE_DIR}/${path}" DESTINATION "${WORK_DIR}/exported/${folder}")
  else()
    file(COPY "${SOURCE_DIR}/${path}/" DESTINATION "${WORK_DIR}/exported/${path}")
  endif()
endforeach()
matches(libraries "self.requires\\(\"([^/]+)/" "${recipe}")
configure(conan "${WORK_DIR}/exported" "${switches}" onednn ${libraries})

file(READ "${SOURCE_DIR}/packaging/vcpkg/ports/tandem/portfile.cmake" port)
matches(switches "(-DTANDEM_[A-Z_]+=[A-Z]+)" "${port}")
file(READ "${SOURCE_DIR}/packaging/vcpkg/ports/tandem/vcpkg.json" manifest)
matches(libraries "\n +\"([a-z0-9-]+)\"" "${manifest}")
configure(vcpkg "${SOURCE_DIR}" "${switches}" ${libraries})
