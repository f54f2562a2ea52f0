// What the library asks of the memory behind a tensor.

#include "tenon/tensor/access.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {
namespace {

TEST(Access, TheOwnerOfAViewIsTheTensorItWasTakenOf) {
  const Tensor whole = zeros({6}).clone();
  EXPECT_EQ(impl_of(owner_of(whole.slice(0, 2).reshape({2, 2}))), impl_of(whole));
  EXPECT_FALSE(owner_of(whole).defined());
}

TEST(Access, AStretchOfAVectorIsKnownInAnyShape) {
  const Tensor whole = zeros({6}).clone();
  EXPECT_TRUE(shows_stretch(whole.slice(0, 2).reshape({2, 2}), whole, 2));
  EXPECT_TRUE(shows_stretch(whole.slice(0, 0, 4), whole, 0));
}

TEST(Access, ElementsElsewhereOrInAnotherOrderAreNoStretch) {
  const Tensor whole = zeros({6}).clone(), square = whole.slice(0, 2).reshape({2, 2});
  EXPECT_FALSE(shows_stretch(square, whole, 0));
  EXPECT_FALSE(shows_stretch(square.t(), whole, 2));
  EXPECT_FALSE(shows_stretch(whole.slice(0, 0, 6, 2), whole, 0));
  EXPECT_FALSE(shows_stretch(square.clone(), whole, 2));
}

}  // namespace
}  // namespace tenon
