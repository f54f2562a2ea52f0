// What a tensor shows to whoever includes tenon.h alone.

#include <gtest/gtest.h>

#include <type_traits>

#include "tenon/tenon.h"

namespace tenon {
namespace {

template <typename T>
concept ShowsItsGraph = requires(const T& tensor) {
  tensor.value();
};
template <typename T>
concept ShowsItsImpl = requires(const T& tensor) {
  tensor.impl();
};
template <typename T>
concept IsMadeOfAnImpl = requires(std::shared_ptr<TensorImpl> impl) {
  T::of(impl);
};
template <typename T>
concept CanBeToldItsRange = requires(T& tensor) {
  tensor.set_known_range(0, 1);
};

TEST(Surface, ATensorShowsNoInternals) {
  EXPECT_FALSE(ShowsItsGraph<Tensor>);
  EXPECT_FALSE(ShowsItsImpl<Tensor>);
  EXPECT_FALSE(IsMadeOfAnImpl<Tensor>);
  EXPECT_FALSE(CanBeToldItsRange<Tensor>);
}

TEST(Surface, ALostDeviceCanBeToldFromOtherErrors) { EXPECT_TRUE((std::is_base_of_v<Error, device::Lost>)); }

}  // namespace
}  // namespace tenon
