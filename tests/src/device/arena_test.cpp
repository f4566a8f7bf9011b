// The allocator of device addresses, and that memory given back is never a neighbour's.
#include "device/sim_arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "src/device/simulator.hpp"

namespace ashore::device {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Arena, CapacityIsExact) {
  sim::Arena arena(64 * kMiB, 4 * kMiB);
  std::size_t offset = 0;
  std::size_t last = 0;
  for (int i = 0; i < 8191; ++i) ASSERT_TRUE(arena.allocate(1, offset));
  EXPECT_FALSE(arena.allocate(513, offset)) << "512 are left";
  ASSERT_TRUE(arena.allocate(512, last));
  EXPECT_FALSE(arena.allocate(1, offset));
  EXPECT_EQ(arena.allocated_bytes(), 4 * kMiB);
  sim::Span freed;
  sim::Span hole;
  ASSERT_TRUE(arena.free(last, freed, hole));
  EXPECT_TRUE(arena.allocate(512, offset));
  EXPECT_FALSE(arena.allocate(~std::size_t{0}, offset));
  EXPECT_FALSE(arena.free(1, freed, hole));
}

TEST(Arena, NeighboursBecomeOneHole) {
  sim::Arena arena(64 * kMiB, 64 * kMiB);
  std::size_t offsets[5];
  for (std::size_t& offset : offsets) ASSERT_TRUE(arena.allocate(1000, offset));
  sim::Span freed;
  sim::Span hole;
  ASSERT_TRUE(arena.free(offsets[1], freed, hole));
  EXPECT_EQ(hole.bytes, 1024u);
  ASSERT_TRUE(arena.free(offsets[3], freed, hole));
  EXPECT_EQ(hole.bytes, 1024u);
  ASSERT_TRUE(arena.free(offsets[2], freed, hole));
  EXPECT_EQ(freed.bytes, 1024u);
  EXPECT_EQ(hole.offset, offsets[1]);
  EXPECT_EQ(hole.bytes, 3 * 1024u);
  ASSERT_TRUE(arena.free(offsets[0], freed, hole));
  ASSERT_TRUE(arena.free(offsets[4], freed, hole));
  EXPECT_EQ(hole.bytes, 64 * kMiB) << "all free again";
  EXPECT_EQ(arena.holes().size(), 1u);
}

TEST(Arena, FindsTheBlockOfAnAddress) {
  sim::Arena arena(64 * kMiB, 64 * kMiB);
  std::size_t offset = 0;
  ASSERT_TRUE(arena.allocate(1000, offset));
  sim::Span block;
  EXPECT_TRUE(arena.find(offset + 999, block));
  EXPECT_EQ(block.offset, offset);
  EXPECT_EQ(block.bytes, 1000u);
  EXPECT_FALSE(arena.find(offset + 1000, block)) << "asked for were 1000";
  EXPECT_FALSE(arena.find(offset + 1024, block));
}

// Against a model: blocks never overlap, merging leaves no hole beside a hole, and whatever the
// capacity allows is given, however fragmented the memory is.
TEST(Arena, AgainstAModel) {
  constexpr std::size_t kCapacity = 64 * kMiB;
  sim::Arena arena(4 * kCapacity, kCapacity);
  std::map<std::size_t, std::size_t> live;
  std::mt19937_64 random(7);
  std::size_t taken = 0;
  for (int step = 0; step < 60000; ++step) {
    const bool is_full_phase = (step / 5000) % 2 == 0;
    if (live.empty() || random() % 8 < (is_full_phase ? 6U : 3U)) {
      const std::size_t kind = random() % 10;
      const std::size_t most = kind < 6 ? 5000 : kind < 9 ? 500000 : 6 * kMiB;
      const std::size_t bytes = 1 + random() % most;
      const std::size_t rounded = (bytes + 511) / 512 * 512;
      std::size_t offset = 0;
      const bool fits = taken + rounded <= kCapacity;
      ASSERT_EQ(arena.allocate(bytes, offset), fits) << taken << " + " << rounded;
      if (!fits) continue;
      ASSERT_EQ(offset % 512, 0u);
      const auto next = live.lower_bound(offset);
      ASSERT_TRUE(next == live.end() || offset + rounded <= next->first);
      ASSERT_TRUE(next == live.begin() ||
                  std::prev(next)->first + std::prev(next)->second <= offset);
      live[offset] = rounded;
      taken += rounded;
    } else {
      auto victim = live.lower_bound(random() % (4 * kCapacity));
      if (victim == live.end()) victim = live.begin();
      sim::Span freed;
      sim::Span hole;
      ASSERT_TRUE(arena.free(victim->first, freed, hole));
      ASSERT_EQ(freed.bytes, victim->second);
      taken -= victim->second;
      live.erase(victim);
    }
    ASSERT_EQ(arena.allocated_bytes(), taken);
  }
  std::size_t end = 0;
  for (const auto& [offset, bytes] : arena.holes()) {
    ASSERT_TRUE(offset > end || end == 0) << "two holes that touch";
    end = offset + bytes;
  }
}

using Memory = SimulatorTest;

// Every live block keeps its pattern while others are freed around it and their pages go back to
// the system.
TEST_F(Memory, BlocksKeepTheirBytes) {
  std::map<DevicePointer, std::pair<std::size_t, std::uint64_t>> live;
  std::mt19937_64 random(11);
  const auto check = [&](const auto& block) {
    const auto [bytes, seed] = block.second;
    const unsigned char* const data = bytes_of(block.first);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
      std::memcpy(&word, data + i, 8);
      ASSERT_EQ(word, seed + i) << "offset " << i << " of a block of " << bytes;
    }
  };
  constexpr int kSteps = ASHORE_TEST_TSAN ? 400 : 3000;
  for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    if (live.size() < 100 && random() % 3 > 0) {
      const std::size_t most = random() % 4 == 0 ? 5 * kMiB : 60000;
      const std::size_t bytes = 8 + random() % most;
      DevicePointer pointer = 0;
      const Error error = driver().mem_alloc(&pointer, bytes);
      if (error == Error::kOutOfMemory) continue;
      ASSERT_OK(error);
      const std::uint64_t seed = random();
      for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = seed + i;
        std::memcpy(bytes_of(pointer) + i, &word, 8);
      }
      live[pointer] = {bytes, seed};
    } else if (!live.empty()) {
      auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      check(*victim);
      const auto above = std::next(victim);
      ASSERT_OK(driver().mem_free(victim->first));
      if (above != live.end()) check(*above);
      if (victim != live.begin()) check(*std::prev(victim));
      live.erase(victim);
    }
  }
  for (const auto& block : live) {
    check(block);
    ASSERT_OK(driver().mem_free(block.first));
  }
}

TEST_F(Memory, AllOfItCanBeAllocatedHoweverFragmented) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_OK(driver().mem_get_info(&free, &total));
  EXPECT_EQ(total, 256 * kMiB);
  EXPECT_EQ(free, total);
  std::vector<DevicePointer> all;
  DevicePointer pointer = 0;
  while (driver().mem_alloc(&pointer, 64 << 10) == Error::kSuccess) all.push_back(pointer);
  EXPECT_EQ(all.size() * (64 << 10), total);
  for (std::size_t i = 0; i < all.size(); i += 2) ASSERT_OK(driver().mem_free(all[i]));
  ASSERT_OK(driver().mem_alloc(&pointer, total / 2)) << "no hole is larger than 64 KiB";
  EXPECT_EQ(driver().mem_alloc(&all[0], 1), Error::kOutOfMemory);
  ASSERT_OK(driver().mem_free(pointer));
  for (std::size_t i = 1; i < all.size(); i += 2) ASSERT_OK(driver().mem_free(all[i]));
}

TEST_F(Memory, CapacityCanBeChanged) {
  ASSERT_OK(simulator().set_memory(0, kMiB));
  DevicePointer pointer = 0;
  EXPECT_EQ(driver().mem_alloc(&pointer, kMiB + 1), Error::kOutOfMemory);
  ASSERT_OK(driver().mem_alloc(&pointer, kMiB));
  ASSERT_OK(simulator().set_memory(0, 1000)) << "what is allocated stays";
  std::size_t free = 1;
  std::size_t total = 1;
  ASSERT_OK(driver().mem_get_info(&free, &total));
  EXPECT_EQ(free, 0u);
  EXPECT_EQ(total, 1000u);
  ASSERT_OK(driver().mem_free(pointer));
  ASSERT_OK(simulator().set_memory(0, 256 * kMiB));
  EXPECT_EQ(simulator().set_memory(99, kMiB), Error::kInvalidDevice);
  EXPECT_EQ(simulator().set_memory(0, 0), Error::kInvalidValue);
}

}  // namespace
}  // namespace ashore::device
