#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/hash.h"

namespace tw {
namespace {

// The first outputs for seed 1234567, as the authors' reference implementation gives them.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317U);
  EXPECT_EQ(random.Next(), 3203168211198807973U);
  EXPECT_EQ(random.Next(), 9817491932198370423U);
}

TEST(Random, StateResumesTheStream) {
  Random random(5);
  random.Next();
  Random resumed(random.state());
  EXPECT_EQ(random.Next(), resumed.Next());
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(1);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.Below(7));
  for (int count : seen) EXPECT_NEAR(count, 1000, 200);
}

TEST(Random, WeightedNeverDrawsWeightZero) {
  Random random(1);
  const std::array<double, 4> weights{0, 1, 0, 3};
  std::array<int, 4> seen{};
  for (int i = 0; i < 4000; ++i) ++seen.at(random.Weighted(weights));
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[2], 0);
  EXPECT_NEAR(seen[3], 3000, 200);
}

TEST(Random, ShuffleIsAPermutation) {
  Random random(3);
  std::vector<int> items{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<int> shuffled = items;
  random.Shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  EXPECT_THAT(shuffled, ::testing::UnorderedElementsAreArray(items));
}

// Test vectors of FNV-1a, 64 bits.
TEST(Hash64, IsFnv1a) {
  EXPECT_EQ(Hash64(""), 0xcbf29ce484222325U);
  EXPECT_EQ(Hash64("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(Hash64("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace tw
