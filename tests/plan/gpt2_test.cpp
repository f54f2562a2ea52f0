// DESIGN.md's worked example: how many kernels a training step of GPT-2 takes, and that planning is linear.

#include "tests/plan/gpt2.h"

#include <gtest/gtest.h>

#include "tenon/plan/plan.h"
#include "tenon/tensor/access.h"
#include "tests/plan_check.h"

namespace tenon {
namespace {

using testing::Gpt2;
using testing::Gpt2Config;

Gpt2Config small(int64_t layers) {
  Gpt2Config config;
  config.layers = layers;
  config.width = 96;
  config.context = 64;
  config.vocabulary = 256;
  config.batch = 2;
  return config;
}

plan::Plan plan_of(const Gpt2Config& config) {
  plan::Request request;
  for (const Tensor& output : testing::step(Gpt2(config, Device("null")))) request.outputs.push_back(value_of(output));
  request.may_overwrite = [](const ir::Node&) { return true; };
  plan::Plan plan = plan::make_plan(request);
  return plan;
}

size_t launches(const Gpt2Config& config) { return plan_of(config).launches.size(); }

size_t launches_per_layer(Gpt2Config config) {
  config.layers = 1;
  const size_t one = launches(config);
  config.layers = 2;
  return launches(config) - one;
}

TEST(Gpt2Plan, ALayerTakesTwentyTwoKernels) { EXPECT_LE(launches_per_layer(small(1)), 22u); }

TEST(Gpt2Plan, DropoutTakesNoKernelOfItsOwn) {
  Gpt2Config config = small(1);
  config.dropout = 0.1;
  EXPECT_LE(launches_per_layer(config), 22u);
}

TEST(Gpt2Plan, AutocastTakesNoMoreThanTheDesignSays) {
  Gpt2Config config = small(1);
  config.autocast = true;
  EXPECT_LE(launches_per_layer(config), 24u);  // 22, and 2 for gelu where a product has one result
  config.dropout = 0.1;
  EXPECT_LE(launches_per_layer(config), 24u);
}

TEST(Gpt2Plan, NothingIsOverwrittenThatIsStillRead) {
  for (const bool autocast : {false, true}) {
    Gpt2Config config = small(2);
    config.autocast = config.clips = autocast;
    config.micro_batches = 2;
    EXPECT_EQ(test::fault_in(plan_of(config)), "");
  }
}

TEST(Gpt2Plan, MicroBatchesDoNotKeepEachOthersActivations) {
  Gpt2Config config = small(6);
  config.batch = 16;  // activations outweigh gradients
  const size_t one = plan_of(config).peak_live_bytes;
  config.micro_batches = 4;
  EXPECT_LE(static_cast<double>(plan_of(config).peak_live_bytes), 1.5 * static_cast<double>(one));
}

TEST(Gpt2Plan, AllLayersAreAlike) {
  const size_t one = launches(small(1)), two = launches(small(2));
  EXPECT_EQ(launches(small(12)), one + 11 * (two - one));
}

TEST(Gpt2Plan, DistinctKernelsDoNotGrowWithTheLayers) {
  for (const bool autocast : {false, true}) {
    for (const double dropout : {0.0, 0.1}) {
      Gpt2Config config = small(12);
      config.autocast = autocast;
      config.dropout = dropout;
      config.clips = true;
      const size_t twelve = plan_of(config).kernels.size();
      EXPECT_LE(twelve, 43u) << autocast << dropout;
      config.layers = 48;
      EXPECT_EQ(plan_of(config).kernels.size(), twelve) << autocast << dropout;
    }
  }
}

TEST(Gpt2Plan, OutsideTheLayersAreFewKernels) {
  const size_t one = launches(small(1)), two = launches(small(2));
  EXPECT_LE(one - (two - one), 18u);
}

TEST(Gpt2Plan, MicroBatchesTakeTheKernelsOfOneEach) {
  Gpt2Config config = small(2);
  const size_t one = launches(config);
  config.micro_batches = 4;
  EXPECT_LE(launches(config), 4 * one);
}

// A layer's kernels per micro-batch, in every combination of the worked example.
TEST(Gpt2Plan, ALayerTakesNoMoreInAnyCombination) {
  for (const bool autocast : {false, true}) {
    for (const double dropout : {0.0, 0.1}) {
      for (const bool clips : {false, true}) {
        for (const int64_t micro_batches : {1, 4}) {
          Gpt2Config config = small(1);
          config.autocast = autocast;
          config.dropout = dropout;
          config.clips = clips;
          config.micro_batches = micro_batches;
          const size_t one = launches(config);
          config.layers = 2;
          const size_t two = launches(config);
          config.layers = 12;
          const size_t twelve = launches(config), limit = autocast ? 24 : 22;
          const size_t split = clips ? 1 : 0;  // the norm of two layers' weights is large enough to be split in two
          EXPECT_LE(two - one, limit * static_cast<size_t>(micro_batches) + split)
              << autocast << dropout << clips << micro_batches;
          EXPECT_LE(twelve - two, 10 * limit * static_cast<size_t>(micro_batches))
              << autocast << dropout << clips << micro_batches;
        }
      }
    }
  }
}

TEST(Gpt2Plan, ClippingAddsTwoKernels) {
  Gpt2Config config = small(2);
  const size_t plain = launches(config);
  config.clips = true;
  EXPECT_LE(launches(config), plain + 2);
}

TEST(Gpt2Plan, StateIsUpdatedWhereItLies) {
  for (const bool autocast : {false, true}) {
    Gpt2Config config = small(2);
    config.autocast = autocast;
    const plan::Plan plan = plan_of(config);
    size_t in_place = 0;
    for (const uint32_t leaf : plan.overwritten) in_place += leaf != plan::Plan::kNone;
    EXPECT_EQ(in_place, autocast ? 7u : 6u) << plan.print();  // masters, moments, and the shadow of the matrices
    EXPECT_EQ(plan.results.size(), in_place + 1);             // the loss is the only new memory
    EXPECT_EQ(plan.print().find("store "), std::string::npos) << plan.print();
  }
}

TEST(Gpt2Plan, GradientsOfMicroBatchesAreAddedInOnePlace) {
  Gpt2Config config = small(12);
  config.width = 192;
  config.batch = 1;
  config.context = 16;  // gradients outweigh activations
  const size_t one = plan_of(config).peak_live_bytes;
  config.micro_batches = 4;  // from the second on, what is kept lies beside gradients instead of where they will lie
  EXPECT_LE(static_cast<double>(plan_of(config).peak_live_bytes), 1.15 * static_cast<double>(one));
}

TEST(Gpt2Plan, LogitsLieWhereGradientsOfLayersWill) {
  Gpt2Config config = small(6);
  config.width = 192;
  config.vocabulary = 8192;
  config.batch = 1;
  const size_t logits = 64 * 8192 * 4, weights = (8192 + 64 + 6 * 12 * 192) * 192 * 4;  // without vectors
  const plan::Plan plan = plan_of(config);
  EXPECT_LT(plan.arena_bytes, weights + logits / 4) << plan.memory();
}

TEST(Gpt2Plan, ThePlannedPeakIsNearTheLiveBytes) {
  for (const int64_t layers : {2, 6}) {
    Gpt2Config config = small(layers);
    config.width = 192;
    config.context = 128;
    config.vocabulary = 1024;
    const plan::Plan plan = plan_of(config);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.05 * static_cast<double>(plan.peak_live_bytes)) << layers;
  }
}

TEST(Gpt2Plan, AStepPassesTheDeviceThatChecksEveryCommand) {
  for (const int64_t layers : {1, 2, 12}) {
    for (const bool autocast : {false, true}) {
      for (const int64_t micro_batches : {1, 4}) {
        Gpt2Config config = small(layers);
        config.autocast = autocast;
        config.dropout = 0.1;
        config.clips = true;
        config.micro_batches = micro_batches;
        const Gpt2 model(config, Device("null"));
        for (int step = 0; step < 2; ++step) EXPECT_NO_THROW(eval(testing::step(model))) << layers << autocast;
      }
    }
  }
}

}  // namespace
}  // namespace tenon
