#include "tandem/dist/init.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "src/dist/world.h"
#include "tandem/base/check.h"

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

}  // namespace

int launched_processes() {
  // Open MPI; MPICH and Slurm's PMI-2; Slurm with PMIx. PMIx gives no number of processes: Slurm does.
  const bool slurm = std::getenv("PMIX_RANK") != nullptr && std::getenv("SLURM_STEP_NUM_TASKS") != nullptr;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", slurm ? "SLURM_STEP_NUM_TASKS" : nullptr}) {
    const char* text = variable ? std::getenv(variable) : nullptr;
    int count = 0;
    if (text && std::from_chars(text, text + std::strlen(text), count).ec == std::errc() && count > 0) return count;
  }
  return 0;
}

std::shared_ptr<ProcessGroup> init(const ProcessGroupOptions& options) {
  const OpScope op("init");
  TANDEM_CHECK(options.timeout.count() > 0, StateError, "timeout = {} ms; it must be positive",
               options.timeout.count());
  Initialised& state = initialised();
  const std::lock_guard lock(state.mutex);
  if (!state.world.group) {
    state.world = make_world(options);
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
