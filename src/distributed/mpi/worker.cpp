#include "src/distributed/mpi/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/distributed/counters.h"
#include "src/distributed/fnv1a.h"
#include "src/distributed/mpi/check.h"
#include "src/distributed/signature.h"
#include "tandem/base/check.h"
#include "tandem/tensor/threads.h"

namespace tandem::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = Collective::Kind;

// While it waits, the worker first tests without a pause: most messages that are under way arrive soon. Then it sleeps
// between tests, because it shares the processor with the thread that computes. It tests longer if that thread waits.
constexpr auto kBusyTime = std::chrono::microseconds(100);
constexpr auto kAwaitedBusyTime = std::chrono::milliseconds(5);
constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kIdlePause = std::chrono::milliseconds(20);  // between looks at messages of other ranks' workers
constexpr auto kNoticeTime = std::chrono::seconds(1);       // in which the reason of a failure is sent
constexpr auto kLateTime = std::chrono::seconds(1);         // in which a message of a rank that has left must arrive

/// Keeps memory that MPI may still use after a failure until the end of the process.
void keep(std::shared_ptr<void> memory) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

bool is_message(const Collective& call) { return call.kind == Kind::send || call.kind == Kind::recv; }

const Tensor& tensor_of(const Collective& call) { return call.kind == Kind::send ? call.inputs[0] : call.outputs[0]; }

std::array<uint64_t, 2> description_of(const Tensor& x) {
  return {static_cast<uint64_t>(x.dtype()), fnv1a(to_string(x.sizes()))};
}

}  // namespace

Worker::Worker(MPI_Comm comm, const ProcessGroupOptions& options, std::atomic<double>& run_seconds)
    : options_(options),
      run_seconds_(run_seconds),
      messages_comm_(duplicate(comm)),
      control_(std::make_shared<Control>(comm)),
      transfers_(std::make_shared<Transfers>(comm, [this](std::vector<MPI_Request>& requests) { finish(requests); })),
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
  keep(std::make_shared<std::list<PointToPoint>>(std::move(messages_)));
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
  changed_.wait_for(lock, kNoticeTime, [this] { return failure_ != nullptr; });
}

std::exception_ptr Worker::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Worker::run() {
  set_num_threads(1);  // the thread that computes needs the others
  try {
    while (true) {
      std::unique_lock lock(mutex_);
      if (messages_.empty()) {
        changed_.wait_for(lock, kIdlePause, [this] { return stop_ || abort_reason_ || !jobs_.empty(); });
      }
      if (jobs_.empty() && stop_ && messages_.empty() && !abort_reason_) break;
      lock.unlock();
      poll();
      lock.lock();
      std::optional<Job> job;
      if (!jobs_.empty() && !is_message(jobs_.front().call)) {
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      lock.unlock();
      if (job) {
        run_collective(std::move(*job));
      } else if (!messages_.empty()) {
        std::this_thread::sleep_for(kPause);
      }
    }
    leave();
  } catch (...) {
    fail(std::current_exception());
  }
}

void Worker::run_collective(Job job) {
  const OpScope op(to_string(job.call.kind));
  try {
    const Stopwatch watch(run_seconds_);
    ++control_->position.calls;
    control_->position.last = describe(job.call);
    current_ = &job.call;
    compare(job.call);
    transfers_->run(job.call);
    current_ = nullptr;
  } catch (...) {
    job.work->fail(std::current_exception());
    keep(std::make_shared<Job>(std::move(job)));
    throw;
  }
  job.call.inputs.clear();
  job.call.outputs.clear();
  job.work->complete();
}

void Worker::compare(const Collective& call) {
  const std::vector<uint64_t> words = transfers_->gather_words(signature(call));
  if (std::equal(words.begin() + 1, words.end(), words.begin())) return;
  TANDEM_THROW(StateError, "the ranks make different calls ({}); all must make the same calls in the same order",
               list_calls(transfers_->gather_texts(describe(call))));
}

void Worker::start_messages() {
  std::list<PointToPoint> started;
  {
    const std::lock_guard lock(mutex_);
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if (is_message(job->call)) {
        started.push_back({.job = std::move(*job)});
        job = jobs_.erase(job);
      } else {
        ++job;
      }
    }
  }
  while (!started.empty()) {
    messages_.splice(messages_.end(), started, started.begin());  // first: fail() reports to all of them
    start_message(messages_.back());
  }
}

void Worker::start_message(PointToPoint& message) {
  const Collective& call = message.job.call;
  const OpScope op(to_string(call.kind));
  const Tensor& x = tensor_of(call);
  message.own = description_of(x);
  if (call.kind == Kind::send) {
    start_send(message.requests, message.own.data(), sizeof(message.own), call.peer, call.tag, messages_comm_);
    start_send(message.requests, x.raw_bytes(), x.nbytes(), call.peer, call.tag, messages_comm_);
  } else {
    message.waits_for_description = true;
    start_receive(message.requests, message.theirs.data(), sizeof(message.theirs), call.peer, call.tag, messages_comm_);
  }
}

bool Worker::advance(PointToPoint& message) {
  const Collective& call = message.job.call;
  const OpScope op(to_string(call.kind));
  int done = 0;
  check_mpi(MPI_Testall(static_cast<int>(message.requests.size()), message.requests.data(), &done, MPI_STATUSES_IGNORE),
            "MPI_Testall");
  if (done && message.waits_for_description) {
    TANDEM_CHECK(message.theirs == message.own, StateError,
                 "rank {} sent {} of {} sizes for {}; sizes and dtype must be those of the sent tensor", call.peer,
                 name(static_cast<DType>(message.theirs[0])), message.theirs[1] == message.own[1] ? "these" : "other",
                 describe(call));
    message.waits_for_description = false;
    message.requests.clear();
    const Tensor& x = tensor_of(call);
    start_receive(message.requests, x.raw_bytes(), x.nbytes(), call.peer, call.tag, messages_comm_);
    return false;
  }
  if (done) return true;
  const auto waited = Clock::now() - message.start;
  TANDEM_CHECK(waited < options_.timeout, StateError,
               "{} was not answered within {} ms; see whether the other rank hangs, or set a longer timeout",
               describe(call), options_.timeout.count());
  const auto left = control_->left().find(call.peer);
  TANDEM_CHECK(left == control_->left().end() || Clock::now() - left->second.time < kLateTime, StateError,
               "rank {} has left the group and did not answer {}", call.peer, describe(call));
  return false;
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
  start_messages();
  for (auto message = messages_.begin(); message != messages_.end();) {
    if (!advance(*message)) {
      ++message;
      continue;
    }
    message->job.work->complete();
    message = messages_.erase(message);
  }
}

void Worker::finish(std::vector<MPI_Request>& requests) {
  const Clock::time_point start = Clock::now();
  while (true) {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done) return;
    poll();
    const auto waited = Clock::now() - start;
    if (waited > kBusyTime) {
      check_left(*current_);
      if (waited > options_.timeout) time_out(*current_);
    }
    if (waited > (*waiting_ > 0 ? Clock::duration(kAwaitedBusyTime) : Clock::duration(kBusyTime))) {
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
    // Announces only failures that began on this rank; the others have been announced to all ranks.
    if (!control_->failure()) control_->announce_failure(reason);
    const auto end = Clock::now() + kNoticeTime;
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
  for (const PointToPoint& message : messages_) message.job.work->fail(error);
}

void Worker::leave() {
  control_->announce_leaving();
  const auto start = Clock::now();
  while (!control_->sent() || static_cast<int>(control_->left().size()) < transfers_->size() - 1) {
    control_->poll();
    if (const auto& failure = control_->failure()) throw StateError("", *failure);
    if (Clock::now() - start > options_.timeout) {
      std::vector<int> missing;
      for (int r = 0; r < transfers_->size(); ++r) {
        if (r != transfers_->rank() && !control_->left().contains(r)) missing.push_back(r);
      }
      throw StateError("", fmt::format("rank {} has ended, but {} has not within {} ms", transfers_->rank(),
                                       list_ranks(missing), options_.timeout.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tandem::distributed
