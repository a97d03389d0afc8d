# Installs tandem in two components: `runtime`, the shared library with an unpacked oneDNN, and `dev`, the rest. The
# command-line tool is the component `tool` (tools/CMakeLists.txt).
set(TANDEM_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/tandem")
install(
  TARGETS tandem
  EXPORT tandemTargets
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
  ARCHIVE COMPONENT dev)
install(
  DIRECTORY include/tandem
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT dev)
install(
  EXPORT tandemTargets
  NAMESPACE tandem::
  DESTINATION ${TANDEM_INSTALL_CMAKEDIR}
  COMPONENT dev)
foreach(name IN LISTS TANDEM_COMPONENTS)
  install(
    TARGETS tandem_${name}
    EXPORT tandem_${name}Targets
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev
    ARCHIVE COMPONENT dev)
  install(
    EXPORT tandem_${name}Targets
    NAMESPACE tandem::
    DESTINATION ${TANDEM_INSTALL_CMAKEDIR}
    COMPONENT dev)
endforeach()

# ---- downloaded libraries become parts of the installed tandem: tandem::fmt and so on
set(target_of_ZLIB tandem_zlib)
set(target_of_dnnl dnnl)
set(target_of_fmt fmt)
foreach(package IN LISTS TANDEM_FETCHED)
  if(target_of_${package} AND (package STREQUAL "fmt" OR NOT BUILD_SHARED_LIBS))
    install(
      TARGETS ${target_of_${package}}
      EXPORT tandemTargets
      ARCHIVE COMPONENT dev)
  endif()
endforeach()
if("fmt" IN_LIST TANDEM_FETCHED)
  FetchContent_GetProperties(fmt SOURCE_DIR fmt_folder)
  install(
    DIRECTORY "${fmt_folder}/include/fmt"
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT dev)
endif()
if("dnnl" IN_LIST TANDEM_FETCHED)
  FetchContent_GetProperties(onednn SOURCE_DIR onednn_folder)
  install(
    FILES "${onednn_folder}/LICENSE" "${onednn_folder}/THIRD-PARTY-PROGRAMS"
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/onednn
    COMPONENT dev)
endif()

# ---- licences; Debian packages have the file `copyright` instead (cmake/packages.cmake)
foreach(component runtime dev)
  set(folder ${CMAKE_INSTALL_DOCDIR})
  if(component STREQUAL "runtime" AND NOT BUILD_SHARED_LIBS)
    continue()
  elseif(component STREQUAL "dev" AND BUILD_SHARED_LIBS)
    string(APPEND folder -dev)
  endif()
  install(
    FILES LICENSE THIRD_PARTY_NOTICES.md
    DESTINATION ${folder}
    COMPONENT ${component}_licenses)
endforeach()

# ---- oneDNN: an installed tandem must not depend on the folder .deps
set(onednn_destination ${CMAKE_INSTALL_LIBDIR}/${TANDEM_ONEDNN_FOLDER})
if(TANDEM_ONEDNN_ORIGIN STREQUAL "unpacked")
  if(BUILD_SHARED_LIBS)
    set(onednn_component runtime)
    set(onednn_parts PATTERN include EXCLUDE PATTERN cmake EXCLUDE PATTERN libdnnl.so EXCLUDE PATTERN share EXCLUDE)
  else()
    set(onednn_component dev)
    set(onednn_parts PATTERN share EXCLUDE)
  endif()
  install(
    DIRECTORY .deps/onednn/
    DESTINATION ${onednn_destination}
    COMPONENT ${onednn_component}
    ${onednn_parts})
  # `cmake --install --strip` and CPack strip targets only.
  install(
    CODE "if(CMAKE_INSTALL_DO_STRIP)
  file(GLOB libraries \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${onednn_destination}/lib/libdnnl.so.*.*\")
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \${libraries} COMMAND_ERROR_IS_FATAL ANY)
endif()"
    COMPONENT ${onednn_component})
  install(
    DIRECTORY .deps/onednn/share/doc/
    DESTINATION ${onednn_destination}/share/doc
    COMPONENT ${onednn_component}_licenses)
endif()

# ---- the CMake package
configure_package_config_file(cmake/tandemConfig.cmake.in tandemConfig.cmake
                              INSTALL_DESTINATION ${TANDEM_INSTALL_CMAKEDIR})
write_basic_package_version_file(tandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES "${CMAKE_CURRENT_BINARY_DIR}/tandemConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tandemConfigVersion.cmake"
  DESTINATION ${TANDEM_INSTALL_CMAKEDIR}
  COMPONENT dev)
if(TANDEM_CUDA AND NOT BUILD_SHARED_LIBS)
  install(
    FILES cmake/FindCUDNN.cmake cmake/FindNCCL.cmake
    DESTINATION ${TANDEM_INSTALL_CMAKEDIR}
    COMPONENT dev)
endif()

# ---- the pkg-config modules: tandem, and one of each component. A static tandem needs its libraries whether or not
# pkg-config is called with --static, so they are not private. The modules find their prefix by their own place.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
# pc_module(name): makes it from the lists pc_requires and pc_libs
function(pc_module pc_name)
  list(JOIN pc_requires " " pc_requires)
  list(JOIN pc_libs " " pc_libs)
  configure_file(cmake/tandem.pc.in ${pc_name}.pc @ONLY)
  install(
    FILES "${CMAKE_CURRENT_BINARY_DIR}/${pc_name}.pc"
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT dev)
endfunction()
set(pc_requires)
set(pc_libs -L\${libdir} -ltandem)
# pc_need(package module library): the module, or the library that was installed with tandem
macro(pc_need package module library)
  if(${package} IN_LIST TANDEM_FETCHED)
    list(APPEND pc_libs -l${library})
  else()
    list(APPEND pc_requires ${module})
  endif()
endmacro()
pc_need(fmt fmt fmt)
if(NOT BUILD_SHARED_LIBS)
  pc_need(ZLIB zlib z)
  if(TANDEM_ONEDNN_ORIGIN STREQUAL "unpacked")
    list(APPEND pc_libs -L\${libdir}/${TANDEM_ONEDNN_FOLDER}/lib -Wl,-rpath,\${libdir}/${TANDEM_ONEDNN_FOLDER}/lib)
  endif()
  if(TANDEM_ONEDNN)
    list(APPEND pc_libs -ldnnl)
  elseif(TANDEM_HAS_OPENBLAS)
    list(APPEND pc_libs -lopenblas)
  endif()
  if(TANDEM_CUDA)
    get_filename_component(folder "${CUDNN_LIBRARY}" DIRECTORY)
    list(APPEND pc_libs ${CUDNN_LIBRARY} -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lcublasLt -lrt -ldl)
    list(APPEND pc_libs -Wl,-rpath,${CUDAToolkit_LIBRARY_DIR} -Wl,-rpath,${folder})
  endif()
  if(TANDEM_OPENMP)
    list(APPEND pc_libs ${OpenMP_CXX_FLAGS})
  endif()
endif()
list(APPEND pc_libs -pthread)
pc_module(tandem)

# pc_component(name): the lists pc_requires and pc_libs of a component
macro(pc_component name)
  set(pc_requires "tandem = ${PROJECT_VERSION}")
  set(pc_libs)
  get_target_property(pc_type tandem_${name} TYPE)
  if(NOT pc_type STREQUAL "INTERFACE_LIBRARY") # the option of cmake/components.cmake
    list(APPEND pc_libs -L\${libdir} -Wl,--push-state,--no-as-needed,--whole-archive,-ltandem_${name},--pop-state)
  endif()
endmacro()
pc_component(distributed)
if(NOT BUILD_SHARED_LIBS)
  if(TANDEM_HAS_MPI) # the module of the MPI that was found, otherwise its files
    find_package(PkgConfig QUIET)
    set(mpi_module)
    if(PkgConfig_FOUND AND MPI_CXX_INCLUDE_DIRS MATCHES "openmpi")
      pkg_check_modules(TANDEM_OMPI QUIET ompi-c)
      if(TANDEM_OMPI_FOUND)
        set(mpi_module ompi-c)
      endif()
    elseif(PkgConfig_FOUND AND MPI_CXX_INCLUDE_DIRS MATCHES "mpich")
      pkg_check_modules(TANDEM_MPICH QUIET mpich)
      if(TANDEM_MPICH_FOUND)
        set(mpi_module mpich)
      endif()
    endif()
    if(mpi_module)
      list(APPEND pc_requires ${mpi_module})
    else()
      list(APPEND pc_libs ${MPI_CXX_LIBRARIES})
    endif()
  endif()
  if(TANDEM_HAS_NCCL)
    get_filename_component(folder "${NCCL_LIBRARY}" DIRECTORY)
    list(APPEND pc_libs ${NCCL_LIBRARY} -Wl,-rpath,${folder})
  endif()
endif()
pc_module(tandem-distributed)
pc_component(io)
if(NOT BUILD_SHARED_LIBS)
  foreach(pair PNG:libpng JPEG:libjpeg PROTOBUF:protobuf-lite)
    string(REGEX MATCH "(.+):(.+)" pair ${pair})
    if(TANDEM_HAS_${CMAKE_MATCH_1})
      list(APPEND pc_requires ${CMAKE_MATCH_2})
    endif()
  endforeach()
endif()
pc_module(tandem-io)
