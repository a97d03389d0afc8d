# CUDA, cuDNN and NCCL. By default, native code for all supported devices, and PTX of the newest for later ones. Compute
# capability 8.6 is left out: it runs the code for 8.0. Toolkits before 12.8 do not know 10.0 and 12.0.
set(default_architectures OFF)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(default_architectures ON)
  set(CMAKE_CUDA_ARCHITECTURES 75) # until the compiler's version is known
endif()
enable_language(CUDA)
# After -isystem= ccache leaves the path absolute, and so serves no other checkout.
set(CMAKE_INCLUDE_SYSTEM_FLAG_CUDA "-isystem ")
if(default_architectures AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 89-real 90)
elseif(default_architectures)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 89-real 90-real 100-real 120)
endif()
find_package(CUDAToolkit REQUIRED)
find_package(CUDNN 9 REQUIRED)
tandem_use(NCCL "libnccl-dev, or the folder that NCCL_ROOT names," "it trains on one GPU" 2.14)
if(TANDEM_KERNEL_REPORT)
  set(CMAKE_CUDA_COMPILER_LAUNCHER python3 "${CMAKE_CURRENT_SOURCE_DIR}/scripts/kernel_resources.py" --launch
                                   ${CMAKE_CUDA_COMPILER_LAUNCHER})
endif()
