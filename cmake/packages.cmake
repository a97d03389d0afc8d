# Packages by CPack: `cpack -G DEB` makes libtandem0.1, libtandem-dev and tandem-tools, `cpack -G TGZ` an archive of each.
# They are meant for a shared tandem without tests; scripts/package.sh makes both in build/packages.
set(TANDEM_PACKAGE_CONTACT "tandem authors <authors@tandem.invalid>"
    CACHE STRING "Maintainer of the Debian packages: NAME <MAIL>")
set(TANDEM_PACKAGE_HOMEPAGE "" CACHE STRING "Address of the page about tandem that the packages name")
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_VENDOR "tandem authors")
set(CPACK_PACKAGE_CONTACT "${TANDEM_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_HOMEPAGE_URL "${TANDEM_PACKAGE_HOMEPAGE}")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build/packages")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

# ---- components and the packages that have them
foreach(part "" _licenses _debian)
  string(TOUPPER "${part}" suffix)
  set(CPACK_COMPONENT_RUNTIME${suffix}_GROUP library)
  set(CPACK_COMPONENT_DEV${suffix}_GROUP development)
  set(CPACK_COMPONENT_TOOL${suffix}_GROUP tools)
endforeach()
if(BUILD_SHARED_LIBS)
  set(TANDEM_PACKAGE_COMPONENTS runtime dev)
  if(TARGET tandem_tool)
    list(APPEND TANDEM_PACKAGE_COMPONENTS tool)
  endif()
else()
  set(TANDEM_PACKAGE_COMPONENTS dev)
endif()

# ---- archives
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(archive_name ${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_ARCHIVE_LIBRARY_FILE_NAME ${archive_name}-runtime)
set(CPACK_ARCHIVE_DEVELOPMENT_FILE_NAME ${archive_name}-dev)
set(CPACK_ARCHIVE_TOOLS_FILE_NAME ${archive_name}-tools)

# ---- Debian packages
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtandem${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
    "mixed-precision training in C++ (shared libraries)
tandem trains neural networks in f32, f16, bf16 and float8, with PyTorch's
rules of automatic mixed precision and an API like libtorch's.

This package contains the shared libraries.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtandem-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtandem${soversion} (= ${PROJECT_VERSION}), libfmt-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "mixed-precision training in C++ (development files)
tandem trains neural networks in f32, f16, bf16 and float8, with PyTorch's
rules of automatic mixed precision and an API like libtorch's.

This package contains the headers, and the files with which CMake and
pkg-config find the library.")
# Not `tandem`: Debian's tandem-mass, another program, has the command of that name too.
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME tandem-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONFLICTS tandem-mass)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
    "mixed-precision training in C++ (command-line tool)
tandem trains neural networks in f32, f16, bf16 and float8, with PyTorch's
rules of automatic mixed precision and an API like libtorch's.

This package contains the command tandem, which describes a machine, lists
and converts files of tensors, and measures how much mixed precision gains.")

set(debian_folder "${CMAKE_CURRENT_BINARY_DIR}/debian")
# Control files: programs that are linked with this library depend on its minor version. dpkg-shlibdeps reads the local
# file for the tool.
foreach(file shlibs shlibdeps/debian/shlibs.local)
  set(lines)
  foreach(library "" ${TANDEM_COMPONENTS})
    string(REGEX REPLACE "(.+)" "_\\1" library "${library}")
    string(APPEND lines "libtandem${library} ${soversion} libtandem${soversion} (>= ${PROJECT_VERSION})\n")
  endforeach()
  file(CONFIGURE OUTPUT "${debian_folder}/${file}" CONTENT "${lines}")
endforeach()
file(CONFIGURE OUTPUT "${debian_folder}/triggers" CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${debian_folder}/shlibs" "${debian_folder}/triggers")

# copyright and changelog.gz. The date is that of SOURCE_DATE_EPOCH, if the environment has it.
find_program(TANDEM_GZIP gzip)
mark_as_advanced(TANDEM_GZIP)
if(TANDEM_GZIP)
  string(TIMESTAMP TANDEM_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
  configure_file(packaging/debian/changelog.in "${debian_folder}/changelog" @ONLY)
  execute_process(COMMAND "${TANDEM_GZIP}" -9nc "${debian_folder}/changelog" OUTPUT_FILE "${debian_folder}/changelog.gz"
                  COMMAND_ERROR_IS_FATAL ANY)
  foreach(component IN LISTS TANDEM_PACKAGE_COMPONENTS)
    if(component STREQUAL "runtime")
      set(package ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME})
    elseif(component STREQUAL "dev")
      set(package ${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME})
    else()
      set(package ${CPACK_DEBIAN_TOOLS_PACKAGE_NAME})
    endif()
    install(
      FILES packaging/debian/copyright "${debian_folder}/changelog.gz"
      DESTINATION share/doc/${package}
      COMPONENT ${component}_debian
      EXCLUDE_FROM_ALL)
  endforeach()
  if(BUILD_SHARED_LIBS AND TANDEM_ONEDNN_ORIGIN STREQUAL "unpacked")
    execute_process(COMMAND "${TANDEM_GZIP}" -9nc .deps/onednn/share/doc/onednn/THIRD-PARTY-PROGRAMS
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                    OUTPUT_FILE "${debian_folder}/THIRD-PARTY-PROGRAMS.gz" COMMAND_ERROR_IS_FATAL ANY)
    install(
      FILES "${debian_folder}/THIRD-PARTY-PROGRAMS.gz"
      DESTINATION share/doc/${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME}
      COMPONENT runtime_debian
      EXCLUDE_FROM_ALL)
  endif()
endif()

set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/installed_size.cmake")

# What differs by generator is set when CPack runs.
configure_file(cmake/CPackOptions.cmake.in CPackOptions.cmake @ONLY)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_BINARY_DIR}/CPackOptions.cmake")
include(CPack)
