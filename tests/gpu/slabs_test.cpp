#include "tenon/backends/gpu/slabs.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon::backends::gpu {
namespace {

struct TestBlock {
  size_t bytes = 0;
};
using TestSlabs = Slabs<TestBlock>;

/// Slabs over so many bytes, which note every block that is made.
struct Memory {
  explicit Memory(size_t all)
      : room(all),
        slabs(
            [this](size_t bytes) -> std::optional<TestBlock> {
              if (bytes > room) return std::nullopt;
              room -= bytes;
              made.push_back(bytes);
              return TestBlock{bytes};
            },
            all) {}
  size_t room;
  std::vector<size_t> made;
  TestSlabs slabs;
};

TEST(Slabs, SmallPiecesShareABlock) {
  Memory memory(size_t{1} << 30);
  auto* a = memory.slabs.take(100);
  auto* b = memory.slabs.take(300);
  EXPECT_EQ(memory.made, std::vector{TestSlabs::kUsual});
  EXPECT_EQ(a->offset, 0);
  EXPECT_EQ(a->bytes, 256);
  EXPECT_EQ(b->offset, 256);
  EXPECT_EQ(b->bytes, 512);
  EXPECT_FALSE(memory.slabs.give_back(a));
  EXPECT_FALSE(memory.slabs.give_back(b)) << "one of the usual size stays";
}

TEST(Slabs, WhatIsGivenBackIsJoinedAndTakenAgain) {
  Memory memory(size_t{1} << 30);
  auto* a = memory.slabs.take(256);
  auto* b = memory.slabs.take(256);
  auto* c = memory.slabs.take(256);
  memory.slabs.give_back(a);
  memory.slabs.give_back(c);
  memory.slabs.give_back(b);
  auto* all = memory.slabs.take(TestSlabs::kUsual / 2);
  EXPECT_EQ(all->offset, 0);
  EXPECT_EQ(memory.made.size(), 1);
  memory.slabs.give_back(all);
}

TEST(Slabs, ALargePieceHasABlockOfItsOwn) {
  Memory memory(size_t{1} << 30);
  auto* small = memory.slabs.take(1);
  auto* large = memory.slabs.take(TestSlabs::kUsual + 1);
  EXPECT_EQ(memory.made.back(), TestSlabs::kUsual + 256);
  EXPECT_EQ(large->address, TestSlabs::kUsual) << "addresses of blocks do not meet";
  const auto left = memory.slabs.give_back(large);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->bytes, TestSlabs::kUsual + 256);
  memory.slabs.give_back(small);
}

TEST(Slabs, WhereABlockOfTheUsualSizeIsNotThereASmallOneServes) {
  Memory memory(size_t{8} << 20);
  memory.room = 512;
  auto* piece = memory.slabs.take(300);
  ASSERT_TRUE(piece);
  EXPECT_EQ(memory.made, std::vector<size_t>{512});
  EXPECT_EQ(memory.slabs.take(1), nullptr);
  EXPECT_TRUE(memory.slabs.give_back(piece));
}

}  // namespace
}  // namespace tenon::backends::gpu
