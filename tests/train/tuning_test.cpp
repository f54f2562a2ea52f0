// Models that were made elsewhere: all of their weights are trained, or corrections to them, and what comes out is a
// folder that loads again.

#include <gtest/gtest.h>

#include "tenon/io/open_folder.h"
#include "tenon/models/gpt2.h"
#include "tenon/models/lora.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/train/corpus.h"
#include "tenon/train/model.h"
#include "tests/error_text.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Tuning : public Runs {
 protected:
  Config tuned(const std::vector<std::string>& settings) {
    Config config = tiny();
    config.model = {};
    config.model.init_from = small_gpt2().string();
    for (const std::string& setting : settings) set(config, setting);
    return config;
  }
  static std::vector<float> logits_of(models::Gpt2& model) {
    const NoGrad reading;
    model.eval();
    return model(from_vector(std::vector<int32_t>{84, 104, 101, 32}, {1, 4})).to_vector<float>();
  }
  static double most_apart(const std::vector<float>& one, const std::vector<float>& other) {
    double most = 0;
    for (size_t i = 0; i < one.size(); ++i) most = std::max<double>(most, std::abs(one[i] - other[i]));
    return most;
  }
  /// How far the losses fell, from the first line of metrics to the last.
  double fall(const std::string& name, const Config& config, TrainResult& result) {
    double first = 0;
    result = train_in(name, config,
                      {.on_metrics = [&](const watch::StepMetrics& m) { first = first > 0 ? first : m.loss; }});
    return first - result.loss;
  }
};

TEST_F(Tuning, LoraLearnsAndItsAdapterLoadsAgain) {
  TrainResult result;
  EXPECT_GT(fall("run",
                 tuned({"training.mode=lora", "training.steps=60", "optimizer.lr=0.03", "training.lora_rank=4",
                        "training.lora_targets=c_attn,c_fc,c_proj"}),
                 result),
            0.05);  // of 5.5: the rest is frozen noise
  EXPECT_EQ(result.model, path("run") / "adapter");

  const auto before = models::Gpt2::load(path("gpt2")), after = models::Gpt2::load(path("gpt2")),
             merged = models::Gpt2::load(path("gpt2"));
  models::load_lora(*after, result.model);
  models::load_lora(*merged, result.model);
  models::merge_lora(*merged);
  const std::vector<float> corrected = logits_of(*after);
  EXPECT_GT(most_apart(logits_of(*before), corrected), 0.1);
  EXPECT_LT(most_apart(logits_of(*merged), corrected), 1e-4);

  merged->save(path("merged"));
  EXPECT_EQ(logits_of(*models::Gpt2::load(path("merged"))), logits_of(*merged));
}

TEST_F(Tuning, LoraLeavesTheModelAlone) {
  const Config config = tuned({"training.mode=lora"});
  const std::string before = io::content_of(path("gpt2") / "model.safetensors");
  const Traces traces = trained("run", config);
  EXPECT_EQ(io::content_of(path("gpt2") / "model.safetensors"), before);
  for (const auto& [name, content] : traces.tensors) {
    EXPECT_TRUE(!name.starts_with("model.") || name.find(".lora.") != name.npos) << name;
  }
}

TEST_F(Tuning, FinetuneBeginsWithTheModelAndWritesOne) {
  TrainResult result;
  EXPECT_GT(fall("run", tuned({"training.mode=finetune", "training.steps=40", "optimizer.lr=0.01"}), result), 0.3);
  EXPECT_EQ(result.model, path("run") / "model");
  EXPECT_TRUE(fs::exists(result.model / "tokenizer.json"));
  const auto before = models::Gpt2::load(path("gpt2")), after = models::Gpt2::load(result.model);
  EXPECT_EQ(after->config().width, 32);
  EXPECT_EQ(after->vocabulary(), 257);
  EXPECT_GT(most_apart(logits_of(*before), logits_of(*after)), 0.1);
}

TEST_F(Tuning, ModelWrittenIsTheOneOfTheLastCheckpoint) {
  const Traces traces = trained("run", tuned({"training.mode=finetune"}));
  const auto model = models::Gpt2::load(path("run") / "model");
  const std::vector<std::byte> bytes = model->state_dict().at("transformer.wpe.weight").to_bytes();
  const std::string& saved = traces.tensors.at("model.transformer.wpe.weight");
  EXPECT_TRUE(saved.ends_with(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
}

TEST_F(Tuning, SizesOfTheFolderAreTaken) {
  train_in("run", tuned({"training.mode=finetune"}), {.stop_after = 1});
  const Config config = run_config(path("run"));
  EXPECT_EQ(config.model.width, 32);
  EXPECT_EQ(config.model.layers, 1);
  EXPECT_EQ(config.model.context, 16);
  EXPECT_EQ(config.sequence_length(), 16);
}

// The folder's name leads to another model of the same sizes, once its config was read.
class ExchangedModel : public Tuning {
 protected:
  ExchangedModel() : config_(tuned({"training.mode=finetune", "tokenizer.kind=file"})) {
    text::ByteTokenizer(true).save(folder_of_model());
    set(config_, "tokenizer.path=" + folder_of_model().string());
    fs::rename(folder_of_model(), path("first"));
    fs::copy(small_gpt2(99), path("second"), fs::copy_options::recursive);
    text::ByteTokenizer(false).save(path("second"));
    fs::remove_all(folder_of_model());
    fs::rename(path("first"), folder_of_model());
    first_ = logits_of(*models::Gpt2::load(folder_of_model()));
  }
  fs::path folder_of_model() { return path("gpt2"); }
  std::vector<float> logits_of_made(const io::OpenFolder* initial) {
    const auto model = make_model(config_, 257, {}, initial);
    return logits_of(dynamic_cast<models::Gpt2&>(*model));
  }

  Config config_;
  std::vector<float> first_;
};

TEST_F(ExchangedModel, WeightsAndTokenizerAreOfTheFolderThatTheConfigWasReadIn) {
  const auto initial = take_initial_model(config_);
  fs::rename(folder_of_model(), path("first"));
  fs::rename(path("second"), folder_of_model());
  fs::create_directories(path("run"));
  EXPECT_EQ(load_corpus(config_, path("run"), false, initial.get()).tokenizer->vocabulary(), 257);
  EXPECT_EQ(load_corpus(config_, path("run")).tokenizer->vocabulary(), 256);
  EXPECT_EQ(logits_of_made(initial.get()), first_);
  EXPECT_NE(logits_of_made(nullptr), first_);
}

TEST_F(ExchangedModel, FilesThatAreReplacedMeanwhileAreNoticed) {
  const auto initial = take_initial_model(config_);
  for (const char* name : {"model.safetensors", "config.json"})
    fs::rename(path("second") / name, folder_of_model() / name);
  EXPECT_EQ(text_of([&] { logits_of_made(initial.get()); }),
            "[train] " + folder_of_model().string() +
                ": its config.json was replaced while the folder was read; read it again");
}

TEST_F(Tuning, UnknownTargetsAreRefused) {
  const std::string text = refusal("run", tuned({"training.mode=lora", "training.lora_targets=q_proj"}));
  EXPECT_NE(text.find("q_proj"), text.npos) << text;
  EXPECT_NE(text.find("c_attn"), text.npos) << text;
}

}  // namespace
}  // namespace tenon::train
