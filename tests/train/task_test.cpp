// A task that a program brings along is trained like those of the library.

#include "tenon/train/task.h"

#include <gtest/gtest.h>

#include "tenon/data/data_loader.h"
#include "tenon/io/safetensors.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

// y = 3 x + 1, to be found by a line.
class Line : public Task {
 public:
  explicit Line(const Config& config, std::string unit = "points", std::string metric = "slope")
      : unit_(std::move(unit)),
        metric_(std::move(metric)),
        x_(arange(64).to(DType::f32).reshape({64, 1}) / 64.0),
        loader_(data::TensorDataset{x_, x_ * 3 + 1}, {.batch_size = config.training.batch_size, .shuffle = true}) {}

  TaskFacts facts() const override { return {.data = "a line", .unit = unit_, .items = 64}; }
  nn::Module& model() override { return net_; }
  std::vector<Tensor> next_batch() override {
    const auto [x, y] = loader_.next().unpack<2>();
    return {x, y};
  }
  std::string position() const override { return data::to_json(loader_.state()); }
  void go_to(const std::string& position) override { loader_.restore(data::data_loader_state_from_json(position)); }
  Tensor loss(std::span<const Tensor> batch) override {
    EXPECT_TRUE(net_.is_training());
    return nn::mse_loss(net_(batch[0]), batch[1]);
  }
  std::optional<Evaluated> evaluate() override {
    EXPECT_FALSE(net_.is_training());
    const NoGrad reading;
    return Evaluated{nn::mse_loss(net_(x_), x_ * 3 + 1).item<double>(), 64, {{metric_, net_.weight.item<double>()}}};
  }
  TaskSample sample() override { return {.text = "a line", .picture = clamp(net_(x_).detach() / 4, 0, 1)}; }

 private:
  std::string unit_, metric_;
  Tensor x_;
  data::DataLoader loader_;
  nn::Linear net_{1, 1};
};

class OwnTask : public Runs {
 protected:
  static Config line(const std::vector<std::string>& settings = {}) {
    Config config;
    for (const char* setting : {"model.architecture=custom", "training.steps=60", "training.batch_size=16",
                                "training.eval_every=20", "sample.every=30", "checkpoint.every=20", "optimizer.lr=0.2"})
      set(config, setting);
    for (const std::string& setting : settings) set(config, setting);
    return config;
  }
  template <typename... Names>
  static TrainOptions with_task(const Names&... names) {
    return {.task = [=](const Config& config) { return std::make_unique<Line>(config, names...); }};
  }
};

TEST_F(OwnTask, IsTrainedShownAndSaved) {
  const TrainResult result = train_in("run", line(), with_task());
  EXPECT_EQ(result.unit, "points");
  EXPECT_LT(*result.validation_loss, 0.01);
  EXPECT_NEAR(result.validation_metrics.at(0).second, 3, 0.4);
  const auto saved = io::load_safetensors(result.model / "model.safetensors").tensors;
  EXPECT_NEAR(saved.at("weight").item<double>(), result.validation_metrics.at(0).second, 1e-6);
  EXPECT_TRUE(fs::exists(path("run") / "samples/step_00000030.png"));
  EXPECT_NE(io::content_of(result.report).find("Validation slope"), std::string::npos);
}

// Says what it is told to instead of a batch.
class WithoutData : public Line {
 public:
  WithoutData(const Config& config, std::vector<Tensor> batch) : Line(config), batch_(std::move(batch)) {}
  std::vector<Tensor> next_batch() override { return batch_; }

 private:
  std::vector<Tensor> batch_;
};

TEST_F(OwnTask, MustGiveTensorsInEveryBatch) {
  const auto says = [&](const std::string& folder, const std::vector<Tensor>& batch) {
    const TrainOptions options{
        .task = [&](const Config& config) { return std::make_unique<WithoutData>(config, batch); }};
    return text_of([&] { train_in(folder, line(), options); });
  };
  EXPECT_EQ(says("none", {}), "[train] step 1: the task's next_batch() gave no tensors");
  EXPECT_EQ(says("undefined", {ones({16, 1}), Tensor()}),
            "[train] step 1: tensor 1 of the task's next_batch() is undefined");
}

TEST_F(OwnTask, GoesOnBitForBit) {
  train_in("whole", line(), with_task());
  TrainOptions options = with_task();
  options.stop_after = 25;
  train_in("parts", line(), options);
  options = with_task();
  options.resume = true;
  train_in("parts", line(), options);
  EXPECT_EQ(difference(traces_of(path("whole")), traces_of(path("parts"))), "");
}

TEST_F(OwnTask, NeedsAnArchitectureOfItsOwnAndAProgram) {
  EXPECT_EQ(refusal("run", line()),
            "[train] model.architecture is custom; only a program can train that, by giving train() a task; take gpt2, "
            "llama, bert, cnn or resnet");
  EXPECT_EQ(refusal("run", tiny(), with_task()),
            "[train] model.architecture is gpt2; a task was given, which needs custom");
  EXPECT_EQ(refusal("run", line(), {.task = [](const Config&) { return nullptr; }}),
            "[train] the function that makes the task gave none");
}

TEST_F(OwnTask, NamesAreWords) {
  EXPECT_EQ(refusal("run", line(), with_task("Data points")),
            "[train] the unit of the task is called \"Data points\"; take a word of small letters, digits and _");
  EXPECT_EQ(refusal("run", line(), with_task("points", "R²")),
            "[train] a metric of the task is called \"R²\"; take a word of small letters, digits and _");
}

TEST(TaskDocs, HaveTheExampleThatIsCompiled) {
  const std::string page = io::content_of(TENON_SOURCE_DIR "/docs/tasks.md"),
                    example = io::content_of(TENON_SOURCE_DIR "/examples/own_task.cpp");
  ASSERT_FALSE(example.empty());
  EXPECT_NE(page.find("```cpp\n" + example + "```\n"), page.npos)
      << "put examples/own_task.cpp into docs/tasks.md again";
}

}  // namespace
}  // namespace tenon::train
