// The table of optimizers says the truth: each can be made by its name, takes the keys of its row and no others, and
// follows every key that it takes. A new row is tested here without a line of its own.

#include "tenon/train/optimizer_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/config_keys.h"
#include "tenon/train/optimizer.h"
#include "tests/error_text.h"

namespace tenon::train {

void PrintTo(const OptimizerRow& row, std::ostream* out) { *out << row.name; }

namespace {

std::vector<OptimizerRow> rows() {
  std::vector<OptimizerRow> all;
  for_each_optimizer([&](const OptimizerRow& row, const auto&) { all.push_back(row); });
  return all;
}

// Keys that not all optimizers read, with a value that is not the default.
struct Setting {
  std::string key, other;
};
const Setting kSettings[] = {{"beta1", "0.5"},    {"beta2", "0.5"},     {"epsilon", "0.5"},
                             {"momentum", "0.5"}, {"nesterov", "true"}, {"alpha", "0.5"}};

class EveryOptimizer : public testing::TestWithParam<OptimizerRow> {
 protected:
  Config config() const {
    Config config;
    set(config, "optimizer.kind=" + std::string(GetParam().name));
    return config;
  }
  bool reads(const std::string& key) const {
    return std::ranges::find(GetParam().reads, key) != GetParam().reads.end();
  }
};

// Two weights after four updates. The gradients first go one way and then a little the other, which even the signs that
// lion takes follow at different times.
std::vector<float> trained(const Config& config) {
  Tensor weights = tensor({{1.0F, -2.0F}}).requires_grad_();
  const auto optimizer = make_optimizer(config, {weights});
  for (const float slope : {3.0F, 3.0F, -0.01F, -0.1F}) {
    (weights * weights * slope).sum().backward();
    optimizer->step();
    optimizer->zero_grad();
  }
  return weights.to_vector<float>();
}

TEST_P(EveryOptimizer, IsMadeByItsName) {
  const std::vector<float> weights = trained(config());
  EXPECT_NE(weights[0], 1);
  EXPECT_NE(weights[1], -2);
}

TEST_P(EveryOptimizer, FollowsTheKeysOfItsRow) {
  for (const Setting& setting : kSettings) {
    if (!reads(setting.key)) continue;
    Config before = config();
    if (setting.key == "nesterov") before.optimizer.momentum = 0.5;
    Config after = before;
    set(after, "optimizer." + setting.key + "=" + setting.other);
    EXPECT_NO_THROW(validate(after)) << setting.key;
    EXPECT_NE(trained(before), trained(after)) << setting.key;
  }
}

TEST_P(EveryOptimizer, TakesNoOtherKeys) {
  for (const Setting& setting : kSettings) {
    if (reads(setting.key)) continue;
    Config other = config();
    set(other, "optimizer." + setting.key + "=" + setting.other);
    const std::string text = text_of([&] { validate(other); });
    EXPECT_NE(text.find("optimizer." + setting.key + " is " + setting.other + ", but acts only when optimizer.kind is"),
              std::string::npos)
        << text;
  }
}

TEST_P(EveryOptimizer, FollowsLearningRateAndWeightDecay) {
  for (const char* setting : {"optimizer.lr=0.5", "optimizer.weight_decay=0.5"}) {
    Config after = config();
    set(after, setting);
    EXPECT_NE(trained(config()), trained(after)) << setting;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer, testing::ValuesIn(rows()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(OptimizerTable, NamesKeysOfTheConfig) {
  for (const OptimizerRow& row : rows()) {
    for (const std::string_view key : row.reads) {
      EXPECT_NE(find_key("optimizer." + std::string(key)), nullptr) << row.name << " " << key;
      EXPECT_TRUE(std::ranges::any_of(kSettings, [&](const Setting& one) { return one.key == key; })) << key;
    }
  }
}

TEST(OptimizerTable, GivesTheTextsOfTheConfig) {
  EXPECT_EQ(find_key("optimizer.beta1")->when.text, "optimizer.kind is adamw, adam or lion");
  EXPECT_EQ(find_key("optimizer.nesterov")->when.text, "optimizer.kind is sgd and optimizer.momentum is above 0");
  EXPECT_EQ(find_key("optimizer.weight_decay")->does,
            "Pull towards 0: adamw and lion take it from the weights, the others add it to the gradient.");
}

}  // namespace
}  // namespace tenon::train
