// From a value through the views around it to what is computed.

#include "tenon/ir/walk.h"

#include <gtest/gtest.h>

#include "tenon/ir/build.h"

namespace tenon::ir {
namespace {

constexpr DeviceId kHere{0, "here"};

Value leaf(uint64_t id, const Dims& shape = {4, 4}) {
  return buffer({(uint64_t{1} << 51) + id, 0, kHere, {DType::f32, shape}});
}

TEST(BaseOf, StopsAtWhatIsComputed) {
  const Value x = leaf(1), y = exp(x);
  EXPECT_EQ(base_of(x), x);
  EXPECT_EQ(base_of(flip(permute(y, {1, 0}), {0})), y);
  EXPECT_EQ(base_of(detach(param(x, std::make_shared<Param>()))), x);
}

TEST(BaseOf, FollowsTheRightOperandOfACustomNode) {
  const Value a = exp(leaf(1)), b = neg(leaf(2));
  const NodeRef custom = Node::make(Op::custom, {a, b, leaf(3)}, CustomAttrs{std::make_shared<CustomRule>(), 2});
  EXPECT_EQ(base_of({custom, 0}), a);
  EXPECT_EQ(base_of(flip({custom, 1}, {0})), b);
}

TEST(LookThrough, ComposesTheMoves) {
  const Value x = leaf(1, {4, 6});
  const Seen seen = look_through(detach(shrink(permute(flip(x, {1}), {1, 0}), {1, 0}, {2, 4}, {2, 1})));
  EXPECT_EQ(seen.base, x);
  EXPECT_EQ(seen.map.to_string(), "(2, 4) strides (-2, 6) offset 4");
}

}  // namespace
}  // namespace tenon::ir
