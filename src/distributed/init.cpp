#include "tandem/distributed/init.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "src/distributed/device_group.h"
#include "src/distributed/options.h"
#include "src/distributed/world.h"
#include "tandem/base/check.h"
#include "tandem/distributed/thread_group.h"
#include "tandem/tensor/accelerator.h"

namespace tandem::distributed {
namespace {

struct Initialised {
  std::mutex mutex;
  World world;
  ProcessGroupOptions options;
};

Initialised& initialised() {
  static auto* state = new Initialised;  // groups end by themselves, not in the order of static objects
  return *state;
}

/// The group of a program without MPI.
World world_of_one(const ProcessGroupOptions& options) {
  TANDEM_CHECK(
      launched_processes() <= 1, StateError,
      "{} processes were started, but the program has no MPI; link tandem::distributed, and build tandem where "
      "libopenmpi-dev (or another MPI) is installed",
      launched_processes());
  return {make_thread_groups(1, options)[0]};
}

}  // namespace

MakeWorld* make_mpi_world = nullptr;
MakeDeviceGroup* make_nccl_group = nullptr;

bool is_mpi_available() { return make_mpi_world != nullptr; }
bool is_nccl_available() { return make_nccl_group != nullptr; }

std::shared_ptr<ProcessGroup> with_device_tensors(std::shared_ptr<ProcessGroup> host,
                                                  const ProcessGroupOptions& options) {
  return make_nccl_group && accelerator().is_available() ? make_nccl_group(std::move(host), options) : host;
}

int launched_processes() {
  const auto number = [](const char* variable) {
    const char* text = std::getenv(variable);
    int count = 0;
    return text && std::from_chars(text, text + std::strlen(text), count).ec == std::errc() ? count : 0;
  };
  // Open MPI; MPICH and Slurm's PMI-2; Slurm with PMIx, which gives no number of processes: Slurm does.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const int count = number(variable); count > 0) return count;
  }
  const int tasks = number("SLURM_STEP_NUM_TASKS");
  if (std::getenv("PMIX_RANK")) return tasks > 0 ? tasks : 1;
  TANDEM_CHECK(tasks <= 1, StateError,
               "srun has started {} processes, but does not tell MPI about them; use srun --mpi=pmix or --mpi=pmi2",
               tasks);
  return 0;
}

std::shared_ptr<ProcessGroup> init(const ProcessGroupOptions& options) {
  const OpScope op("init");
  check_options(options);
  Initialised& state = initialised();
  const std::lock_guard lock(state.mutex);
  if (!state.world.group) {
    state.world = (make_mpi_world ? make_mpi_world : world_of_one)(options);
    state.options = options;
  }
  TANDEM_CHECK(state.options.timeout == options.timeout, StateError,
               "already called with a timeout of {} ms; use world(), or the same options ({} ms were given)",
               state.options.timeout.count(), options.timeout.count());
  return state.world.group;
}

bool is_initialized() {
  const std::lock_guard lock(initialised().mutex);
  return initialised().world.group != nullptr;
}

const std::shared_ptr<ProcessGroup>& world() {
  const OpScope op("world");
  const std::lock_guard lock(initialised().mutex);
  TANDEM_CHECK(initialised().world.group, StateError, "there is no default group; call distributed::init() first");
  return initialised().world.group;
}

int rank() { return is_initialized() ? world()->rank() : 0; }
int world_size() { return is_initialized() ? world()->size() : 1; }

int local_rank() {
  const std::lock_guard lock(initialised().mutex);
  return initialised().world.local_rank;
}

}  // namespace tandem::distributed
