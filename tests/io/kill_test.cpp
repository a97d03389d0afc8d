// If a writer is killed at any time, the file is the complete previous checkpoint or the complete new one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "io/kill_writer.h"
#include "support/counter.h"
#include "support/own_program.h"
#include "support/temporary_folder.h"
#include "tandem/io/checkpoint.h"
#include "tandem/tensor/factories.h"

extern char** environ;

namespace tandem::testing {
namespace {

constexpr int kKills = 200;

struct Counters {
  std::atomic<int64_t> begun, finished;
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

/// Maps the counters in a file that two processes share.
Counters* map_counters(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Counters)) != 0) throw std::runtime_error("cannot make the counters");
  void* memory = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return static_cast<Counters*>(memory);
}

/// The content of a checkpoint: its number in every element.
struct Numbered {
  Numbered() {
    for (int i = 0; i < 8; ++i) {
      tensors.push_back(zeros({64, 64}, kLong));
    }
    for (size_t i = 0; i < tensors.size(); ++i) checkpoint.add(std::string("t").append(std::to_string(i)), tensors[i]);
    checkpoint.add("number", number);
  }
  void set(int64_t n) {
    number = n;
    for (const Tensor& t : tensors) t.fill_(n);
  }
  std::vector<Tensor> tensors;
  int64_t number = 0;
  io::Checkpoint checkpoint;
};

TEST(Kill, LeavesThePreviousCheckpointOrTheNewOne) {
  const TemporaryFolder folder;
  const std::string path = folder.path("checkpoint"), counters_path = folder.path("counters");
  Counters& counters = *map_counters(counters_path.c_str());
  Numbered run;
  run.checkpoint.save(path);
  int previous = 0, replaced = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const int64_t before = counters.begun = counters.finished = run.number;
    std::vector<std::string> words = command_of(own_program());
    words.insert(words.end(), {"--write", path, counters_path});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    ASSERT_EQ(posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
    while (counters.begun == before) {
      ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the writer ended by itself";
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    std::this_thread::sleep_for(
        std::chrono::microseconds(counter_integer(4, static_cast<uint64_t>(kill_number), 0, 8000)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

    ASSERT_NO_THROW(run.checkpoint.load(path)) << "kill " << kill_number;
    for (const Tensor& t : run.tensors) {
      const Tensor host = t.cpu();
      const int64_t* values = host.const_data_ptr<int64_t>();
      for (int64_t i = 0; i < t.numel(); ++i) ASSERT_EQ(values[i], run.number);
    }
    const int64_t begun = counters.begun, finished = counters.finished;
    ASSERT_LE(begun - finished, 1);
    const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
    ASSERT_LE(files, 3) << "the checkpoint, the counters, and what the last killed writer has left";
    ASSERT_TRUE(run.number == finished || run.number == begun) << run.number << " of " << finished << " and " << begun;
    ++(run.number == finished ? previous : replaced);
  }
  std::printf("%d kills: %d left the last finished checkpoint, %d the one in the making\n", kKills, previous, replaced);
  munmap(&counters, sizeof counters);
}

}  // namespace

int write_forever(const char* path, const char* counters_path) {
  Counters& counters = *map_counters(counters_path);
  Numbered run;
  run.checkpoint.load(path);
  while (true) {
    run.set(run.number + 1);
    counters.begun = run.number;
    run.checkpoint.save(path);
    counters.finished = run.number;
  }
}

}  // namespace tandem::testing
