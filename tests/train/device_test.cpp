// A run on a GPU's kernels learns what the cpu learns, and goes on after a stop: there bit for bit, or elsewhere.

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
INSTANTIATE_TEST_SUITE_P(Devices, OnDevice, testing::Values("simulated", "opencl", "vulkan", "cuda"),
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

TEST_P(OnDevice, ARunGoesOnOnAnotherDeviceAndSaysSo) {
  Config here = tiny({"training.steps=6", "checkpoint.every=3", "training.eval_every=6", "training.eval_batches=1",
                      "sample.every=0", "sample.tokens=64"});
  const TrainResult on_cpu = train_in("cpu", here);
  for (const bool comes_back : {false, true}) {
    Config first = here, second = here;
    (comes_back ? first : second).device.name = GetParam();
    const std::string folder = comes_back ? "back" : "there";
    EXPECT_TRUE(train_in(folder, first, {.stop_after = 3}).stopped);
    testing::internal::CaptureStderr();
    const TrainResult whole = train_in(folder, second, {.resume = true});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(": was computed on " + first.device.name + " and goes on on " + second.device.name +
                        "; numbers differ in their last bits from those of a run that stayed\n"),
              said.npos)
        << said;
    EXPECT_NEAR(whole.loss, on_cpu.loss, 1e-3);
    EXPECT_EQ(run_config(path(folder)).device.name, second.device.name);
  }
}

}  // namespace
}  // namespace tenon::train
