// The table of levels, and the choice among them.
#include "host/cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <string>

namespace ashore::host {
namespace {

bool has_baseline() { return true; }

#if defined(__x86_64__)
// Asks CPUID, and the system by XGETBV whether it saves the registers: __builtin_cpu_supports does
// both for what it knows. F16C and BMI it does not know everywhere.
bool has_avx2() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool has_f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

}  // namespace

const SimdLevelInfo kSimdLevels[kSimdLevelCount] = {
    {SimdLevel::kBaseline, "baseline", &has_baseline},
    {SimdLevel::kAvx2, "avx2", &has_avx2},
    {SimdLevel::kAvx512, "avx512", &has_avx512},
};

std::string_view name(SimdLevel level) noexcept {
  return kSimdLevels[static_cast<std::size_t>(level)].name;
}

Result<SimdLevel> choose_simd_level(std::string_view forced) {
  SimdLevel best = SimdLevel::kBaseline;
  std::string here;
  for (const SimdLevelInfo& row : kSimdLevels) {
    if (!row.is_here()) continue;
    best = row.level;
    here += (here.empty() ? "" : ", ") + std::string(row.name);
    if (row.name == forced) return row.level;
  }
  if (forced.empty()) return best;
  return Status(Code::kInvalid, "ASHORE_SIMD=" + std::string(forced) +
                                    " names no level that this CPU runs; it runs " + here);
}

namespace {

struct Choice {
  Status status;
  std::atomic<SimdLevel> level;
};

// Made once, never destroyed: conversions may still run when the process ends.
Choice& choice() noexcept {
  static Choice* const made = [] {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): some bytes at the first conversion
    auto* const fresh = new Choice{{}, SimdLevel::kBaseline};
    const char* const forced = std::getenv("ASHORE_SIMD");  // NOLINT(concurrency-mt-unsafe)
    Result<SimdLevel> chosen = choose_simd_level(forced == nullptr ? "" : forced);
    if (chosen.ok()) {
      fresh->level = *chosen;
    } else {
      fresh->status = chosen.take_status();
    }
    return fresh;
  }();
  return *made;
}

}  // namespace

const Status& simd_status() noexcept { return choice().status; }

SimdLevel simd_level() noexcept { return choice().level.load(std::memory_order_relaxed); }

void force_simd_level(SimdLevel level) noexcept { choice().level = level; }

}  // namespace ashore::host
