// A run on a GPU's kernels learns what the cpu learns, and goes on bit for bit after a stop.

#include <gtest/gtest.h>

#include "tenon/device/registry.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class OnDevice : public Runs, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    for (const device::Absent& one : device::absent()) {
      if (one.name == GetParam()) GTEST_SKIP() << one.why;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::Values("simulated", "opencl", "cuda"),
                         [](const auto& row) { return row.param; });

TEST_P(OnDevice, TrainsAsOnTheCpuAndGoesOnBitForBit) {
  const std::vector<std::string> settings = {"training.steps=12",  "training.eval_every=6", "training.eval_batches=1",
                                             "checkpoint.every=6", "sample.every=0",        "sample.tokens=64"};
  Config here = tiny(settings);
  const TrainResult on_cpu = train_in("cpu", here);
  here.device.name = GetParam();
  const TrainResult whole = train_in("whole", here);
  EXPECT_NEAR(whole.loss, on_cpu.loss, 1e-3);
  ASSERT_TRUE(whole.validation_loss);
  EXPECT_NEAR(*whole.validation_loss, *on_cpu.validation_loss, 1e-3);
  EXPECT_TRUE(train_in("parts", here, {.stop_after = 7}).stopped);
  train_in("parts", here, {.resume = true});
  EXPECT_EQ(difference(traces_of(path("whole")), traces_of(path("parts"))), "");
}

}  // namespace
}  // namespace tenon::train
