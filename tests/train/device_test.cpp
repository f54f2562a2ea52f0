// A run on a GPU's kernels learns what the cpu learns, and goes on after a stop: there bit for bit, or elsewhere.

#include <gtest/gtest.h>

#include "tenon/backends/cpu/cpu_device.h"
#include "tenon/device/registry.h"
#include "tenon/train/game_run.h"
#include "tenon/watch/metrics.h"
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

TEST_P(OnDevice, InF16ItGoesOnWithItsLossScale) {
  if (GetParam() == "vulkan")
    GTEST_SKIP() << "lavapipe of Mesa 22.3 ends the process while it compiles a kernel of f16";
  Config here = tiny({"training.steps=6", "training.precision=f16", "training.log_every=1", "training.eval_every=0",
                      "training.eval_batches=0", "checkpoint.every=3", "sample.every=0", "sample.tokens=64"});
  here.device.name = GetParam();
  train_in("whole", here);
  const std::vector<watch::StepMetrics> seen = watch::read_metrics(path("whole") / "metrics.jsonl");
  ASSERT_EQ(seen.size(), 6u);
  for (const watch::StepMetrics& one : seen) EXPECT_GE(one.loss_scale.value_or(0), 1) << one.step;
  EXPECT_TRUE(train_in("parts", here, {.stop_after = 3}).stopped);
  train_in("parts", here, {.resume = true});
  EXPECT_EQ(difference(traces_of(path("whole")), traces_of(path("parts"))), "");
}

// An odd vocabulary, which devices with tf32 round up.
class WithoutTf32 : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, WithoutTf32, testing::Values("cpu", "simulated", "opencl", "vulkan"),
                         [](const auto& row) { return row.param; });

TEST_P(WithoutTf32, ItIsF32BitForBitAndSaysSo) {
  Config here = tiny({"training.steps=3", "training.log_every=1", "model.vocabulary=401", "training.eval_every=0",
                      "training.eval_batches=0", "checkpoint.every=3", "sample.every=0", "sample.tokens=64"});
  here.device.name = GetParam();
  train_in("f32", here);
  here.training.precision = "tf32";
  const std::string text = said("tf32", here);
  EXPECT_NE(text.find(", f32 (" + GetParam() + " has no tf32), "), text.npos) << text;
  EXPECT_EQ(difference(traces_of(path("f32")), traces_of(path("tf32"))), "");
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

// A device that `auto` chooses first, with buffers of at most 4 KiB.
ir::DeviceId small_device() {
  static const ir::DeviceId id = [] {
    ir::Limits limits;
    limits.max_binding = 4 << 10;
    device::Backend backend{"small", [limits] { return backends::cpu::open_with(limits); }};
    backend.preference = 9;
    return device::add(std::move(backend));
  }();
  return id;
}

TEST_F(Runs, AutoPassesOverADeviceThatCannotHoldTheModel) {
  const ir::DeviceId small = small_device();
  EXPECT_EQ(device::choose().id, small);
  EXPECT_EQ(device::choose().why, "it is the first choice");
  const device::PassedOver passed_over[] = {{"small", "is small"}};
  const ir::DeviceId next = device::choose(passed_over).id;
  EXPECT_NE(next, small);
  EXPECT_FALSE(device::is_for_tests(next)) << next.name;

  Config automatic = tiny({"training.steps=2", "sample.every=0", "sample.tokens=64", "device.name=auto"});
  const std::string text = said("automatic", automatic);
  EXPECT_TRUE(text.starts_with("device: small (device.name is auto: it is the first choice)\n")) << text;
  EXPECT_NE(text.find("device.name is auto: small cannot hold the model ([memory] "), text.npos) << text;
  EXPECT_NE(run_config(path("automatic")).device.name, "small");
  EXPECT_EQ(run_config(path("automatic")).device.name, next.name);

  // Where it was asked for, it is not passed over.
  automatic.device.name = "small";
  EXPECT_NE(refusal("asked for", automatic).find("the device takes no single buffer above 4096"), std::string::npos);
}

TEST_F(Runs, GamesPassOverADeviceThatCannotHoldTheNetwork) {
  small_device();
  rl::DqnConfig config;
  config.device = "auto";
  config.episodes = 4;
  config.evaluation_games = 1;
  std::FILE* const out = std::tmpfile();
  train_game(config, {.folder = path("large"), .out = out});
  std::rewind(out);
  std::string text;
  for (int letter = std::fgetc(out); letter != EOF; letter = std::fgetc(out)) text += static_cast<char>(letter);
  std::fclose(out);
  EXPECT_TRUE(text.starts_with("device: small (device.name is auto: it is the first choice)\n")) << text;
  EXPECT_NE(text.find("device.name is auto: small cannot hold the model ([memory] "), text.npos) << text;
  EXPECT_NE(game_run_config(path("large")).device, "small");

  config.learner = "tuples";
  EXPECT_EQ(rl::device_of(config).name(), "cpu");  // tables are looked up on the host
}

}  // namespace
}  // namespace tenon::train
