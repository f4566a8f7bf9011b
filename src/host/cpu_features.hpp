// Which vector instructions this CPU has, as a short table of levels. Called by convert, which has
// its kernels compiled for each level.
#pragma once

#include <ashore/result.hpp>

#include <cstdint>
#include <string_view>

namespace ashore::host {

/// Levels of vector instructions, each one including those before it.
enum class SimdLevel : std::uint8_t {
  kBaseline,  ///< what every CPU of the architecture has: SSE2 on x86-64, NEON on aarch64
  kAvx2,      ///< AVX2, F16C, BMI (x86-64-v3)
  kAvx512,    ///< AVX-512 F, BW, CD, DQ, VL (x86-64-v4)
};

inline constexpr int kSimdLevelCount = 3;

/// One row of the table of levels.
struct SimdLevelInfo {
  SimdLevel level;
  std::string_view name;  ///< as ASHORE_SIMD and `ashore.plan` spell it
  bool (*is_here)();      ///< whether this build has the level and this CPU runs it
};

/// The table, lowest level first.
extern const SimdLevelInfo kSimdLevels[kSimdLevelCount];

std::string_view name(SimdLevel level) noexcept;

/// Choose a level: the highest that is here, or the one that `forced` names (empty: none). Fails
/// with kInvalid where no level has that name or this CPU does not run it.
Result<SimdLevel> choose_simd_level(std::string_view forced);

/// Return why ASHORE_SIMD cannot be obeyed, or success. Read once per process.
const Status& simd_status() noexcept;

/// Return the level in use: ASHORE_SIMD's, or the highest that is here.
SimdLevel simd_level() noexcept;

/// Use another level from now on, in all threads. For tests, between conversions.
void force_simd_level(SimdLevel level) noexcept;

}  // namespace ashore::host
