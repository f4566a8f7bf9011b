// The table of levels of vector instructions: its order, its choice, names that nobody knows.
#include "host/cpu_features.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ashore::host {
namespace {

TEST(CpuFeatures, TheTableIsInOrderAndStartsWithWhatEveryCpuHas) {
  for (int i = 0; i < kSimdLevelCount; ++i) {
    EXPECT_EQ(static_cast<int>(kSimdLevels[i].level), i);
    EXPECT_EQ(name(kSimdLevels[i].level), kSimdLevels[i].name);
  }
  EXPECT_TRUE(kSimdLevels[0].is_here());
}

TEST(CpuFeatures, TheHighestLevelThatIsHereIsChosen) {
  Result<SimdLevel> chosen = choose_simd_level("");
  ASSERT_TRUE(chosen.ok());
  for (const SimdLevelInfo& row : kSimdLevels) {
    EXPECT_LE(row.is_here() ? row.level : SimdLevel::kBaseline, *chosen);
  }
}

TEST(CpuFeatures, ANameForcesItsLevel) {
  for (const SimdLevelInfo& row : kSimdLevels) {
    Result<SimdLevel> chosen = choose_simd_level(row.name);
    EXPECT_EQ(chosen.ok(), row.is_here());
    if (chosen.ok()) {
      EXPECT_EQ(*chosen, row.level);
    }
  }
}

TEST(CpuFeatures, AnUnknownNameFailsAndSaysWhatThereIs) {
  for (const char* const forced : {"sse9", "AVX2", "avx", " "}) {
    const Result<SimdLevel> chosen = choose_simd_level(forced);
    ASSERT_FALSE(chosen.ok()) << forced;
    EXPECT_EQ(chosen.status().code(), Code::kInvalid);
    EXPECT_NE(chosen.status().message().find("ASHORE_SIMD=" + std::string(forced)),
              std::string::npos);
    EXPECT_NE(chosen.status().message().find("baseline"), std::string::npos);
  }
}

}  // namespace
}  // namespace ashore::host
