# The libraries that tandem uses. Those that it cannot do without are downloaded and built where they are not installed
# (downloads.cmake); optional ones are left out. For each, one line says so.
#
# Sets TANDEM_FETCHED to the packages that are built here, TANDEM_ONEDNN_ORIGIN to `system` or `unpacked` (by
# scripts/setup.sh into .deps), and TANDEM_HAS_<PACKAGE> for the optional ones.
include("${CMAKE_CURRENT_SOURCE_DIR}/cmake/downloads.cmake")
option(TANDEM_FETCH "Download and build what tandem needs and is not installed" ON)
option(TANDEM_ONEDNN "Multiply matrices and convolve with oneDNN; OFF: with OpenBLAS, which is slower" ON)
set(TANDEM_FETCHED)
set(TANDEM_HAS_NCCL OFF) # cuda.cmake looks for it

# tandem_require(target package debian_package [arguments of find_package...]): another project may have the target.
macro(tandem_require target package debian)
  if(NOT TARGET ${target})
    find_package(${package} ${ARGN} QUIET)
  endif()
  if(NOT TARGET ${target})
    set(tandem_cure "install ${debian} (scripts/setup.sh does), ")
    if(${package} STREQUAL "dnnl")
      string(APPEND tandem_cure "configure with -DTANDEM_ONEDNN=OFF to use OpenBLAS, ")
    endif()
    if(NOT TANDEM_FETCH)
      message(FATAL_ERROR "tandem needs ${package}, which was not found: ${tandem_cure}or configure with "
                          "-DTANDEM_FETCH=ON to download it")
    endif()
    message(STATUS "tandem: ${package} was not found (${debian} has it); downloading and building it")
    enable_language(C) # in the scope of the directory
    cmake_language(CALL tandem_build_${package})
    list(APPEND TANDEM_FETCHED ${package})
  endif()
endmacro()

# tandem_use(name debian_package without [arguments of find_package...]): sets TANDEM_HAS_<name>.
macro(tandem_use name debian without)
  option(TANDEM_${name} "Use ${name}, if it is found" ON)
  set(TANDEM_HAS_${name} OFF)
  if(TANDEM_${name})
    find_package(${name} ${ARGN} QUIET)
    if(${name}_FOUND)
      set(TANDEM_HAS_${name} ON)
    else()
      message(STATUS "tandem: ${name} was not found (${debian} has it); ${without}")
    endif()
  endif()
endmacro()

find_package(Threads REQUIRED)
option(TANDEM_OPENMP "Use OpenMP threads in tandem's own loops" ON)
if(TANDEM_OPENMP)
  find_package(OpenMP QUIET COMPONENTS CXX)
  if(NOT OpenMP_CXX_FOUND)
    message(STATUS "tandem: OpenMP was not found (libgomp1 for g++, libomp-dev for clang have it); CPU kernels use one "
                   "thread")
    set(TANDEM_OPENMP OFF)
  endif()
endif()
tandem_require(ZLIB::ZLIB ZLIB zlib1g-dev)
tandem_require(fmt::fmt fmt libfmt-dev CONFIG)
tandem_require(nlohmann_json::nlohmann_json nlohmann_json nlohmann-json3-dev CONFIG)
if(TANDEM_ONEDNN)
  # PATHS is searched last.
  tandem_require(DNNL::dnnl dnnl "libdnnl-dev of version 3" 3 CONFIG PATHS "${CMAKE_CURRENT_SOURCE_DIR}/.deps/onednn")
  cmake_path(IS_PREFIX CMAKE_CURRENT_SOURCE_DIR "${dnnl_DIR}" NORMALIZE onednn_is_unpacked)
  set(TANDEM_ONEDNN_ORIGIN system)
  if(onednn_is_unpacked)
    set(TANDEM_ONEDNN_ORIGIN unpacked)
  endif()
else()
  include("${CMAKE_CURRENT_SOURCE_DIR}/cmake/openblas.cmake")
endif()

set(tandem_png_package libpng-dev)
if("ZLIB" IN_LIST TANDEM_FETCHED) # CMake finds libpng only beside an installed zlib
  set(tandem_png_package "libpng-dev with zlib1g-dev")
endif()
tandem_use(PNG "${tandem_png_package}" "data::read_image refuses PNG files")
tandem_use(JPEG libjpeg-dev "data::read_image refuses JPEG files")
set(MPI_CXX_SKIP_MPICXX ON) # only the C functions
tandem_use(MPI libopenmpi-dev "distributed::init() makes groups of one process" COMPONENTS CXX)
# From version 22 on, only its own package names all libraries that it needs. Debian's 3.21 has no package of its own;
# CMake's module finds it.
option(TANDEM_PROTOBUF "Write event files for TensorBoard, if Protocol Buffers are found" ON)
set(TANDEM_HAS_PROTOBUF OFF)
if(TANDEM_PROTOBUF)
  find_package(Protobuf CONFIG QUIET)
  if(NOT Protobuf_FOUND)
    find_package(Protobuf MODULE QUIET)
  endif()
  if(TARGET protobuf::protoc AND TARGET protobuf::libprotobuf-lite)
    set(TANDEM_HAS_PROTOBUF ON)
  else()
    message(STATUS "tandem: Protocol Buffers were not found (libprotobuf-dev and protobuf-compiler have them); "
                   "io::SummaryWriter and amp::TrainLog refuse to write event files for TensorBoard")
  endif()
endif()
