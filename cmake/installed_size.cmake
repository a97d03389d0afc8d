# Corrects the field Installed-Size of Debian packages, after CPack has made them. CPack adds up the sizes of what
# symbolic links point to, so it counts the file of a shared library once more for each link. Debian's policy (5.6.20)
# wants the sum over files and links, each rounded up to KiB, and 1 KiB for each folder.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(folder "${package}.folder")
  file(REMOVE_RECURSE "${folder}")
  execute_process(COMMAND dpkg-deb --raw-extract "${package}" "${folder}" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND find . -mindepth 1 -path ./DEBIAN -prune -o -type d -printf "1;" -o -printf "%s;"
    WORKING_DIRECTORY "${folder}"
    OUTPUT_VARIABLE sizes COMMAND_ERROR_IS_FATAL ANY)
  set(total 0)
  foreach(size IN LISTS sizes)
    if(size)
      math(EXPR total "${total} + (${size} + 1023) / 1024")
    endif()
  endforeach()
  file(READ "${folder}/DEBIAN/control" control)
  string(REGEX REPLACE "Installed-Size: [0-9]+" "Installed-Size: ${total}" control "${control}")
  file(WRITE "${folder}/DEBIAN/control" "${control}")
  execute_process(COMMAND dpkg-deb --root-owner-group -Zxz --build "${folder}" "${package}" OUTPUT_QUIET
                          COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE "${folder}")
endforeach()
