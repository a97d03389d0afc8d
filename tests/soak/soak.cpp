#include "soak/soak.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "soak/known_failures.h"
#include "support/own_program.h"
#include "support/temporary_folder.h"

namespace tandem::testing {
namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::map<std::string, ChildTask>& tasks() {
  static std::map<std::string, ChildTask> all;
  return all;
}

/// A line that a child writes: `seed \t kind \t text`; kind is input or ending. If the last input has no ending, it is
/// the one that killed the process.
void write_line(int file, uint64_t seed, const char* kind, std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  const std::string line = std::to_string(seed) + '\t' + kind + '\t' + text + '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = ::write(file, line.data() + done, line.size() - done);
    if (n <= 0) _exit(3);
    done += static_cast<size_t>(n);
  }
}

constexpr const char* kDidNotEnd = "did not end within the time limit";
/// Thrown for inputs that are known not to end; they are skipped, because waiting takes too long.
struct NotTried {};

/// Describes how the child ended, from the status of waitpid.
std::string ending_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF || signal == SIGALRM) return kDidNotEnd;
    return std::string("killed by ") + strsignal(signal);
  }
  return "exited with " + std::to_string(WEXITSTATUS(status));
}

/// A sanitizer's report, or the end of the child's output.
std::string last_words(const std::string& text) {
  for (const char* report : {"runtime error:", "ERROR: ", "terminate called"}) {
    const size_t at = text.find(report);
    if (at != std::string::npos) return text.substr(text.rfind('\n', at) + 1, 1500);
  }
  return text.substr(text.size() - std::min<size_t>(text.size(), 500));
}

}  // namespace

uint64_t first_seed() { return number_from("TANDEM_SOAK_SEED", 0); }

uint64_t address_space() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Inputs::Inputs(uint64_t usual) : seed_(first_seed() - 1), end_(first_seed() + number_from("TANDEM_SOAK_COUNT", usual)) {
  if (const uint64_t seconds = number_from("TANDEM_SOAK_SECONDS", 0)) {
    timed_ = true;
    end_ = ~uint64_t{0};
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  }
}

bool Inputs::next() {
  if (::testing::Test::HasFailure()) return false;
  ++seed_;
  if (timed_ && std::chrono::steady_clock::now() >= deadline_) {
    std::printf("%llu inputs\n", static_cast<unsigned long long>(seed_ - first_seed()));
    return false;
  }
  return seed_ < end_;
}

std::string Inputs::reproduction(uint64_t seed) {
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string text;
  for (const char* variable : {"TANDEM_TEST_DEVICE", "TANDEM_PTX", "TANDEM_SOAK_CALLS"}) {
    if (const char* value = std::getenv(variable)) text += std::string(variable) + "=" + value + " ";
  }
  return text + "TANDEM_SOAK_SEED=" + std::to_string(seed) + " TANDEM_SOAK_COUNT=1 tests/" +
         own_program().filename().string() +
         " --gtest_filter=" + (test ? std::string(test->test_suite_name()) + "." + test->name() : "");
}

ChildTaskRegistration::ChildTaskRegistration(const char* name, ChildTask task) { tasks()[name] = std::move(task); }

int run_child(int argc, char** argv) {
  if (argc != 7) return 2;
  const ChildTask& task = tasks().at(argv[2]);
  const uint64_t first = std::strtoull(argv[3], nullptr, 10), end = std::strtoull(argv[4], nullptr, 10);
  const int processor_seconds = std::atoi(argv[5]);
  const uint64_t mib = std::strtoull(argv[6], nullptr, 10);
  const int out = dup(1);
  dup2(2, 1);  // keeps the output of the task apart from the reports
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (mib > 0) {  // also under AddressSanitizer, which has reserved its own address space before
    const rlim_t bytes = address_space() + (mib << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  for (uint64_t seed = first; seed != end; ++seed) {
    const itimerval time{{0, 0}, {processor_seconds, 0}};
    setitimer(ITIMER_PROF, &time, nullptr);
    alarm(static_cast<unsigned>(5 * processor_seconds));  // for tasks that wait without using the processor
    std::string ending;
    try {
      ending = task(seed, [&](const std::string& input) {
        write_line(out, seed, "input", input);
        if (!known_defect(argv[2], input, kDidNotEnd).empty()) throw NotTried();
      });
    } catch (const NotTried&) {
    } catch (const std::exception& e) {
      ending = std::string("exception ") + typeid(e).name() + ": " + e.what();
    } catch (...) {
      ending = "exception of another type";
    }
    write_line(out, seed, "ending", ending);
  }
  return 0;
}

std::vector<Outcome> run_in_children(const std::string& task, uint64_t first, uint64_t end, ChildLimits limits,
                                     double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::vector<Outcome> bad;
  const TemporaryFolder folder;
  for (uint64_t seed = first; seed < end && elapsed() < seconds;) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe failed");
    const std::string errors = folder.path("stderr");
    std::vector<std::string> arguments = command_of(own_program());
    arguments.insert(arguments.end(), {"--child", task, std::to_string(seed), std::to_string(end),
                                       std::to_string(limits.processor_seconds), std::to_string(limits.memory_mib)});
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    setenv("OMP_NUM_THREADS", "1", 1);  // libgomp ends the process if it cannot start a thread
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {  // only system calls until exec, because the parent has threads
      const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(pipe_ends[1], 1);
      if (file >= 0) dup2(file, 2);
      close(pipe_ends[0]);
      close(pipe_ends[1]);
      execvp(argv[0], argv.data());
      _exit(4);
    }
    close(pipe_ends[1]);
    FILE* reports = fdopen(pipe_ends[0], "r");
    char* line = nullptr;
    size_t capacity = 0;
    Outcome current{.seed = seed};
    bool stopped = false;
    while (getline(&line, &capacity, reports) > 0) {
      const std::string text(line, std::strlen(line) - 1);
      const size_t a = text.find('\t'), b = text.find('\t', a + 1);
      const uint64_t at = std::strtoull(text.c_str(), nullptr, 10);
      const std::string value = text.substr(b + 1);
      if (at != current.seed) current = Outcome{.seed = at};
      if (text.substr(a + 1, b - a - 1) == "input") {
        current.input = value;
      } else {
        if (!value.empty()) bad.push_back({at, current.input, value});
        current = Outcome{.seed = at + 1};
        if (elapsed() >= seconds && !stopped) {
          stopped = true;
          kill(child, SIGKILL);
        }
      }
    }
    std::free(line);
    fclose(reports);
    int status = 0;
    waitpid(child, &status, 0);
    if (stopped || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) break;
    current.ending = ending_of(status);
    std::ifstream file(errors);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!text.empty()) current.ending += "; it wrote: " + last_words(text);
    bad.push_back(current);
    seed = current.seed + 1;
  }
  return bad;
}

std::string known_defect(const std::string& finder, const std::string& input, const std::string& ending) {
  for (const KnownFailure& known : kKnownFailures) {
    if (finder == known.finder && input.find(known.input) != std::string::npos &&
        ending.find(known.ending) != std::string::npos) {
      return std::string(known.defect);
    }
  }
  return "";
}

void expect_good_outcomes(const std::string& task, uint64_t usual_count, ChildLimits limits) {
  const uint64_t seconds = number_from("TANDEM_SOAK_SECONDS", 0), first = first_seed();
  const uint64_t end = seconds > 0 ? ~uint64_t{0} : first + number_from("TANDEM_SOAK_COUNT", usual_count);
  std::map<std::string, int> known;
  for (const Outcome& o : run_in_children(task, first, end, limits, seconds > 0 ? static_cast<double>(seconds) : 1e9)) {
    const std::string defect = known_defect(task, o.input, o.ending);
    if (!defect.empty()) {
      ++known[defect];
      continue;
    }
    ADD_FAILURE() << o.input << '\n' << o.ending << "\nreproduce with: " << Inputs::reproduction(o.seed);
  }
  for (const auto& [defect, times] : known) std::printf("known, %d times: %s\n", times, defect.c_str());
}

}  // namespace tandem::testing
