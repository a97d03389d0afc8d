# Defines BLAS::BLAS if OpenBLAS is installed, and sets TANDEM_HAS_OPENBLAS.
set(TANDEM_HAS_OPENBLAS OFF)
set(BLA_VENDOR OpenBLAS)
find_package(BLAS)
unset(BLA_VENDOR)
find_path(TANDEM_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas)
mark_as_advanced(TANDEM_CBLAS_INCLUDE)
if(BLAS_FOUND AND TANDEM_CBLAS_INCLUDE)
  set(TANDEM_HAS_OPENBLAS ON) # read by tandemConfig.cmake.in
else()
  message(STATUS "OpenBLAS was not found: products and convolutions will be slow; install libopenblas-dev, or use oneDNN")
endif()
