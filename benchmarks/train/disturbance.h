#pragma once
// The share of the machine that other processes used during a measurement.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace bench {

/// Counts from its construction. Clock ticks are coarse, so the result is meaningless below some tenths of a second.
class Disturbance {
 public:
  /// Returns the share of all processors' time used by others: other processes, the kernel for them, the host.
  double foreign_share() const {
    const Times end = read();
    const double foreign = end.busy - start_.busy - (end.own - start_.own);
    return end.total > start_.total ? std::max(0.0, foreign / (end.total - start_.total)) : 0;
  }

 private:
  struct Times {
    double total = 0, busy = 0, own = 0;  ///< in clock ticks
  };

  static Times read() {
    Times t;
    std::ifstream file("/proc/stat");
    std::string word;
    file >> word;
    double ticks = 0;
    // user nice system idle iowait irq softirq steal; guest times are part of user.
    for (int column = 0; column < 8 && file >> ticks; ++column) {
      t.total += ticks;
      if (column != 3 && column != 4) t.busy += ticks;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& v) {
      return static_cast<double>(v.tv_sec) + static_cast<double>(v.tv_usec) * 1e-6;
    };
    t.own = (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * static_cast<double>(sysconf(_SC_CLK_TCK));
    return t;
  }

  Times start_ = read();
};

}  // namespace bench
