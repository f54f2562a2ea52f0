// Telling texts apart is a run like any other: metrics, samples, checkpoints, resuming bit for bit, and a model that
// TextClassifier reads.

#include "tenon/train/text_task.h"

#include <gtest/gtest.h>

#include <set>

#include "tenon/io/safetensors.h"
#include "tenon/models/text_classifier.h"
#include "tenon/tensor/ops.h"
#include "tenon/train/loaded_model.h"
#include "tenon/train/model.h"
#include "tenon/watch/samples.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class TextRuns : public Runs {
 protected:
  TextRuns() { write_texts("texts.csv"); }

  Config on(const std::string& file, const std::string& content, const std::vector<std::string>& settings = {}) const {
    write(file, content);
    Config config = tiny_bert(settings);
    config.data.train = path(file).string();
    return config;
  }

  // Rows that a classifier may be trained on, in columns review and stars.
  static std::string stars() {
    std::string lines = "stars\treview\n";
    for (int i = 0; i < 12; ++i) lines += "9\tvery good\n10\tvery, very good\n1\tbad\n";
    return lines;
  }

  fs::path small_bert(uint64_t seed = 3) const {
    models::BertConfig config;
    config.vocabulary = 40;
    config.positions = 24;
    config.width = 16;
    config.layers = 1;
    config.heads = 2;
    config.inner = 32;
    manual_seed(seed);
    models::Bert(config).save(path("bert"));
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (char letter = 'a'; letter <= 'z'; ++letter) vocabulary += std::string(1, letter) + "\n";
    for (const char* word : {"the", "film", "fine", "dull", "poor", "##s", "##ly", ",", "."})
      vocabulary += std::string(word) + "\n";
    write("bert/vocab.txt", vocabulary);
    return path("bert");
  }

  std::vector<std::string> tuned() const {
    return {"model.init_from=" + path("bert").string(),
            "training.mode=finetune",
            "tokenizer.kind=file",
            "tokenizer.vocabulary=1024",
            "model.layers=4",
            "model.heads=4",
            "model.width=128",
            "model.context=128"};
  }
};

TEST_F(TextRuns, AreLearnedAndHowWellIsSaid) {
  write_texts("texts.csv", 400);
  const TrainResult result = train_in(
      "run", tiny_bert({"training.steps=150", "optimizer.lr=0.003", "model.dropout=0", "training.batch_size=16"}));
  EXPECT_EQ(result.unit, "texts");
  ASSERT_EQ(result.validation_metrics.size(), 2u);
  EXPECT_EQ(result.validation_metrics[0].first, "accuracy");
  EXPECT_EQ(result.validation_metrics[1].first, "macro_f1");
  EXPECT_GE(result.validation_metrics[0].second, 0.95);
  EXPECT_GE(result.validation_metrics[1].second, 0.95);
  const std::vector<watch::StepMetrics> lines = watch::read_metrics(path("run") / "metrics.jsonl");
  EXPECT_EQ(lines.back().validation_metrics, result.validation_metrics);
  EXPECT_EQ(lines.back().items, 150 * 16);

  const auto classifier = models::TextClassifier::load(path("run"));
  EXPECT_EQ(classifier.labels(), (std::vector<std::string>{"bad", "good"}));
  const auto said = classifier.classify({"The story, a clever film.", "a tedious film of ships"});
  EXPECT_EQ(said[0].label, "good");
  EXPECT_EQ(said[1].label, "bad");
  EXPECT_GT(said[0].probability, 0.9);
}

TEST_F(TextRuns, ProgressSaysWhatThereIs) {
  const std::string shown = said("run", tiny_bert());
  EXPECT_NE(shown.find("texts.csv: 72 texts with 2 labels to train on, 24 to validate on, wordpiece tokenizer of "),
            shown.npos)
      << shown;
  EXPECT_NE(shown.find("; an epoch is 9 steps\nbert of "), shown.npos) << shown;
  EXPECT_NE(shown.find("  macro_f1 0."), shown.npos) << shown;
  EXPECT_NE(shown.find(" texts/s"), shown.npos) << shown;
}

TEST_F(TextRuns, SamplesAreWhatIsTakenForSomethingElse) {
  train_in("run", tiny_bert({"training.steps=2", "sample.every=2"}));
  const watch::Sample sample = watch::read_samples(path("run")).back();
  EXPECT_NE(sample.text.find(" of 24 texts are taken for something else, those with the greatest certainty first:\n"),
            sample.text.npos)
      << sample.text;
  EXPECT_EQ(std::ranges::count(sample.text, '\n'), 3);
  EXPECT_NE(sample.text.find(", they said."), sample.text.npos) << sample.text;
}

TEST_F(TextRuns, EveryClassIsHeldBackInItsShare) {
  const Config config = tiny_bert({"data.validation_fraction=0.5"});
  const LabelledTexts texts = read_labelled_texts(config, folder_, false, nullptr, {});
  int64_t good = 0;
  for (int64_t i = 0; i < texts.validation->size(); ++i) good += (*texts.validation)[i].label;
  EXPECT_EQ(texts.validation->size(), 48);
  EXPECT_EQ(good, 24);
}

TEST_F(TextRuns, BatchesHaveFewLengths) {
  const Config config = tiny_bert();
  const LabelledTexts texts = read_labelled_texts(config, folder_, false, nullptr, {});
  std::set<int64_t> lengths;
  for (int64_t i = 0; i < texts.train->size(); ++i) {
    const data::Sample one = texts.train->get(i);
    const auto tokens = std::ssize((*texts.train)[i].ids);
    lengths.insert(one["ids"].size(0));
    EXPECT_EQ(one["mask"].to(DType::i32).sum().item<int64_t>(), tokens);
    EXPECT_GE(one["ids"].size(0), tokens);
  }
  EXPECT_EQ(lengths, (std::set<int64_t>{16, 32}));
}

TEST_F(TextRuns, AnyFieldsOfTsvAndJsonLinesAreRead) {
  const std::vector<std::string> fields = {"data.field=review", "data.label_field=stars", "training.steps=2"};
  train_in("tsv", on("reviews.tsv", stars(), fields));
  EXPECT_EQ(models::TextClassifier::load(path("tsv")).labels(), (std::vector<std::string>{"1", "9", "10"}));
  std::string lines;
  for (int i = 0; i < 20; ++i)
    lines +=
        fmt::format("{{\"review\": \"text {}\", \"stars\": {}, \"more\": [1]}}\n\n", i, i % 2 == 0 ? "true" : "3.5");
  train_in("jsonl", on("reviews.jsonl", lines, fields));
  EXPECT_EQ(models::TextClassifier::load(path("jsonl")).labels(), (std::vector<std::string>{"3.5", "true"}));
}

TEST_F(TextRuns, PairsAreReadAsPairs) {
  std::string lines = "question,answer,label\n";
  for (int i = 0; i < 20; ++i) lines += i % 2 ? "who,me,yes\n" : "where,\"here, there\",no\n";
  const Config config = on("pairs.csv", lines, {"data.field=question", "data.second_field=answer", "training.steps=2"});
  const LabelledTexts texts = read_labelled_texts(config, folder_, false, nullptr, {});
  const EncodedTexts::Text& first = (*texts.train)[0];
  EXPECT_EQ(first.types.front(), 0);
  EXPECT_EQ(first.types.back(), 1);
  const TrainResult result = train_in("run", config);
  const auto classifier = models::TextClassifier::load(result.model);
  const auto said = classifier.classify({"who", "who"}, 32, {"me", "here"});
  EXPECT_NE(said[0].probability, said[1].probability);
}

TEST_F(TextRuns, AFolderOfTransformersIsTuned) {
  small_bert();
  const TrainResult result = train_in("run", tiny_bert(tuned()));
  const auto before = io::load_safetensors(path("bert") / "model.safetensors").tensors,
             after = io::load_safetensors(result.model / "model.safetensors").tensors;
  const std::string name = "bert.embeddings.word_embeddings.weight";
  ASSERT_EQ(after.at(name).shape(), before.at(name).shape());
  const double moved = (after.at(name) - before.at(name)).abs().amax({}).item<double>();
  EXPECT_GT(moved, 0);
  EXPECT_LT(moved, 0.1);
  EXPECT_TRUE(after.contains("classifier.weight"));
  for (const char* file : {"config.json", "tokenizer.json", "vocab.txt", "tokenizer_config.json"})
    EXPECT_TRUE(fs::exists(result.model / file)) << file;
  EXPECT_EQ(io::content_of(result.model / "vocab.txt"), io::content_of(path("bert/vocab.txt")));
  // What was trained may be tuned again, with the same labels in the same places.
  fs::rename(path("bert"), path("old"));
  fs::copy(result.model, path("bert"));
  train_in("again", tiny_bert(tuned()));
  EXPECT_EQ(models::TextClassifier::load(path("again")).labels(), (std::vector<std::string>{"bad", "good"}));
}

// The folder's name leads to another model of the same sizes, once its config was read.
TEST_F(TextRuns, AFolderOfTransformersThatIsExchangedMeanwhileIsReadAsItWasOpened) {
  Config config = tiny_bert(tuned());
  const auto weights_of = [](const models::Bert& model) {
    return model.bert.embeddings.word_embeddings.weight.to_vector<float>();
  };
  small_bert(4);
  fs::rename(path("bert"), path("second"));
  small_bert();
  const std::vector<float> first = weights_of(*models::Bert::load(path("bert")));
  const auto initial = take_initial_model(config);
  fs::rename(path("bert"), path("first"));
  fs::rename(path("second"), path("bert"));
  fs::create_directories(path("run"));
  TextTask task(config, path("run"), false, initial);
  EXPECT_EQ(weights_of(dynamic_cast<models::Bert&>(task.model())), first);
  EXPECT_NE(weights_of(*models::Bert::load(path("bert"))), first);
}

TEST_F(TextRuns, FilesOfAFolderOfTransformersThatAreReplacedMeanwhileAreNoticed) {
  Config config = tiny_bert(tuned());
  small_bert(4);
  fs::rename(path("bert"), path("second"));
  small_bert();
  fs::create_directories(path("run"));
  TextTask task(config, path("run"), false, take_initial_model(config));
  for (const char* name : {"model.safetensors", "config.json"}) fs::rename(path("second") / name, path("bert") / name);
  EXPECT_EQ(
      text_of([&] { task.model(); }),
      "[train] " + path("bert").string() + ": its config.json was replaced while the folder was read; read it again");
}

TEST_F(TextRuns, ARunOfThemIsNoLanguageModel) {
  train_in("run", tiny_bert({"training.steps=2"}));
  EXPECT_EQ(text_of([&] { load_model(path("run")); }),
            fmt::format("[model] {}: is a run of a bert, which is no language model", path("run").string()));
}

struct TextCase {
  std::string name;
  std::vector<std::string> settings;
};
void PrintTo(const TextCase& one, std::ostream* out) { *out << one.name; }

class TextResume : public TextRuns, public testing::WithParamInterface<TextCase> {};

TEST_P(TextResume, GoesOnBitForBit) {
  std::vector<std::string> settings = GetParam().settings;
  if (GetParam().name == "tuned") {
    small_bert();
    settings = tuned();
  }
  const Config wanted = tiny_bert(settings);
  const Traces whole = trained("whole", wanted);
  EXPECT_TRUE(train_in("parts", wanted, {.stop_after = 11}).stopped);
  EXPECT_FALSE(train_in("parts", wanted, {.resume = true}).stopped);
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");
}

INSTANTIATE_TEST_SUITE_P(Runs, TextResume,
                         testing::Values(TextCase{"plain", {}}, TextCase{"tuned", {}},
                                         TextCase{"bf16", {"training.precision=bf16"}},
                                         TextCase{"smoothed", {"training.label_smoothing=0.1", "data.prefetch=false"}},
                                         TextCase{"micro_batches", {"training.micro_batches=2"}}),
                         [](const auto& one) { return one.param.name; });

TEST_F(TextRuns, ReplayedAndRecordedAnewAreTheSame) {
  EXPECT_EQ(difference(trained("one", tiny_bert()), trained("two", tiny_bert({"training.capture=false"}))), "");
}

TEST_F(TextRuns, DataMayLieElsewhereButNotBeOthers) {
  const Config config = tiny_bert();
  const Traces whole = trained("whole", config);
  train_in("parts", config, {.stop_after = 11});
  fs::rename(path("texts.csv"), path("moved.csv"));
  train_in("parts", tiny_bert({"data.train=" + path("moved.csv").string()}), {.resume = true});
  EXPECT_EQ(difference(whole, traces_of(path("parts"))), "");

  train_in("others", tiny_bert({"data.train=" + path("moved.csv").string()}), {.stop_after = 11});
  const fs::path others = write_texts("others.csv", 96, 2);
  const std::string text = refusal("others", tiny_bert({"data.train=" + others.string()}), {.resume = true});
  EXPECT_NE(text.find("the run was begun on other data than " + others.string() + " holds now"), text.npos) << text;
}

TEST_F(TextRuns, MistakesInDataAreOneLineThatSaysWhatToDo) {
  const std::string csv = path("a.csv").string(), jsonl = path("a.jsonl").string();
  EXPECT_EQ(refusal_at_start(tiny_bert({"data.train=nowhere.csv"})),
            "[train] data.train nowhere.csv: there is no such file; name a CSV, .tsv or .jsonl file with a row for "
            "each text");
  EXPECT_EQ(refusal_at_start(on("a.csv", "")), "[texts] " + csv + ": is empty");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,label\n")),
            "[texts] " + csv + ": has no row below the names of its columns");
  EXPECT_EQ(refusal_at_start(on("a.csv", "review,stars\ngood,1\n")),
            "[texts] " + csv + ": has no \"text\", but \"review\", \"stars\"; choose one with data.field");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,stars\ngood,1\n")),
            "[texts] " + csv + ": has no \"label\", but \"text\", \"stars\"; choose one with data.label_field");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,label\ngood,1\nbad, \n")),
            "[texts] " + csv + ": row 2 has no label in \"label\"; every text needs one");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,label\ngood,1\nbad,1\n")),
            "[train] " + csv + ": all 2 texts have the label \"1\"; a classifier needs two labels at least");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,label\na,good one\nb,bad one\nc,so so\n")),
            "[train] " + csv +
                ": each of the 3 texts has a label of its own; is \"label\" the field of labels (data.label_field)?");
  EXPECT_EQ(refusal_at_start(on("a.csv", "text,label\na,1\nb,2\nc,1\nd,2\n")),
            "[train] " + csv + ": has 2 texts to train on, which do not fill a batch of 8; lower training.batch_size");
  EXPECT_EQ(refusal_at_start(on("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"a\"}\n")),
            "[texts] " + jsonl + ": line 2: has no \"label\", but \"text\"; choose one with data.label_field");
  EXPECT_EQ(refusal_at_start(on("a.jsonl", "{\"text\": [], \"label\": 1}\n")),
            "[texts] " + jsonl + ": line 1: \"text\" is []; it must be a text or a number");
  write("v.csv", "text,label\nfine,good\nhm,so so\n");
  EXPECT_EQ(refusal_at_start(tiny_bert({"data.validation=" + path("v.csv").string(), "data.validation_fraction=0.1"})),
            "[train] " + path("v.csv").string() + ": row 2 has the label \"so so\", which no text of " +
                path("texts.csv").string() + " has: there are \"bad\", \"good\"");
}

TEST_F(TextRuns, ConfigsThatDoNotFitAreOneLine) {
  EXPECT_EQ(refusal_at_start(tiny_bert({"data.train=stories"})),
            "[config] config: data.train is stories; name a CSV, .tsv or .jsonl file with a field of texts "
            "(data.field) and one of labels (data.label_field)");
  EXPECT_EQ(refusal_at_start(tiny_bert({"tokenizer.kind=bpe", "tokenizer.vocabulary=300"})),
            "[config] config: tokenizer.kind is bpe, but a bert reads a WordPiece; set it to file, or to wordpiece to "
            "learn one from the training texts");
  EXPECT_EQ(
      refusal_at_start(tiny_bert({"training.method=masked_lm"})),
      "[config] config: training.method is \"masked_lm\", but acts only when model.architecture is gpt2 or llama; "
      "take it out or set it to its default, \"autoregressive\"");
  EXPECT_EQ(refusal_at_start(tiny_bert({"training.mode=lora", "model.init_from=bert"})),
            "[config] config: training.mode is lora, which a bert has not; set it to finetune");
  EXPECT_EQ(refusal_at_start(tiny_bert({"training.sequence_length=64"})),
            "[config] config: training.sequence_length 64 is longer than model.context 32; lower it or raise "
            "model.context");
  EXPECT_EQ(refusal_at_start(tiny({"tokenizer.kind=wordpiece"})),
            "[config] config: tokenizer.kind is wordpiece, from whose tokens no text can be written again; take word "
            "or bpe");
  const std::string folder = small_bert().string();
  Config gpt2 = tiny({"model.init_from=" + folder, "training.mode=finetune"});
  gpt2.model = {.init_from = folder};
  EXPECT_EQ(refusal_at_start(gpt2),
            "[train] " + folder + ": is a bert, which tells texts apart; set model.architecture to bert");
}

}  // namespace
}  // namespace tenon::train
