// Runs a test body at each level of vector instructions, and names those that the CPU lacks.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "host/cpu_features.hpp"

namespace ashore::testing {

/// A fixture with the level as its parameter, which is forced for the test. Skips a level that this
/// CPU does not run, by name.
class LevelTest : public ::testing::TestWithParam<host::SimdLevelInfo> {
 protected:
  void SetUp() override {
    if (!GetParam().is_here()) {
      GTEST_SKIP() << "this CPU does not run level " << GetParam().name;
    }
    host::force_simd_level(GetParam().level);
  }
  void TearDown() override { host::force_simd_level(before_); }

 private:
  host::SimdLevel before_ = host::simd_level();
};

inline std::string level_name(const ::testing::TestParamInfo<host::SimdLevelInfo>& info) {
  return std::string(info.param.name);
}

}  // namespace ashore::testing

namespace ashore::host {
/// How GoogleTest shows a level.
inline void PrintTo(const SimdLevelInfo& row, std::ostream* out) { *out << row.name; }
}  // namespace ashore::host
