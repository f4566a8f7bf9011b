// CPUs granted by control groups, read from small trees of files.
#include "host/cpu_count.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace ashore::host {
namespace {

// Lay out files below a folder of this test's own and read them.
int cpus_of(const std::map<std::string, std::string>& files) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path root = ::testing::TempDir() + "ashore-cgroup-" + test;
  std::filesystem::remove_all(root);
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  const int cpus = cgroup_cpus(root.string());
  std::filesystem::remove_all(root);
  return cpus;
}

TEST(CpuCount, NoGroupsNoLimit) { EXPECT_EQ(cpus_of({}), 0); }

TEST(CpuCount, VersionTwoTakesTheTightestGroupOnTheWay) {
  EXPECT_EQ(cpus_of({{"proc/self/cgroup", "0::/a/b\n"},
                     {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                     {"sys/fs/cgroup/a/cpu.max", "250000 100000\n"}}),
            3);
  EXPECT_EQ(cpus_of({{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "50000 100000\n"}}),
            1);
  EXPECT_EQ(cpus_of({{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}}),
            0);
}

TEST(CpuCount, VersionOneHasQuotaAndPeriodApart) {
  const std::string groups = "7:memory:/x\n4:cpu,cpuacct:/x\n1:cpuset:/y\n";
  EXPECT_EQ(cpus_of({{"proc/self/cgroup", groups},
                     {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "400000\n"},
                     {"sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}}),
            4);
  EXPECT_EQ(cpus_of({{"proc/self/cgroup", groups},
                     {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n"},
                     {"sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}}),
            0);
}

TEST(CpuCount, NonsenseIsNoLimit) {
  EXPECT_EQ(
      cpus_of({{"proc/self/cgroup", "what\n0::\n:::\n"}, {"sys/fs/cgroup/cpu.max", "9e99 0\n"}}),
      0);
}

TEST(CpuCount, ThereIsOne) { EXPECT_GE(usable_cpus(), 1); }

}  // namespace
}  // namespace ashore::host
