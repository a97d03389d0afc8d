# Runs the tests again, as on_cuda_*, with every tensor on a CUDA device. If the library has the CUDA backend, that is
# the machine's device (skipped without one); otherwise it is emulated on the CPU (docs/emulated_device.md), also for
# examples and benchmarks.
set(folders_on_cuda amp amp_modes autograd data distributed io kernels nn ops optim tensor)

# on_cuda_test(name target arguments...): death tests run in new processes, because a child of fork() cannot use CUDA.
function(on_cuda_test name)
  add_test(NAME on_cuda_${name} COMMAND ${ARGN})
  set_tests_properties(
    on_cuda_${name} PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
                               ENVIRONMENT
                               "TANDEM_TEST_DEVICE=cuda;OMP_WAIT_POLICY=passive;GTEST_DEATH_TEST_STYLE=threadsafe")
endfunction()
# Left out: tests of damaged files, whose readers make tensors on the host only, and of failing groups on the CPU; those
# of CUDA are in cuda_emulated.
function(folder_on_cuda folder target)
  on_cuda_test(${folder} ${target} --gtest_brief=1 --gtest_filter=-Idx.*:*Fuzz.*:*.RandomDamage*:TorchFileErrors.*:Failures.*
               --gtest_output=json:${TANDEM_TEST_RESULTS}/on_cuda_${folder}.json)
  set_tests_properties(on_cuda_${folder} PROPERTIES LABELS gtest)
endfunction()

if(TANDEM_CUDA)
  foreach(folder ${folders_on_cuda})
    folder_on_cuda(${folder} tandem_${folder}_test)
  endforeach()
  tandem_test(cuda_device) # graphs, streams and prefetch; below they run on the emulated device
  set_tests_properties(cuda_device PROPERTIES SKIP_RETURN_CODE 77)
endif()
if(TANDEM_CUDA OR TANDEM_SANITIZE) # fibers are slow under sanitizers
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # clang before 16 has no std::source_location
  message(STATUS "The tests on an emulated CUDA device are left out: they need g++")
  return()
endif()

# ---- the emulated device: the backend's kernels compiled as C++, and its host code, with an emulated runtime
file(GLOB emulated_kernels CONFIGURE_DEPENDS ../kernels/cuda/*.cu)
file(GLOB emulated_host CONFIGURE_DEPENDS ../kernels/cuda/*.cpp ../src/distributed/nccl/*.cpp
     cuda_emulated/device/*.cpp cuda_emulated/ptx/*.cpp)
list(FILTER emulated_host EXCLUDE REGEX "_test\\.cpp$|/kernels/cuda/launch\\.cpp$")
# nvcc fuses multiplications and additions. Where this machine's processor can, so does the host's compiler; the
# program may switch it off (cuda_emulated/separable_fma.h).
include(CheckCXXSourceRuns)
check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"fma\") ? 0 : 1; }" TANDEM_FMA_RUNS)
if(TANDEM_FMA_RUNS)
  set(fused -mfma -ffp-contract=fast -mno-red-zone -fno-builtin-fma -fno-builtin-fmaf)
endif()
set_source_files_properties(
  ${emulated_kernels}
  PROPERTIES
    LANGUAGE CXX COMPILE_OPTIONS
             "-include;${CMAKE_CURRENT_SOURCE_DIR}/cuda_emulated/emulator.h;-Wno-maybe-uninitialized;-Wno-unknown-pragmas;${fused}"
)
# Replaces kernels/none, which is then not linked.
add_library(tandem_emulated_device OBJECT ${emulated_host} ${emulated_kernels} cuda_emulated/emulator.cpp
                                          cuda_emulated/separable_fma.cpp)
target_compile_definitions(tandem_emulated_device PRIVATE TANDEM_LEAST_ARCHITECTURE=75)
target_compile_options(tandem_emulated_device PRIVATE -O2)
target_link_libraries(tandem_emulated_device PRIVATE tandem_test_support PUBLIC tandem_ptx)
tandem_test(cuda_emulated SOURCES cuda_device/*_test.cpp cuda_emulated/emulator_test.cpp
                                  cuda_emulated/device/*_test.cpp)
target_sources(tandem_cuda_emulated_test PRIVATE cuda_emulated/separable_fma_test.cpp)
target_link_libraries(tandem_cuda_emulated_test PRIVATE tandem_emulated_device)
set_source_files_properties(cuda_emulated/separable_fma_test.cpp PROPERTIES COMPILE_OPTIONS "${fused}"
                                                                            SKIP_PRECOMPILE_HEADERS ON)
foreach(target tandem_emulated_device tandem_cuda_emulated_test)
  # Its cuda_runtime_api.h and kernels/cuda/launch.h must precede the real ones.
  target_include_directories(${target} BEFORE PRIVATE cuda_emulated cuda_emulated/device)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endforeach()
# Runs with the other order of streams too, and on a device like a T4.
set(sides_first TANDEM_EMULATED_ORDER=sides_first)
set(turing TANDEM_EMULATED_CAPABILITY=7.5)
foreach(variant sides_first turing)
  add_test(NAME cuda_emulated_${variant} COMMAND tandem_cuda_emulated_test --gtest_brief=1)
  set_tests_properties(cuda_emulated_${variant} PROPERTIES ENVIRONMENT "${${variant}};OMP_WAIT_POLICY=passive")
endforeach()

add_test(NAME cuda_emulated_unlike COMMAND tandem_cuda_emulated_test --gtest_brief=1 --gtest_filter=UnlikeDevices.*)
set_tests_properties(cuda_emulated_unlike PROPERTIES ENVIRONMENT TANDEM_EMULATED_CAPABILITY=9.0,6.1)

# program_on_cuda(name libraries...): the objects of the target tandem_<name>, linked with the device.
function(program_on_cuda name)
  set(target tandem_on_cuda_${name})
  add_executable(${target} $<TARGET_OBJECTS:tandem_${name}>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME on_cuda_${name})
  target_link_libraries(${target} PRIVATE tandem_emulated_device ${ARGN} tandem::tandem)
endfunction()

foreach(folder ${folders_on_cuda})
  program_on_cuda(${folder}_test tandem_test_objects tandem_test_device)
  folder_on_cuda(${folder} tandem_on_cuda_${folder}_test)
endforeach()
set_property(TEST on_cuda_distributed APPEND PROPERTY ENVIRONMENT TANDEM_EMULATED_DEVICES=4)
# Random calls compared with the CPU; scripts/soak.sh runs more.
program_on_cuda(soak_test tandem_test_objects tandem_test_device)
on_cuda_test(soak tandem_on_cuda_soak_test --gtest_brief=1 --gtest_filter=*OnDevice.*)
# Some folders run again, because other devices and orders show other defects.
set(second_device TANDEM_TEST_DEVICE=cuda:1)
function(folder_on_cuda_again folder variant)
  set(name ${folder}_${variant})
  on_cuda_test(${name} tandem_on_cuda_${folder}_test --gtest_brief=1 ${ARGN})
  set_property(TEST on_cuda_${name} APPEND PROPERTY ENVIRONMENT ${${variant}})
endfunction()
foreach(folder amp_modes nn optim tensor)
  folder_on_cuda_again(${folder} sides_first)
  folder_on_cuda_again(${folder} second_device)
endforeach()
folder_on_cuda_again(autograd second_device --gtest_filter=-InPlaceViewGrad.*:DeepGraph.*)
# Scales of 32 numbers are multiplied from compute capability 10.0 on.
set(blackwell TANDEM_EMULATED_CAPABILITY=10.0)
folder_on_cuda_again(amp blackwell --gtest_filter=Fp8*)
add_test(NAME cuda_emulated_blackwell COMMAND tandem_cuda_emulated_test --gtest_brief=1
                                              --gtest_filter=Float8Products.*)
set_tests_properties(cuda_emulated_blackwell PROPERTIES ENVIRONMENT "${blackwell};OMP_WAIT_POLICY=passive")
# On a device like a T4, where support/refused_bf16.cpp skips the tests that multiply bf16.
folder_on_cuda_again(amp turing)
folder_on_cuda_again(nn turing)
folder_on_cuda_again(ops turing --gtest_filter=Ops/CudaTest*:Conv.*)
if(TANDEM_BUILD_EXAMPLES)
  foreach(
    example
    booster
    cuda_graph
    custom_function
    environment_switch
    fp8
    gradient_accumulation
    gradient_clipping
    gradient_penalty
    multiple_losses
    opt_levels
    save_resume
    troubleshooting
    underflow)
    program_on_cuda(example_${example})
    on_cuda_test(example_${example} tandem_on_cuda_example_${example} --quick --device cuda)
  endforeach()
  foreach(example mlp mnist_cnn) # demo trains these two
    program_on_cuda(example_${example} tandem_mnist)
    on_cuda_test(example_${example} tandem_on_cuda_example_${example} --device cuda --precision f32,f16 --batch 16 --steps 10)
  endforeach()
  foreach(example big_cnn dcgan gpt in_memory lstm resnet18 tabular unet) # bert and vit take minutes here
    program_on_cuda(example_${example} tandem_networks)
    on_cuda_test(example_${example} tandem_on_cuda_example_${example} --quick --device cuda --precision f16 --steps 3)
  endforeach()
  program_on_cuda(example_recipe)
  on_cuda_test(example_recipe tandem_on_cuda_example_recipe --device cuda --batch-size 8 --in-size 64 --out-size 64
               --num-batches 3 --epochs 1)
endif()
if(TANDEM_BUILD_BENCHMARKS)
  program_on_cuda(benchmark_device_bench tandem_command_line)
  on_cuda_test(device_bench tandem_on_cuda_benchmark_device_bench --device cuda --quick)
  program_on_cuda(benchmark_train_bench tandem_command_line tandem_processor)
  set(one_step tandem_on_cuda_benchmark_train_bench --device cuda --workload simple_cnn --precision f16 --batch 4 --warmup 3
               --iterations 1)
  on_cuda_test(train_bench ${one_step} --memory-format contiguous)
  on_cuda_test(train_bench_graph ${one_step} --memory-format channels_last --graph)
  if(TANDEM_BUILD_EXAMPLES)
    add_test(NAME gpu_check_dry_run COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/scripts/gpu_check_dry_run.py"
                                            "${CMAKE_BINARY_DIR}")
    set_tests_properties(gpu_check_dry_run PROPERTIES TIMEOUT 600)
  endif()
endif()
find_package(CLI11 CONFIG QUIET)
if(TANDEM_BUILD_TOOLS AND CLI11_FOUND AND nlohmann_json_FOUND) # as in tools/CMakeLists.txt
  program_on_cuda(tool tandem_processor $<TARGET_NAME_IF_EXISTS:DNNL::dnnl>)
  on_cuda_test(tool Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/tools/tool_test.py"
               $<TARGET_FILE:tandem_on_cuda_tool> Cuda)
endif()

# Prints the tables of docs/kernel_resources.md on instructions and accesses of memory. Not a test: it takes minutes.
file(GLOB ptx_counts_sources CONFIGURE_DEPENDS cuda_emulated/ptx_counts/*.cpp)
add_executable(tandem_ptx_counts EXCLUDE_FROM_ALL ${ptx_counts_sources})
set_target_properties(tandem_ptx_counts PROPERTIES OUTPUT_NAME ptx_counts CXX_EXTENSIONS OFF)
target_compile_options(tandem_ptx_counts PRIVATE ${TANDEM_TEST_OPTIONS})
target_include_directories(tandem_ptx_counts PRIVATE "${PROJECT_SOURCE_DIR}/examples")
target_link_libraries(tandem_ptx_counts PRIVATE tandem_emulated_device tandem_test_support tandem::torch_compat)
