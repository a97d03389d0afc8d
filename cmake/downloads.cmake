# Builds libraries that tandem needs and that are not installed, from Debian's archives of their sources, which stay
# where they are. FETCHCONTENT_SOURCE_DIR_<NAME> names a folder that has the sources already.
include(FetchContent)

set(TANDEM_POOLS https://deb.debian.org/debian/pool/main
                 https://snapshot.debian.org/archive/debian/20260101T000000Z/pool/main)

# tandem_download_archive(archive name path sha256): writes the file `archive`, or stops with the cure. FetchContent
# would try an unreachable server for more than a minute.
function(tandem_download_archive archive name path sha256)
  string(TOUPPER ${name} upper)
  FetchContent_GetProperties(${name} POPULATED populated)
  if(populated OR FETCHCONTENT_SOURCE_DIR_${upper} OR FETCHCONTENT_FULLY_DISCONNECTED)
    return()
  endif()
  set(failures)
  foreach(pool IN LISTS TANDEM_POOLS)
    if(EXISTS "${archive}")
      file(SHA256 "${archive}" sum)
      if(sum STREQUAL sha256)
        return()
      endif()
    endif()
    file(DOWNLOAD "${pool}/${path}" "${archive}" INACTIVITY_TIMEOUT 20 TIMEOUT 600 STATUS status)
    list(GET status 1 reason)
    string(APPEND failures "  ${pool}/${path}: ${reason}\n")
  endforeach()
  file(SHA256 "${archive}" sum)
  if(NOT sum STREQUAL sha256)
    message(FATAL_ERROR "tandem needs ${name}, which was not found and could not be downloaded:\n${failures}"
                        "Without a network, ${tandem_cure}or name a folder with its sources by "
                        "-DFETCHCONTENT_SOURCE_DIR_${upper}=DIR. -DTANDEM_FETCH=OFF downloads nothing.")
  endif()
endfunction()

# tandem_download(target name path sha256): sets <name>_SOURCE_DIR and <name>_BINARY_DIR. The sum is that of Debian's
# .dsc file. If the project declared `name` itself, its declaration holds; where that gives the target, the caller
# returns.
macro(tandem_download target name path sha256)
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.24)
    set(tandem_timestamps DOWNLOAD_EXTRACT_TIMESTAMP OFF)
  endif()
  get_filename_component(tandem_archive "${path}" NAME)
  set(tandem_archive "${FETCHCONTENT_BASE_DIR}/${tandem_archive}")
  tandem_download_archive("${tandem_archive}" ${name} ${path} ${sha256})
  FetchContent_Declare(
    ${name}
    URL "${tandem_archive}"
    URL_HASH SHA256=${sha256} ${tandem_timestamps}
    SOURCE_SUBDIR not-configured-yet)
  FetchContent_MakeAvailable(${name})
  if(TARGET ${target})
    return()
  endif()
endmacro()

# The functions keep the options of the libraries, which are ordinary variables, to themselves. Without these policies,
# option() and set(... CACHE) would replace them.
macro(tandem_begin_download)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON) # they may become part of a shared tandem
  set(BUILD_SHARED_LIBS OFF)
endmacro()

function(tandem_build_fmt)
  tandem_begin_download()
  tandem_download(fmt::fmt fmt f/fmtlib/fmtlib_10.1.1+ds1.orig.tar.gz
                  7000f214d2628f04174822f8048c573f1608194408d7931121595a03f1c18a17)
  set(FMT_INSTALL OFF)
  set(FMT_DEBUG_POSTFIX "") # tandem.pc names one library
  add_subdirectory("${fmt_SOURCE_DIR}" "${fmt_BINARY_DIR}" EXCLUDE_FROM_ALL)
endfunction()

function(tandem_build_nlohmann_json)
  tandem_begin_download()
  tandem_download(nlohmann_json::nlohmann_json nlohmann_json n/nlohmann-json3/nlohmann-json3_3.11.3.orig.tar.gz
                  0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
  set(JSON_BuildTests OFF)
  set(JSON_Install OFF)
  add_subdirectory("${nlohmann_json_SOURCE_DIR}" "${nlohmann_json_BINARY_DIR}" EXCLUDE_FROM_ALL)
endfunction()

function(tandem_build_ZLIB)
  tandem_begin_download()
  tandem_download(ZLIB::ZLIB zlib z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz
                  60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb)
  file(GLOB sources "${zlib_SOURCE_DIR}/*.c") # its own CMakeLists.txt needs files that Debian leaves out
  add_library(tandem_zlib STATIC EXCLUDE_FROM_ALL ${sources})
  set_target_properties(tandem_zlib PROPERTIES OUTPUT_NAME z)
  target_compile_definitions(tandem_zlib PRIVATE HAVE_UNISTD_H)
  # zlib's own CMakeLists.txt, if the project has run it, moves zconf.h to the build folder.
  target_include_directories(tandem_zlib SYSTEM PUBLIC "$<BUILD_INTERFACE:${zlib_SOURCE_DIR};${zlib_BINARY_DIR}>")
  add_library(ZLIB::ZLIB ALIAS tandem_zlib)
endfunction()

function(tandem_build_dnnl)
  tandem_begin_download()
  tandem_download(DNNL::dnnl onednn o/onednn/onednn_3.7.2+ds.orig.tar.xz
                  0cc51ca26c1af6a2bb1e71e378e7046f3ceb3e71791ee9d4e246d50f904a6ea6)
  set(DNNL_LIBRARY_TYPE STATIC)
  set(DNNL_CPU_RUNTIME SEQ)
  if(TANDEM_OPENMP)
    set(DNNL_CPU_RUNTIME OMP)
  endif()
  set(DNNL_GPU_RUNTIME NONE)
  set(DNNL_BUILD_DOC OFF)
  set(DNNL_BUILD_EXAMPLES OFF)
  set(DNNL_BUILD_TESTS OFF)
  set(ONEDNN_BUILD_GRAPH OFF)
  set(DNNL_ENABLE_WORKLOAD TRAINING)
  # What kernels/cpu/onednn uses: programs are linked without the rest.
  set(DNNL_ENABLE_PRIMITIVE CONVOLUTION INNER_PRODUCT MATMUL REORDER)
  if(NOT TARGET dnnl)
    add_subdirectory("${onednn_SOURCE_DIR}" "${onednn_BINARY_DIR}" EXCLUDE_FROM_ALL)
  endif()
  if(NOT TARGET DNNL::dnnl)
    add_library(DNNL::dnnl ALIAS dnnl)
  endif()
endfunction()
