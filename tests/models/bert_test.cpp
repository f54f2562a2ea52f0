// BERT against what transformers computed for tiny ones (tests/golden/bert, recorded by scripts/record_bert.py), and
// its files.

#include "tenon/models/bert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tenon/io/hugging_face.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon::models {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

const fs::path kRecorded = TENON_SOURCE_DIR "/tests/golden/bert";

double largest_of(const Tensor& x) { return x.numel() == 0 ? 0 : x.to(float64).abs().max().item<double>(); }

/// By the largest element.
void expect_recorded(const std::string& name, const Tensor& ours, const Tensor& expected) {
  ASSERT_EQ(ours.shape(), expected.shape()) << name;
  EXPECT_LE(largest_of(ours.to(float64) - expected.to(float64)), 1e-5 * std::max(largest_of(expected), 1e-2)) << name;
}

struct Recorded {
  explicit Recorded(const std::string& name)
      : tensors(io::load_safetensors(kRecorded / (name + ".safetensors")).tensors),
        tokens{tensors.at("ids"), tensors.at("mask"), tensors.at("types")} {}
  Tensors tensors;
  BertTokens tokens;
};

class BertGolden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, BertGolden, testing::Values("masked_lm", "classifier"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(BertGolden, ComputesWhatTransformersDoes) {
  const std::string name = GetParam();
  const Recorded recorded(name);
  const auto model = Bert::load(kRecorded / name);
  expect_recorded("states", (*model)(recorded.tokens), recorded.tensors.at("states"));
  expect_recorded("logits", model->logits(recorded.tokens), recorded.tensors.at("logits"));
  if (name == "classifier") expect_recorded("pooled", model->pooled(recorded.tokens), recorded.tensors.at("pooled"));
}

TEST_P(BertGolden, ItsGradientsAreThoseOfTransformers) {
  const std::string name = GetParam();
  const Recorded recorded(name);
  const auto model = Bert::load(kRecorded / name);
  Tensor loss = model->loss(recorded.tokens, recorded.tensors.at("targets"));
  loss.backward();
  expect_recorded("loss", loss.reshape({1}), recorded.tensors.at("loss"));
  size_t compared = 0;
  for (const auto& [key, parameter] : model->named_parameters()) {
    const auto expected = recorded.tensors.find("grad." + key);
    ASSERT_NE(expected, recorded.tensors.end()) << key;
    expect_recorded(key, parameter.grad(), expected->second);
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<size_t>(std::ranges::count_if(
                          recorded.tensors, [](const auto& one) { return one.first.starts_with("grad."); })));
}

class BertFiles : public testing::Test {
 protected:
  BertFiles() { fs::create_directories(folder_); }
  ~BertFiles() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::temp_directory_path() / fmt::format("tenon_bert_{}", ::getpid());
};

TEST_F(BertFiles, ComeBackAsTheyWere) {
  for (const std::string name : {"masked_lm", "classifier"}) {
    const Recorded recorded(name);
    const auto model = Bert::load(kRecorded / name);
    model->save(folder_ / name);
    const auto again = Bert::load(folder_ / name);
    EXPECT_EQ(again->config().to_json(), model->config().to_json());
    const auto theirs = io::load_safetensors(kRecorded / name / "model.safetensors").tensors;
    const auto ours = io::load_safetensors(folder_ / name / "model.safetensors").tensors;
    ASSERT_EQ(ours.size(), theirs.size());
    for (const auto& [key, tensor] : theirs) EXPECT_EQ(largest_of(ours.at(key) - tensor), 0) << key;
    EXPECT_EQ(largest_of(again->logits(recorded.tokens) - model->logits(recorded.tokens)), 0);
  }
}

TEST_F(BertFiles, OldNamesOfNormsAndOfTheModelAloneAreRead) {
  const io::HuggingFaceFolder files = io::load_folder(kRecorded / "masked_lm");
  Tensors old;
  for (const auto& [name, tensor] : files.tensors) {
    std::string renamed = name.starts_with("bert.") ? name.substr(5) : name;
    if (const size_t at = renamed.find("LayerNorm.weight"); at != renamed.npos)
      renamed.replace(at, 16, "LayerNorm.gamma");
    if (const size_t at = renamed.find("LayerNorm.bias"); at != renamed.npos) renamed.replace(at, 14, "LayerNorm.beta");
    old[renamed] = tensor;
  }
  io::save_folder(folder_, files.config, old);
  const Recorded recorded("masked_lm");
  expect_recorded("logits", Bert::load(folder_)->logits(recorded.tokens), recorded.tensors.at("logits"));
}

TEST_F(BertFiles, AnotherHeadHasNewWeights) {
  const Recorded recorded("masked_lm");
  const auto model = Bert::load(kRecorded / "masked_lm", {.head = BertHead::classifier, .labels = {"no", "yes"}});
  expect_recorded("states", (*model)(recorded.tokens), recorded.tensors.at("states"));
  EXPECT_EQ(model->logits(recorded.tokens).shape(), (Dims{3, 2}));
  EXPECT_EQ(model->config().labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(Bert::load(kRecorded / "classifier", {.labels = {"no", "yes"}})->logits(recorded.tokens).shape(),
            (Dims{3, 2}));
}

BertConfig small() {
  BertConfig config;
  config.vocabulary = 20;
  config.positions = 8;
  config.width = 8;
  config.layers = 1;
  config.heads = 2;
  config.inner = 16;
  return config;
}

TEST(BertModelTest, PaddingChangesNothing) {
  manual_seed(1);
  BertConfig config = small();
  config.head = BertHead::classifier;
  Bert model(config);
  model.eval();
  const Tensor shorter = tensor({{5, 6, 7}}, int64), longer = tensor({{5, 6, 7, 0, 0}}, int64);
  const Tensor mask = tensor({{1, 1, 1, 0, 0}}, int64);
  EXPECT_LE(largest_of(model.logits({shorter}) - model.logits({longer, mask})), 1e-6);
  EXPECT_LE(largest_of(model.embedding({shorter}) - model.embedding({longer, mask})), 1e-6);
  EXPECT_GT(largest_of(model.embedding({shorter}) - model.embedding({longer})), 1e-4);
}

TEST(BertModelTest, TokensOfASecondTextAreOtherTokens) {
  manual_seed(1);
  Bert model(small());
  model.eval();
  const Tensor ids = tensor({{5, 6, 7}}, int64);
  EXPECT_EQ(largest_of(model.logits({ids}) - model.logits({ids, {}, zeros({1, 3}, int64)})), 0);
  EXPECT_GT(largest_of(model.logits({ids}) - model.logits({ids, {}, ones({1, 3}, int64)})), 1e-4);
}

TEST(BertModelTest, DropoutActsInTrainingOnly) {
  manual_seed(1);
  Bert model(small());
  const Tensor ids = tensor({{5, 6, 7}}, int64);
  EXPECT_GT(largest_of(model.logits({ids}) - model.logits({ids})), 1e-4);
  model.eval();
  EXPECT_EQ(largest_of(model.logits({ids}) - model.logits({ids})), 0);
}

TEST(BertModelTest, MistakesAreNamed) {
  Bert model(small());
  EXPECT_EQ(text_of([&] {
              model.logits({zeros({1, 9}, int64)});
            }),
            "[bert] a text has 9 tokens, the model reads 8 at most");
  EXPECT_EQ(text_of([&] {
              model.logits({zeros({1, 3}, int64), ones({1, 4}, int64)});
            }),
            "[bert] the mask is (1, 4), the ids are (1, 3)");
  EXPECT_EQ(text_of([&] {
              model.pooled({zeros({1, 3}, int64)});
            }),
            "[bert] with the head of masked words there is no pooler; load the model with another head");
  BertConfig config = small();
  config.heads = 3;
  EXPECT_EQ(text_of([&] { Bert wrong(config); }), "[bert] a width of 8 cannot be divided among 3 heads");
}

TEST(BertConfigTest, IsThatOfItsJson) {
  BertConfig config = small();
  config.head = BertHead::classifier;
  config.labels = {"a", "b", "c"};
  config.classifier_dropout = 0.25;
  EXPECT_EQ(BertConfig::from_json(config.to_json()).to_json(), config.to_json());
  EXPECT_EQ(text_of([] { BertConfig::from_json(R"({"model_type": "bert", "is_decoder": true})"); }),
            "[bert] config.json: is_decoder is true; only false is supported");
  EXPECT_EQ(text_of([] { BertConfig::from_json(R"({"architectures": ["BertForTokenClassification"]})"); }),
            "[bert] config.json: the architecture BertForTokenClassification is not known; there are BertModel, "
            "BertForMaskedLM, BertForPreTraining and BertForSequenceClassification");
}

}  // namespace
}  // namespace tenon::models
