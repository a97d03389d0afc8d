#include "src/distributed/world.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "src/distributed/counters.h"
#include "src/distributed/device_group.h"
#include "src/distributed/mpi/check.h"
#include "src/distributed/mpi/worker.h"
#include "tandem/base/check.h"
#include "tandem/distributed/init.h"
#include "tandem/distributed/thread_group.h"

namespace tandem::distributed {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);  // in which other ranks report a failure, before the job is ended

class MpiGroup final : public ProcessGroup {
 public:
  MpiGroup(int rank, int size, MPI_Comm comm, const ProcessGroupOptions& options)
      : ProcessGroup(rank, size), worker_(std::make_unique<Worker>(comm, options, counters()->run_seconds)) {}
  const char* name() const override { return "mpi"; }
  void abort(const std::string& reason) noexcept override {
    try {
      if (worker_) worker_->abort(reason);
    } catch (...) {  // the others run into their time limits
    }
  }
  std::exception_ptr failure() const override { return worker_ ? worker_->failure() : failure_; }
  /// Waits until all ranks have made their calls. The group cannot be used afterwards.
  void finish() {
    if (!worker_) return;
    const bool had_failed = worker_->failure() != nullptr;
    worker_->stop();
    failure_ = worker_->failure();
    worker_.reset();
    if (failure_ && !had_failed) report();
  }
  bool failed() const { return failure_ != nullptr; }

 protected:
  std::shared_ptr<Work::State> run(Collective call) override {
    check_on_cpu(call);
    TANDEM_CHECK(worker_, StateError, "MPI has been finalized; finish all calls before");
    return worker_->push(std::move(call));
  }

 private:
  std::unique_ptr<Worker> worker_;
  std::exception_ptr failure_;

  /// For a failure at the end of the process, when no call can throw it any more.
  void report() const {
    try {
      std::rethrow_exception(failure_);
    } catch (const std::exception& e) {
      fmt::print(stderr, "tandem: {}\n", e.what());
    }
  }
};

std::weak_ptr<MpiGroup>& running() {
  static auto* group = new std::weak_ptr<MpiGroup>;
  return *group;
}

std::terminate_handler& outer_terminate() {
  static std::terminate_handler handler = nullptr;
  return handler;
}

/// Tells the other ranks why this process ends. An uncaught exception ends it without running destructors.
[[noreturn]] void terminate() {
  if (const auto group = running().lock()) {
    std::string reason = "terminate() was called";
    if (const std::exception_ptr error = std::current_exception()) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        reason = e.what();
      } catch (...) {
        reason = "an unknown exception was thrown";
      }
    }
    group->abort(reason);
    std::this_thread::sleep_for(kGrace);
  }
  std::fflush(nullptr);
  if (outer_terminate()) outer_terminate()();
  std::abort();
}

void finish_group() {
  const auto group = running().lock();
  if (!group) return;
  group->finish();
  if (group->failed()) {  // messages may be under way forever, so that MPI cannot be finalized
    std::this_thread::sleep_for(kGrace);
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
}

/// Called by MPI_Finalize before anything else, because it deletes the attributes of MPI_COMM_SELF first.
int before_finalize(MPI_Comm, int, void*, void*) {
  finish_group();
  return MPI_SUCCESS;
}

/// At the end of a process whose MPI this library has initialised.
void finalize_mpi() {
  finish_group();  // first: then only this thread calls MPI
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized) MPI_Finalize();
}

int local_rank_of(MPI_Comm comm) {
  MPI_Comm machine;
  check_mpi(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
  int rank = 0;
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_free(&machine);
  return rank;
}

World make_world(const ProcessGroupOptions& options) {
  int initialised = 0, threads = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialised);
  if (!initialised && launched_processes() == 0) return {make_thread_groups(1, options)[0]};
  if (initialised) {
    MPI_Query_thread(&threads);
    TANDEM_CHECK(threads == MPI_THREAD_MULTIPLE, StateError,
                 "the program has initialised MPI for fewer threads; call MPI_Init_thread with MPI_THREAD_MULTIPLE");
  } else {
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
    std::atexit(finalize_mpi);
    TANDEM_CHECK(threads >= MPI_THREAD_SERIALIZED, StateError, "this MPI cannot be called from a second thread");
  }
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int local_rank = local_rank_of(MPI_COMM_WORLD);
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, before_finalize, &key, nullptr), "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
  // Last: from now on, the worker's thread calls MPI.
  auto group = std::make_shared<MpiGroup>(rank, size, MPI_COMM_WORLD, options);
  running() = group;
  outer_terminate() = std::set_terminate(terminate);
  return {with_device_tensors(group, options), local_rank};
}

const Provide provider(make_mpi_world, make_world);

}  // namespace
}  // namespace tandem::distributed
