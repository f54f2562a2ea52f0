// Points in a device's work, and values that are sent ahead.

#include "tenon/tensor/event.h"

#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

TEST(Event, WaitsForWhatWasStartedBeforeIt) {
  for (const char* device : {"cpu", "remote"}) {
    const Tensor x = rand({64, 64}, Options(Device(device)));
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = matmul(y, x) / 32;
    eval({y});
    const Event started{Device(device)};
    started.synchronize();
    EXPECT_TRUE(started.is_done()) << device;
    EXPECT_EQ(started.device(), Device(device));
    EXPECT_TRUE(y.is_evaluated());
    synchronize(started);  // again: it stays done
  }
}

TEST(Event, ThrowsWhatWentWrongBeforeIt) {
  const Device remote("remote");
  const Tensor table = ones({4}, Options(remote)), places = full({2}, 9, Options(DType::i64, remote));
  const Tensor taken = gather(table, 0, places);
  eval({taken});
  const Event event{remote};
  EXPECT_NE(text_of([&] { event.synchronize(); }).find("9"), std::string::npos);
}

TEST(Prefetch, SendsAValueAheadOfItsUse) {
  const Tensor x = arange(6).reshape({2, 3}) * 2;
  const Tensor there = prefetch(x, Device("remote"));
  EXPECT_EQ(there.device(), Device("remote"));
  EXPECT_TRUE(there.is_evaluated());
  EXPECT_EQ(there.to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 4, 6, 8, 10}));
  EXPECT_TRUE(prefetch(x, Device("cpu")).is_evaluated());
}

}  // namespace
}  // namespace tenon
