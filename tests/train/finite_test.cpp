// A loss that is not finite stops the run with the step, the op and the module; what is on disk is from before.

#include <gtest/gtest.h>

#include <limits>

#include "tenon/io/safetensors.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/checkpoint.h"
#include "tenon/watch/metrics.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Finite : public Runs {
 protected:
  /// A rate at which the weights grow until something overflows.
  Config exploding(const std::vector<std::string>& settings = {}) const {
    Config config = tiny({"optimizer.kind=sgd", "optimizer.lr=30", "training.clip_norm=0", "training.steps=60",
                          "schedule.kind=constant", "checkpoint.every=1", "training.log_every=7"});
    for (const std::string& setting : settings) set(config, setting);
    return config;
  }
  /// The step that a refusal names.
  static int64_t step_in(const std::string& text) {
    const std::string start = "[train] step ";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.starts_with(start) ? std::stoll(text.substr(start.size())) : -1;
  }
  void expect_good_weights(const fs::path& checkpoint) {
    for (const auto& [name, tensor] : read_checkpoint(checkpoint).tensors) {
      EXPECT_TRUE(!is_float(tensor.dtype()) || isfinite(tensor).all().item<bool>()) << name;
    }
  }
};

TEST_F(Finite, StopsWithStepOpAndModule) {
  const std::string text = refusal("run", exploding());
  EXPECT_NE(text.find("the loss or its gradients are not finite: ["), text.npos) << text;
  EXPECT_NE(text.find("made the first NaN"), text.npos) << text;
  EXPECT_NE(text.find("(in transformer."), text.npos) << text;
  EXPECT_TRUE(text.ends_with("lower optimizer.lr, clip gradients, or use another precision")) << text;
  const std::vector<int64_t> steps = checkpoint_steps(path("run") / "checkpoints");
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(step_in(text), steps.back() + 1);  // the first bad step, with the one before it on disk
  EXPECT_NE(text.find(fmt::format("the last checkpoint is of step {}", steps.back())), text.npos) << text;
  expect_good_weights(checkpoint_path(path("run") / "checkpoints", steps.back()));
}

TEST_F(Finite, NamesTheSameStepHoweverSeldomItLooks) {
  const std::string often = refusal("often", exploding()),
                    seldom = refusal("seldom",
                                     exploding({"checkpoint.every=0", "training.log_every=60", "training.eval_every=0",
                                                "training.eval_batches=0", "sample.every=0", "sample.tokens=64"}));
  EXPECT_EQ(step_in(often), step_in(seldom));
  EXPECT_NE(seldom.find("there is no checkpoint yet"), seldom.npos) << seldom;
}

TEST_F(Finite, NamesTheSameStepAfterAResume) {
  const Config config = exploding({"training.log_every=60", "training.eval_every=0", "training.eval_batches=0"});
  const std::string whole = refusal("whole", config);
  ASSERT_GT(step_in(whole), 2);
  train_in("parts", config, {.stop_after = step_in(whole) - 2});
  EXPECT_EQ(step_in(refusal("parts", config, {.resume = true})), step_in(whole));
}

TEST_F(Finite, MicroBatchesAndLowerPrecisionsAreExplainedToo) {
  for (const char* setting : {"training.micro_batches=2", "training.precision=bf16", "training.precision=f16"}) {
    const std::string text = refusal(setting, exploding({setting}));
    EXPECT_GT(step_in(text), 1) << text;
    EXPECT_NE(text.find("not finite: "), text.npos) << setting << ": " << text;
    EXPECT_NE(text.find("transformer."), text.npos) << setting << ": " << text;
  }
}

TEST_F(Finite, NothingBadIsEverSaved) {
  const std::string text = refusal(
      "run", exploding({"checkpoint.every=60", "training.log_every=60", "training.eval_every=60", "sample.every=60"}));
  EXPECT_GT(step_in(text), 0);
  EXPECT_TRUE(checkpoint_steps(path("run") / "checkpoints").empty());
}

TEST_F(Finite, GoesOnWhereItIsToldTo) {
  EXPECT_EQ(train_in("run", exploding({"training.check_finite=false"})).step, 60);
  EXPECT_FALSE(std::isfinite(watch::read_metrics(path("run") / "metrics.jsonl").back().loss));
}

TEST_F(Finite, ModelThatIsBrokenFromTheStart) {
  Config config = tiny();
  config.model = {};
  config.model.init_from = small_gpt2().string();
  set(config, "training.mode=finetune");
  const fs::path file = path("gpt2") / "model.safetensors";
  io::SafetensorsFile model = io::load_safetensors(file);
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : model.tensors) {
    const bool breaks = name.find("mlp.c_fc.weight") != name.npos;
    tensors[name] = (breaks ? full_like(tensor, std::numeric_limits<double>::infinity()) : tensor.clone()).eval();
  }
  io::save_safetensors(file, tensors, {{"format", "pt"}});
  const std::string text = refusal("run", config);
  EXPECT_EQ(step_in(text), 1);
  EXPECT_NE(text.find("(in transformer.h.0.mlp"), text.npos) << text;
}

TEST_F(Finite, LossScaleTakesOverflowsAsTheyCome) {
  // The first scale, 65536, is too high for some gradients; it is halved, and the run goes on.
  const TrainResult result = train_in(
      "run", tiny({"training.precision=f16", "training.log_every=1", "optimizer.lr=0.1", "training.steps=40"}));
  EXPECT_EQ(result.step, 40);
  for (const watch::StepMetrics& metrics : watch::read_metrics(path("run") / "metrics.jsonl")) {
    EXPECT_TRUE(std::isfinite(metrics.loss));
    EXPECT_TRUE(metrics.loss_scale.has_value());
  }
}

TEST_F(Finite, MaskedBatchWithoutAMaskStillHasALoss) {
  const Config config = tiny({"training.method=masked_lm", "training.mask_fraction=0.001", "sample.every=0",
                              "sample.tokens=64", "training.batch_size=1", "training.log_every=1"});
  EXPECT_EQ(train_in("run", config).step, 20);
}

}  // namespace
}  // namespace tenon::train
