// Which commands wait for those before, on Vulkan.

#include "tenon/backends/gpu/hazards.h"

#include <gtest/gtest.h>

namespace tenon::backends::gpu {
namespace {

using Ranges = std::vector<Range>;

TEST(Hazards, WhatTouchesOtherPlacesDoesNotWait) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add(Ranges{{0, 8}}, Ranges{{8, 16}}));
  EXPECT_FALSE(hazards.add(Ranges{{16, 24}}, Ranges{{24, 32}}));
}

TEST(Hazards, ReadersOfOnePlaceDoNotWaitForEachOther) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add(Ranges{{0, 8}}, Ranges{{8, 16}}));
  EXPECT_FALSE(hazards.add(Ranges{{0, 8}}, Ranges{{16, 24}}));
}

TEST(Hazards, AReaderWaitsForItsWriter) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add({}, Ranges{{0, 8}}));
  EXPECT_TRUE(hazards.add(Ranges{{7, 9}}, {}));
}

TEST(Hazards, AWriterWaitsForReadersAndWriters) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add(Ranges{{0, 8}}, {}));
  EXPECT_TRUE(hazards.add({}, Ranges{{4, 5}}));
  EXPECT_TRUE(hazards.add({}, Ranges{{0, 8}}));
}

TEST(Hazards, WhatWasWaitedForIsForgotten) {
  Hazards hazards;
  EXPECT_FALSE(hazards.add({}, Ranges{{0, 8}, {8, 16}}));
  EXPECT_TRUE(hazards.add(Ranges{{0, 8}}, Ranges{{16, 24}}));
  EXPECT_FALSE(hazards.add(Ranges{{8, 16}}, Ranges{{24, 32}}));
}

TEST(Hazards, WhatComesBehindSomethingUnknownWaits) {
  Hazards hazards;
  hazards.forget();
  EXPECT_TRUE(hazards.add(Ranges{{0, 8}}, {}));
  EXPECT_FALSE(hazards.add(Ranges{{0, 8}}, {}));
}

TEST(Hazards, ALongListIsCutByABarrier) {
  Hazards hazards;
  int waits = 0;
  for (uint64_t i = 0; i < 1000; ++i) waits += hazards.add({}, Ranges{{8 * i, 8 * i + 8}});
  EXPECT_GT(waits, 0);
  EXPECT_LT(waits, 20);
}

}  // namespace
}  // namespace tenon::backends::gpu
