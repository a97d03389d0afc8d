# Builds the sources that this port is in, as an overlay port:
#
#   vcpkg install tandem --overlay-ports=packaging/vcpkg/ports
#
# A port for a registry would instead download a release with vcpkg_from_github().
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(
  OUT_FEATURE_OPTIONS feature_options
  FEATURES
    jpeg TANDEM_JPEG
    mpi TANDEM_MPI
    png TANDEM_PNG
    protobuf TANDEM_PROTOBUF)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${feature_options}
    -DTANDEM_BUILD_TESTS=OFF
    -DTANDEM_BUILD_EXAMPLES=OFF
    -DTANDEM_BUILD_BENCHMARKS=OFF
    -DTANDEM_BUILD_TOOLS=OFF
    -DTANDEM_FETCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tandem)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/THIRD_PARTY_NOTICES.md")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
