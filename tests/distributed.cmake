# Runs distributed_test on processes, which mpirun starts: distributed_mpi_1 to distributed_mpi_4, on as many processes.
if(NOT TANDEM_HAS_MPI OR NOT TARGET tandem_distributed_test OR TANDEM_SANITIZE MATCHES "thread") # MPI is not instrumented
  return()
endif()

# More processes than processors, as any user, without a network.
set(mpi_environment
    "TANDEM_TEST_MPI=1;OMP_NUM_THREADS=1;OMP_WAIT_POLICY=passive;OMPI_ALLOW_RUN_AS_ROOT=1"
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_btl=self,vader,tcp"
    "OMPI_MCA_hwloc_base_binding_policy=none")
if(TANDEM_SANITIZE) # MPI keeps memory until the end; leaks of tandem's code show in the test `distributed`
  list(APPEND mpi_environment "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1")
endif()

foreach(ranks RANGE 1 4)
  add_test(NAME distributed_mpi_${ranks}
           COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:tandem_distributed_test>
                   --gtest_brief=1 --gtest_filter=-Failures.*
                   --gtest_output=json:${TANDEM_TEST_RESULTS}/distributed_mpi_${ranks}.json)
  set_tests_properties(distributed_mpi_${ranks} PROPERTIES TIMEOUT 300 LABELS gtest PROCESSORS 2 WORKING_DIRECTORY
                                                    "${CMAKE_CURRENT_BINARY_DIR}" ENVIRONMENT "${mpi_environment}")
endforeach()

# Ranks that fail. The jobs are killed on purpose, so that a sanitizer's report would be noise.
if(NOT TANDEM_SANITIZE)
  find_package(CLI11 CONFIG)
  if(CLI11_FOUND)
    add_executable(tandem_distributed_trainer distributed/faults/trainer.cpp)
    set_target_properties(tandem_distributed_trainer PROPERTIES OUTPUT_NAME distributed_trainer CXX_EXTENSIONS OFF)
    target_compile_options(tandem_distributed_trainer PRIVATE ${TANDEM_TEST_OPTIONS})
    target_link_libraries(tandem_distributed_trainer PRIVATE tandem::distributed tandem_options CLI11::CLI11)
    add_test(NAME distributed_faults
             COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/distributed/faults/faults_test.py" --mpiexec
                     "${MPIEXEC_EXECUTABLE}" --trainer $<TARGET_FILE:tandem_distributed_trainer>)
    set_tests_properties(distributed_faults PROPERTIES TIMEOUT 300 ENVIRONMENT "${mpi_environment}") # it mostly sleeps
  endif()
endif()
