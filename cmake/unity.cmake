# tandem_unity_sources(target a.cpp b.cpp ...)
#
# Adds the files, whose paths are relative to the current folder, to the target and compiles those of one folder
# together, up to eight in one translation unit. Common headers are then parsed and instantiated once, which halves the
# time of a clean build. With -DTANDEM_UNITY_BUILD=OFF (the dev preset) each file is a translation unit: a change
# recompiles less, and a missing #include shows. Files with properties of their own are added by target_sources instead.
#
# The groups include their files by paths relative to the project, unlike those of CMake's UNITY_BUILD, so ccache serves
# them in every checkout.
#
# Files of one folder can share an anonymous namespace, so their names in it must differ.
set(TANDEM_UNITY_FILES 8)

function(tandem_unity_sources target)
  if(NOT TANDEM_UNITY_BUILD)
    target_sources(${target} PRIVATE ${ARGN})
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # GCC treats the grouped files as included headers
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  set(folders)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    get_filename_component(folder "${file}" DIRECTORY)
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
    set(group 0)
    while(files_${folder})
      list(SUBLIST files_${folder} 0 ${size} files)
      list(REMOVE_ITEM files_${folder} ${files})
      list(TRANSFORM files REPLACE ".+" "#include \"\\0\"\n")
      list(JOIN files "" text)
      set(unit "${CMAKE_CURRENT_BINARY_DIR}/unity/${target}/${folder}_${group}.cpp")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "${text}" @ONLY)
      target_sources(${target} PRIVATE "${unit}")
      math(EXPR group "${group} + 1")
    endwhile()
  endforeach()
endfunction()
