// A run that was stopped and goes on ends with the same bits as one that was never stopped: weights, moments, counters,
// metrics, samples. So does one that is replayed instead of recorded at every step, and one that is run twice.

#include <gtest/gtest.h>

#include "tests/train/runs.h"

namespace tenon::train {
namespace {

struct ResumeCase {
  std::string name;
  std::vector<std::string> settings;
  bool is_tuned = false;  // starts from a model's folder
};
void PrintTo(const ResumeCase& one, std::ostream* out) { *out << one.name; }

class Resume : public Runs, public testing::WithParamInterface<ResumeCase> {
 protected:
  Config config() {
    Config config = tiny();
    if (GetParam().is_tuned) {
      config.model = {};
      config.model.init_from = small_gpt2().string();
    }
    for (const std::string& setting : GetParam().settings) set(config, setting);
    return config;
  }
};

TEST_P(Resume, GoesOnBitForBit) {
  const Config wanted = config();
  const int64_t half = wanted.training.steps / 2 + 1;  // between two lines of metrics, whose mean spans the stop
  const Traces whole = trained("whole", wanted);
  EXPECT_TRUE(train_in("parts", wanted, {.stop_after = half}).stopped);
  EXPECT_FALSE(train_in("parts", wanted, {.resume = true}).stopped);
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Resume,
    testing::Values(
        ResumeCase{"f32", {"training.steps=100", "training.eval_every=25"}}, ResumeCase{"bf16", {"training.precision=bf16"}},
        ResumeCase{"f16", {"training.precision=f16", "training.steps=40"}},
        ResumeCase{"shuffled",
             {"data.order=shuffled", "data.validation_fraction=0.5", "training.batch_size=64"}},  // 2 epochs
        ResumeCase{"sequential", {"data.order=sequential"}}, ResumeCase{"micro_batches", {"training.micro_batches=2"}},
        ResumeCase{"uncaptured", {"training.capture=false"}},
        ResumeCase{"masked_lm", {"training.method=masked_lm", "sample.every=0", "sample.tokens=64"}},
        ResumeCase{"llama", {"model.architecture=llama", "model.dropout=0", "model.kv_heads=1"}},
        ResumeCase{"plateau",
             {"schedule.kind=plateau", "schedule.patience=0", "schedule.gamma=0.5", "training.eval_every=2",
              "optimizer.lr=0.1", "schedule.warmup_steps=15"}},
        ResumeCase{"one_cycle", {"schedule.kind=one_cycle"}}, ResumeCase{"sgd", {"optimizer.kind=sgd", "optimizer.momentum=0.9"}},
        ResumeCase{"lion", {"optimizer.kind=lion", "optimizer.lr=1e-4"}},
        ResumeCase{"finetune", {"training.mode=finetune", "model.dropout=0.1"}, true},
        ResumeCase{"lora", {"training.mode=lora", "training.lora_dropout=0.1", "optimizer.lr=0.01"}, true}),
    [](const auto& one) { return one.param.name; });

class Repeated : public Runs {};

TEST_F(Repeated, SameConfigSameBits) { EXPECT_EQ(difference(trained("one", tiny()), trained("two", tiny())), ""); }

TEST_F(Repeated, OtherSeedOtherBits) {
  EXPECT_NE(difference(trained("one", tiny()), trained("two", tiny({"training.seed=2"}))), "");
}

TEST_F(Repeated, ReplayedAndRecordedAnewAreTheSame) {
  for (const char* precision : {"f32", "f16"}) {
    const std::string chosen = std::string("training.precision=") + precision, name = precision;
    EXPECT_EQ(
        difference(trained(name + "1", tiny({chosen})), trained(name + "2", tiny({chosen, "training.capture=false"}))),
        "")
        << precision;
  }
}

TEST_F(Repeated, ReadingAheadChangesNothing) {
  EXPECT_EQ(difference(trained("one", tiny()), trained("two", tiny({"data.prefetch=false"}))), "");
}

TEST_F(Repeated, WatchingMoreCloselyChangesNoWeight) {
  const Traces seldom = trained("one", tiny()),
               often = trained("two", tiny({"training.log_every=1", "training.eval_every=2", "sample.every=3"}));
  EXPECT_EQ(seldom.tensors.at("model.transformer.wte.weight"), often.tensors.at("model.transformer.wte.weight"));
}

TEST_F(Repeated, StoppingOftenChangesNothing) {
  const Traces whole = trained("whole", tiny());
  train_in("parts", tiny(), {.stop_after = 1});
  for (const int64_t stop : {2, 5, 6, 13, 19}) train_in("parts", tiny(), {.resume = true, .stop_after = stop});
  train_in("parts", tiny(), {.resume = true});
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
}

}  // namespace
}  // namespace tenon::train
