// How many CPUs this process may use. Called once, by the thread pool.
#pragma once

#include <string>

namespace ashore::host {

/// Return how many CPUs the control groups of this process grant it, rounded up, or 0 where they
/// set no limit. Files are read below `root` (empty: the machine's own), so that tests can bring
/// theirs.
int cgroup_cpus(const std::string& root = "");

/// Return the number of CPUs that this process may run on: affinity mask and control groups; at
/// least 1.
int usable_cpus();

}  // namespace ashore::host
