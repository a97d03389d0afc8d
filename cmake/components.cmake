# The components: libraries beside tandem with the code that needs an optional library, so that only programs that are
# linked with tandem::io need libpng, for example. Without any of its optional libraries a component has no code.
set(TANDEM_COMPONENTS distributed io)
set(libraries_of_jpeg JPEG::JPEG)
set(libraries_of_mpi MPI::MPI_CXX)
set(libraries_of_nccl NCCL::nccl CUDA::cudart_static)
set(libraries_of_png PNG::PNG)
set(libraries_of_protobuf protobuf::libprotobuf-lite)

# tandem_component(name folders...)
#
# Makes tandem_<name> of the files in the folders name/folder, each of which is called like the optional library that it
# needs, and removes all files in these folders from the caller's list `sources`.
function(tandem_component name)
  set(own)
  set(libraries)
  foreach(folder IN LISTS ARGN)
    file(GLOB files RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${name}/${folder}/*.cpp)
    list(REMOVE_ITEM sources ${files})
    string(TOUPPER ${folder} package)
    if(TANDEM_HAS_${package})
      list(APPEND own ${files})
      list(APPEND libraries ${libraries_of_${folder}})
    endif()
  endforeach()
  set(sources ${sources} PARENT_SCOPE)
  set(target tandem_${name})
  if(own)
    add_library(${target})
    tandem_library(${target})
    tandem_unity_sources(${target} ${own})
    target_link_libraries(${target} PUBLIC tandem)
    tandem_link_privately(${target} ${libraries})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    # tandem refers to no symbol of a component, whose objects register themselves.
    target_link_options(
      ${target} INTERFACE
      "LINKER:--push-state,--no-as-needed,--whole-archive,$<TARGET_FILE:$<TARGET_NAME:${target}>>,--pop-state")
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE tandem)
  endif()
  add_library(tandem::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endfunction()
