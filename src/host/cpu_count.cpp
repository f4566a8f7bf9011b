// Reads the affinity mask and the limits of control groups, version 2 and 1.
#include "host/cpu_count.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace ashore::host {
namespace {

constexpr int kMostGroups = 64;  // a path of groups deeper than this is cut

// CPUs of "quota per period", rounded up; 0 for none. A quota of "max" or -1 is none.
int whole_cpus(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  const double cpus = quota / period;
  const int whole = cpus < 65536 ? static_cast<int>(cpus) : 65536;
  return std::max(1, whole + (whole < cpus ? 1 : 0));
}

int limit_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  file >> quota >> period;  // "max 100000" fails at the first word
  return file.fail() ? 0 : whole_cpus(quota, period);
}

int limit_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  quota_file >> quota;
  period_file >> period;
  return quota_file.fail() || period_file.fail() ? 0 : whole_cpus(quota, period);
}

int tighter(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// The limit of a group and of all groups around it.
int tightest(const std::string& mount, std::string path, int (*limit)(const std::string&)) {
  int found = 0;
  for (int i = 0; i < kMostGroups; ++i) {
    found = tighter(found, limit(mount + path));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) break;
    path.resize(slash);
  }
  return found;
}

bool names_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

int cgroup_cpus(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  int found = 0;
  for (std::string line; std::getline(groups, line);) {  // "number:controllers:path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers.empty()) {
      found = tighter(found, tightest(mount, path, &limit_v2));
    } else if (names_cpu(controllers)) {
      found = tighter(found, tightest(mount + "/cpu", path, &limit_v1));
    }
  }
  return found;
}

int usable_cpus() {
  cpu_set_t mask;
  int cpus = ::sched_getaffinity(0, sizeof(mask), &mask) == 0
                 ? CPU_COUNT(&mask)
                 // More CPUs than the mask has bits for.
                 : static_cast<int>(std::thread::hardware_concurrency());
  cpus = std::max(cpus, 1);
  const int granted = cgroup_cpus();
  return granted == 0 ? cpus : std::min(cpus, granted);
}

}  // namespace ashore::host
