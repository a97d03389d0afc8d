#include "src/distributed/mpi/control.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "src/distributed/mpi/check.h"

namespace tandem::distributed {
namespace {

constexpr auto kAnswerTime = std::chrono::seconds(3);
constexpr size_t kHeader = 2 * sizeof(int64_t);  // the kind and the number of calls, before the text

}  // namespace

Control::Control(MPI_Comm comm) : comm_(duplicate(comm)) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

void Control::send(int rank, Kind kind, const std::string& text, int64_t calls) {
  Outgoing& message = outgoing_.emplace_back();
  message.bytes.resize(kHeader + text.size());
  const int64_t header[2] = {static_cast<int64_t>(kind), calls};
  std::memcpy(message.bytes.data(), header, kHeader);
  std::memcpy(message.bytes.data() + kHeader, text.data(), text.size());
  check_mpi(MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE, rank, 0, comm_,
                      &message.request),
            "MPI_Isend");
}

void Control::send_all(Kind kind, const std::string& text, int64_t calls) {
  for (int r = 0; r < size_; ++r) {
    if (r != rank_) send(r, kind, text, calls);
  }
}

bool Control::sent() {
  std::erase_if(outgoing_, [](Outgoing& message) {
    int done = 0;
    check_mpi(MPI_Test(&message.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
  return outgoing_.empty();
}

void Control::poll() {
  sent();
  while (true) {
    int arrived = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &arrived, &status), "MPI_Iprobe");
    if (!arrived) return;
    int size = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &size), "MPI_Get_count");
    std::string bytes(static_cast<size_t>(size), '\0');
    check_mpi(MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, 0, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
    handle(status.MPI_SOURCE, bytes);
  }
}

void Control::handle(int rank, const std::string& bytes) {
  int64_t header[2];
  std::memcpy(header, bytes.data(), kHeader);
  const std::string text = bytes.substr(kHeader);
  switch (static_cast<Kind>(header[0])) {
    case Kind::failure:
      if (!failure_) failure_ = text;
      break;
    case Kind::leaving:
      left_[rank] = {header[1], text};
      break;
    case Kind::question:
      send(rank, Kind::answer, position.last, position.calls);
      break;
    case Kind::answer:
      answers_[rank] = {header[1], text};
      break;
  }
}

void Control::announce_failure(const std::string& reason) { send_all(Kind::failure, reason, 0); }

void Control::announce_leaving() { send_all(Kind::leaving, position.last, position.calls); }

std::map<int, Control::Position> Control::ask_positions() {
  answers_.clear();
  send_all(Kind::question, "", 0);
  const auto end = std::chrono::steady_clock::now() + kAnswerTime;
  while (static_cast<int>(answers_.size()) < size_ - 1 && std::chrono::steady_clock::now() < end) {
    poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return answers_;
}

}  // namespace tandem::distributed
