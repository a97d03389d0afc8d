# Defines DNNL::dnnl: an installed oneDNN 3 or, with -DTANDEM_FETCH_ONEDNN=ON, a pinned release that is built here as a
# static library. Sets TANDEM_ONEDNN_ORIGIN to `system`, `unpacked` (by scripts/setup.sh into .deps) or `fetched`, and
# dnnl_FOUND. FETCHCONTENT_SOURCE_DIR_ONEDNN names a folder that has the sources already.
option(TANDEM_FETCH_ONEDNN "Download and build oneDNN instead of looking for an installed one" OFF)
if(NOT TANDEM_FETCH_ONEDNN)
  # PATHS is searched last.
  find_package(dnnl 3 CONFIG PATHS "${CMAKE_CURRENT_SOURCE_DIR}/.deps/onednn")
  cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR "${dnnl_DIR}" NORMALIZE onednn_is_unpacked)
  if(onednn_is_unpacked)
    set(TANDEM_ONEDNN_ORIGIN unpacked)
  else()
    set(TANDEM_ONEDNN_ORIGIN system)
  endif()
  return()
endif()

if(NOT TANDEM_OPENMP)
  message(FATAL_ERROR "TANDEM_FETCH_ONEDNN builds oneDNN with OpenMP and needs TANDEM_OPENMP=ON")
endif()
include(FetchContent)
set(onednn_extract_timestamp)
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.24)
  set(onednn_extract_timestamp DOWNLOAD_EXTRACT_TIMESTAMP OFF)
endif()
# The checksum is the one with which TensorFlow fetches this file (third_party/mkl_dnn).
FetchContent_Declare(
  onednn
  URL https://github.com/oneapi-src/oneDNN/archive/refs/tags/v3.7.3.tar.gz
  URL_HASH SHA256=071f289dc961b43a3b7c8cbe8a305290a7c5d308ec4b2f586397749abdc88296 ${onednn_extract_timestamp})
# oneDNN's options, set as ordinary variables: without CMP0077 its option() and set(... CACHE) would replace them.
function(tandem_build_onednn)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)
  set(DNNL_LIBRARY_TYPE STATIC)
  set(DNNL_CPU_RUNTIME OMP)
  set(DNNL_GPU_RUNTIME NONE)
  set(DNNL_BUILD_DOC OFF)
  set(DNNL_BUILD_EXAMPLES OFF)
  set(DNNL_BUILD_TESTS OFF)
  set(ONEDNN_BUILD_GRAPH OFF)
  set(DNNL_ENABLE_WORKLOAD TRAINING)
  # What kernels/cpu/onednn uses: programs are linked without the rest.
  set(DNNL_ENABLE_PRIMITIVE CONVOLUTION INNER_PRODUCT MATMUL REORDER)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON) # it may become part of a shared tandem
  FetchContent_MakeAvailable(onednn)
endfunction()
tandem_build_onednn()
if(NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl ALIAS dnnl)
endif()
set(dnnl_FOUND ON)
set(TANDEM_ONEDNN_ORIGIN fetched)
