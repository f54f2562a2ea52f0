// optimizer.average: validation and the finished model are with the means of weights and running statistics, training
// goes on with what they are means of.

#include <gtest/gtest.h>

#include "tenon/models/cnn.h"
#include "tenon/models/gpt2.h"
#include "tenon/train/checkpoint.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Average : public Runs {
 protected:
  Checkpoint last_of(const std::string& run, int64_t steps) const {
    return read_checkpoint(checkpoint_path(path(run) / "checkpoints", steps));
  }
};

TEST_F(Average, TheFinishedModelHasTheMeans) {
  write_digits("digits");
  const TrainResult result =
      train_in("run", tiny_cnn({"optimizer.average=0.5", "training.steps=3", "optimizer.lr=0.05"}));
  const auto net = models::Cnn::load(result.model)->state_dict();
  const Checkpoint last = last_of("run", 3);
  const auto of = [&](const std::string& name) { return last.tensors.at(name).to_vector<float>(); };
  const auto now = [&](const std::string& name) { return net.at(name).to_vector<float>(); };
  EXPECT_NE(now("layers.0.weight"), of("model.layers.0.weight"));
  EXPECT_NE(now("layers.1.running_mean"), of("model.layers.1.running_mean"));
  EXPECT_EQ(now("layers.1.running_mean"), of("step.average.layers.1.running_mean"));
}

TEST_F(Average, LookingAtTheMeansLeavesTrainingAsItWas) {
  write_digits("digits");
  const auto weights_with = [&](const std::string& run, const std::vector<std::string>& settings) {
    train_in(run, tiny_cnn(settings));
    std::map<std::string, std::string> weights;
    for (const auto& [name, content] : traces_of(path(run)).tensors) {
      if (name.starts_with("model.")) weights[name] = content;
    }
    return weights;
  };
  const auto without = weights_with("without", {});
  EXPECT_EQ(weights_with("with", {"optimizer.average=0.9"}), without);
  EXPECT_EQ(weights_with("often", {"optimizer.average=0.9", "training.eval_every=1", "sample.every=3"}), without);
}

// A tied head is a parameter under two names, and no statistic.
TEST_F(Average, OfALanguageModelIsOfItsWeightsAlone) {
  const TrainResult result = train_in("run", tiny({"optimizer.average=0.5", "training.steps=3"}));
  const Checkpoint last = last_of("run", 3);
  for (const auto& [name, tensor] : last.tensors) EXPECT_FALSE(name.starts_with("step.average.")) << name;
  const auto found = models::Gpt2::load(result.model)->state_dict();
  EXPECT_NE(found.at("transformer.wte.weight").to_vector<float>(),
            last.tensors.at("model.transformer.wte.weight").to_vector<float>());
}

TEST_F(Average, IsKeptOrNotForAWholeRun) {
  write_digits("digits");
  train_in("run", tiny_cnn(), {.stop_after = 11});
  EXPECT_NE(refusal("run", tiny_cnn({"optimizer.average=0.9"}), {.resume = true}).find("optimizer.average"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon::train
