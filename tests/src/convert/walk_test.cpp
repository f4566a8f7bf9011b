// The walk: as few axes as possible, every element once, any layout.
#include "convert/walk.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "support/strided.hpp"

namespace ashore {
namespace {

using testing::Rng;
using Axes = std::vector<std::int64_t>;

Walk walk_of(const Axes& shape, const Axes& source, const Axes& destination) {
  Walk walk;
  const int ndim = static_cast<int>(shape.size());
  plan_walk({ndim, shape.data(), source.data()}, {ndim, shape.data(), destination.data()}, walk);
  return walk;
}

TEST(Walk, MergesWhatContinues) {
  // Row-major both: one run. The same with both transposed, both flipped, or axes of length 1.
  EXPECT_EQ(walk_of({2, 3, 4}, {48, 16, 4}, {96, 32, 8}).ndim, 1);
  EXPECT_EQ(walk_of({2, 3, 4}, {4, 8, 24}, {8, 16, 48}).ndim, 1);
  EXPECT_EQ(walk_of({6, 4}, {-16, -4}, {-16, -4}).ndim, 1);
  EXPECT_EQ(walk_of({2, 1, 3}, {12, 999, 4}, {12, -7, 4}).ndim, 1);
  EXPECT_EQ(walk_of({1, 1}, {5, 5}, {5, 5}).ndim, 0);
  EXPECT_EQ(walk_of({}, {}, {}).ndim, 0);
  // One side continues, the other does not.
  EXPECT_EQ(walk_of({2, 3}, {12, 4}, {16, 4}).ndim, 2);
  EXPECT_EQ(walk_of({2, 3}, {12, 4}, {4, 8}).ndim, 2);
  EXPECT_TRUE(walk_of({2, 0}, {12, 4}, {4, 8}).empty);
}

TEST(Walk, TheDestinationIsWalkedUpwardsAndItsSmallestStepIsInnermost) {
  const Walk walk = walk_of({2, 3}, {12, 4}, {-4, -8});
  ASSERT_EQ(walk.ndim, 2);
  EXPECT_EQ(walk.destination_strides[0], 8);
  EXPECT_EQ(walk.destination_strides[1], 4);
  EXPECT_EQ(walk.source_strides[1], -12);
  EXPECT_EQ(walk.destination_offset, -20);
  EXPECT_EQ(walk.source_offset, 20);
}

// The pairs of offsets that a walk visits, and how often.
using Visits = std::map<std::pair<std::int64_t, std::int64_t>, int>;

Visits visits_of(const Walk& walk) {
  static char origin[1];  // never read: only differences of addresses matter
  Visits visits;
  const auto step = [](const void* context, const Run& run) {
    auto& seen = *static_cast<Visits*>(const_cast<void*>(context));
    for (std::size_t i = 0; i < run.count; ++i) {
      const auto n = static_cast<std::intptr_t>(i);
      ++seen[{reinterpret_cast<std::intptr_t>(run.source) + n * run.source_stride -
                  reinterpret_cast<std::intptr_t>(origin),
              reinterpret_cast<std::intptr_t>(run.destination) + n * run.destination_stride -
                  reinterpret_cast<std::intptr_t>(origin)}];
    }
  };
  walk_runs(walk, origin, origin, step, &visits);
  return visits;
}

TEST(Walk, VisitsEveryPairOfElementsOnce) {
  Rng rng(3);
  for (int i = 0; i < 3000; ++i) {
    const Axes shape = testing::random_shape(rng, 300);
    const Layout source = testing::random_source_layout(rng, shape, 4);
    const Layout destination = testing::random_layout(rng, shape, 2);
    Walk walk;
    plan_walk(source.view(), destination.view(), walk);

    Visits expected;
    std::vector<std::int64_t> from;
    testing::for_each_offset(source.view(), [&](std::int64_t at) { from.push_back(at); });
    std::size_t next = 0;
    testing::for_each_offset(destination.view(), [&](std::int64_t at) {
      ++expected[{from[next++], at}];
    });
    ASSERT_EQ(visits_of(walk), expected);
  }
}

TEST(Walk, SixtyFourAxes) {
  Axes shape(kMaxDims, 1);
  Axes source(kMaxDims, 0);
  Axes destination(kMaxDims, 0);
  // Twelve axes of length 2 that go the opposite way in the destination: none of them merge.
  for (std::size_t axis = 0; axis < 12; ++axis) {
    shape[5 * axis] = 2;
    source[5 * axis] = std::int64_t{1} << axis;
    destination[5 * axis] = std::int64_t{2048} >> axis;
  }
  const Walk walk = walk_of(shape, source, destination);
  EXPECT_EQ(walk.ndim, 12);
  const Visits visits = visits_of(walk);
  EXPECT_EQ(visits.size(), 4096u);
  for (const auto& [pair, times] : visits) EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace ashore
