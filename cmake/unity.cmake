# tandem_unity_sources(target a.cpp b.cpp ...)
#
# Adds the files to the target and compiles those of one folder together, up to eight in one translation unit. Common
# headers are then parsed and instantiated once, which halves the time of a clean build. With -DTANDEM_UNITY_BUILD=OFF
# (the dev preset) each file is a translation unit: a change recompiles less, and a missing #include shows.
#
# Files of one folder can share an anonymous namespace, so their names in it must differ.
set(TANDEM_UNITY_FILES 8)

function(tandem_unity_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TANDEM_UNITY_BUILD} UNITY_BUILD_MODE GROUP)
  set(folders)
  foreach(file IN LISTS ARGN)
    get_filename_component(folder "${file}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND files_${folder} "${file}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH files_${folder} count)
    # Groups of equal size.
    math(EXPR groups "(${count} + ${TANDEM_UNITY_FILES} - 1) / ${TANDEM_UNITY_FILES}")
    math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
    set(index 0)
    foreach(file IN LISTS files_${folder})
      math(EXPR group "${index} / ${size}")
      set_source_files_properties("${file}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${folder}_${group}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
endfunction()
