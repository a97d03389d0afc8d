#include "src/dist/mpi/worker.h"

#include <fmt/format.h>

#include <utility>

#include "src/dist/counters.h"
#include "src/dist/mpi/check.h"
#include "src/dist/signature.h"
#include "tandem/tensor/threads.h"

namespace tandem::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = Collective::Kind;

// While it waits, the worker first tests without a pause: most messages that are under way arrive soon. Then it sleeps
// between tests, for it shares the processor with the thread that computes, unless that thread waits as well.
constexpr auto kBusyTime = std::chrono::microseconds(100);
constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kIdlePause = std::chrono::milliseconds(20);  // between looks at messages of other ranks' workers
constexpr auto kLastWords = std::chrono::seconds(1);        // for sending the reason of a failure

/// Keeps memory that MPI may still use after a failure until the end of the process.
void keep(std::shared_ptr<void> memory) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

}  // namespace

Worker::Worker(MPI_Comm comm, const ProcessGroupOptions& options, std::atomic<double>& run_seconds)
    : options_(options),
      run_seconds_(run_seconds),
      messages_comm_(duplicate(comm)),
      control_(std::make_shared<Control>(comm)),
      transfers_(std::make_shared<Transfers>(
          comm, [this](std::vector<MPI_Request>& requests) { finish(requests, *current_); })),
      thread_([this] { run(); }) {}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Worker::~Worker() {
  stop();
  if (!failure_) return;
  keep(std::move(control_));
  keep(std::move(transfers_));
  keep(std::make_shared<std::list<Message>>(std::move(messages_)));
}

std::shared_ptr<HostWork> Worker::push(Collective call) {
  auto work = std::make_shared<HostWork>(waiting_);
  {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    jobs_.push_back({std::move(call), work});
  }
  changed_.notify_all();
  return work;
}

void Worker::abort(const std::string& reason) {
  std::unique_lock lock(mutex_);
  abort_reason_ = reason;
  changed_.notify_all();
  changed_.wait_for(lock, kLastWords, [this] { return failure_ != nullptr; });
}

bool Worker::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void Worker::run() {
  set_num_threads(1);  // the thread that computes needs the others
  try {
    while (true) {
      std::unique_lock lock(mutex_);
      const auto pause = messages_.empty() ? kIdlePause : std::chrono::milliseconds(0);
      changed_.wait_for(lock, pause, [this] { return stop_ || abort_reason_ || !jobs_.empty(); });
      if (jobs_.empty() && stop_ && messages_.empty() && !abort_reason_) break;
      std::optional<Job> job;
      if (!jobs_.empty() && !abort_reason_) {
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      lock.unlock();
      if (job) {
        run_job(std::move(*job));
        continue;
      }
      poll();
      if (!messages_.empty()) std::this_thread::sleep_for(kPause);
    }
    leave();
  } catch (...) {
    fail(std::current_exception());
  }
}

void Worker::run_job(Job job) {
  const OpScope op(to_string(job.call.kind));
  try {
    poll();
    if (job.call.kind == Kind::send || job.call.kind == Kind::recv) return start_message(std::move(job));
    const Stopwatch watch(run_seconds_);
    ++control_->position.calls;
    control_->position.last = describe(job.call);
    current_ = &job.call;
    compare(job.call);
    transfers_->run(job.call);
    current_ = nullptr;
    job.call.inputs.clear();
    job.call.outputs.clear();
    job.work->complete();
  } catch (...) {
    job.work->fail(std::current_exception());
    keep(std::make_shared<Job>(std::move(job)));
    throw;
  }
}

void Worker::compare(const Collective& call) {
  const std::vector<uint64_t> words = transfers_->gather_words(signature(call));
  if (std::equal(words.begin() + 1, words.end(), words.begin())) return;
  TANDEM_THROW(StateError, "the ranks make different calls ({}); all must make the same calls in the same order",
               list_calls(transfers_->gather_texts(describe(call))));
}

void Worker::start_message(Job job) {
  Message& message = messages_.emplace_back();
  message.start = Clock::now();
  const Collective& call = job.call;
  if (call.kind == Kind::send) {
    const Tensor& x = call.inputs[0];
    start_send(message.requests, x.raw_bytes(), x.nbytes(), call.peer, call.tag, messages_comm_);
  } else {
    const Tensor& x = call.outputs[0];
    start_receive(message.requests, x.raw_bytes(), x.nbytes(), call.peer, call.tag, messages_comm_);
  }
  message.job = std::move(job);
}

void Worker::poll_messages() {
  for (auto message = messages_.begin(); message != messages_.end();) {
    int done = 0;
    const OpScope op(to_string(message->job.call.kind));
    check_mpi(
        MPI_Testall(static_cast<int>(message->requests.size()), message->requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done) {
      message->job.work->complete();
      message = messages_.erase(message);
    } else {
      TANDEM_CHECK(Clock::now() - message->start < options_.timeout, StateError,
                   "{} was not answered within {} ms; see whether the other rank hangs or has left, or set a longer "
                   "timeout",
                   describe(message->job.call), options_.timeout.count());
      ++message;
    }
  }
}

void Worker::poll() {
  control_->poll();
  if (const auto& failure = control_->failure()) throw StateError("", *failure);
  std::optional<std::string> reason;
  {
    const std::lock_guard lock(mutex_);
    reason = abort_reason_;
  }
  if (reason) throw StateError("", fmt::format("rank {} left the group: {}", transfers_->rank(), *reason));
  poll_messages();
}

void Worker::finish(std::vector<MPI_Request>& requests, const Collective& call) {
  const Clock::time_point start = Clock::now();
  while (true) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done) return;
    poll();
    const auto waited = Clock::now() - start;
    if (waited > kBusyTime) {
      check_left(call);
      if (waited > options_.timeout) time_out(call);
    }
    if (waited > kBusyTime && *waiting_ == 0) {
      std::this_thread::sleep_for(kPause);
    } else {
      std::this_thread::yield();
    }
  }
}

void Worker::check_left(const Collective& call) {
  for (const auto& [rank, end] : control_->left()) {
    TANDEM_CHECK(end.calls >= control_->position.calls, StateError,
                 "rank {} has left the group after {} calls and did not join call {}, {}", rank, end.calls,
                 control_->position.calls, describe(call));
  }
}

void Worker::time_out(const Collective& call) {
  const int64_t number = control_->position.calls;
  const std::map<int, Control::Position> positions = control_->ask_positions();
  std::string others;
  for (int r = 0; r < transfers_->size(); ++r) {
    if (r == transfers_->rank()) continue;
    const auto at = positions.find(r);
    if (at == positions.end()) {
      others += fmt::format("; rank {} does not answer", r);
    } else if (at->second.calls < number) {
      others += fmt::format("; rank {} has not joined it: its last call is {}, {}", r, at->second.calls,
                            at->second.calls == 0 ? "none" : at->second.last);
    }
  }
  TANDEM_THROW(StateError,
               "call {} of rank {}, {}, has not completed within {} ms{}. See whether a rank hangs, or set a longer "
               "timeout",
               number, transfers_->rank(), describe(call), options_.timeout.count(), others);
}

void Worker::fail(std::exception_ptr error) {
  std::string reason = "unknown error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    reason = e.what();
  } catch (...) {
  }
  try {
    // The others learn of a failure that began here. They know all others.
    if (!control_->failure()) control_->announce_failure(reason);
    const auto end = Clock::now() + kLastWords;
    while (!control_->sent() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } catch (...) {  // MPI itself has failed: the launcher ends the job
  }
  std::deque<Job> jobs;
  {
    const std::lock_guard lock(mutex_);
    failure_ = error;
    jobs.swap(jobs_);
  }
  changed_.notify_all();
  for (const Job& job : jobs) job.work->fail(error);
  for (const Message& message : messages_) message.job.work->fail(error);
}

void Worker::leave() {
  control_->announce_leaving();
  const size_t others = static_cast<size_t>(transfers_->size()) - 1;
  while (!control_->sent() || control_->left().size() < others) {
    control_->poll();
    if (const auto& failure = control_->failure()) throw StateError("", *failure);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tandem::distributed
