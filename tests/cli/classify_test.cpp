// `tenon classify` over texts from everywhere that it takes them from.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/tenon.h"
#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

class ClassifyTexts : public Cli {
 protected:
  // A folder as transformers leaves it, of a model that was never trained.
  ClassifyTexts() {
    manual_seed(4);
    models::BertConfig config;
    config.vocabulary = 12;
    config.positions = 16;
    config.width = 16;
    config.layers = 1;
    config.heads = 2;
    config.inner = 32;
    config.head = models::BertHead::classifier;
    config.labels = {"bad", "good"};
    models::Bert model(config);
    {
      const NoGrad drawing;
      model.classifier->weight.copy_(randn(model.classifier->weight.shape()));
    }
    model.save(folder_ / "m");
    write("m/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfine\ndull\nfilm\na\nvery\n,\n.\n");
  }

  std::vector<json> lines(const std::string& arguments) {
    const Outcome outcome = run("classify " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<json> parsed;
    std::stringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) parsed.push_back(json::parse(line));
    return parsed;
  }
};

TEST_F(ClassifyTexts, ALineForEachText) {
  const Outcome outcome = run("classify m 'A very fine film.' dull");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto said = models::TextClassifier::load(folder_ / "m").classify({"A very fine film.", "dull"});
  EXPECT_EQ(outcome.out, fmt::format("{}\t{:.4f}\tA very fine film.\n{}\t{:.4f}\tdull\n", said[0].label,
                                     said[0].probability, said[1].label, said[1].probability));
}

TEST_F(ClassifyTexts, JsonHasAllProbabilities) {
  const std::vector<json> one = lines("m 'a \"fine\" film'");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["text"], "a \"fine\" film");
  const json& all = one[0]["probabilities"];
  EXPECT_EQ(all.size(), 2u);
  EXPECT_NEAR(all["bad"].get<double>() + all["good"].get<double>(), 1, 1e-6);
  EXPECT_EQ(one[0]["probability"], all[one[0]["label"].get<std::string>()]);
}

TEST_F(ClassifyTexts, TextsOfFilesAndStdinAreTheSame) {
  write("texts.txt", "fine\n\na dull film\r\nvery fine\n");
  write("texts.csv", "id,review\n1,fine\n2,a dull film\n3,very fine\n");
  write("texts.jsonl", "{\"text\": \"fine\"}\n{\"text\": \"a dull film\"}\n{\"text\": \"very fine\"}\n");
  const std::string expected = run("classify m fine 'a dull film' 'very fine'").out;
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 3);
  EXPECT_EQ(run("classify m --file texts.txt").out, expected);
  EXPECT_EQ(run("classify m --file texts.txt --batch 2").out, expected);
  EXPECT_EQ(run("classify m --file texts.csv --field review").out, expected);
  EXPECT_EQ(run("classify m -f texts.jsonl").out, expected);
  EXPECT_EQ(bash("cat texts.txt | tenon classify m").out, expected);
}

TEST_F(ClassifyTexts, PairsComeFromTwoColumns) {
  write("pairs.csv", "question,answer\nfine,dull\n");
  const std::vector<json> one = lines("m --file pairs.csv --field question --second-field answer");
  EXPECT_EQ(one[0]["text"], "fine");
  EXPECT_EQ(one[0]["second"], "dull");
  EXPECT_NE(one[0]["probability"], lines("m fine")[0]["probability"]);
}

TEST_F(ClassifyTexts, AFinishedRunIsReadAndAnotherIsNot) {
  write("texts.csv", "text,label\nfine,good\nvery fine,good\ndull,bad\na dull film,bad\n");
  const std::string train =
      "train text_classifier --set data.train=texts.csv --set model.width=16 --set model.layers=1 "
      "--set training.batch_size=2 --set data.validation_fraction=0 --set training.steps=8 --set device.name=cpu "
      "--set schedule.warmup_steps=0 --set sample.every=0 --out r";
  ASSERT_EQ(run(train + " --stop-after 4").code, 0);
  EXPECT_EQ(refusal("classify r fine"), "1 tenon: [bert] r: is a run that has not finished; tenon train --resume r");
  const Outcome trained = run("train --resume r");
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(run("classify r fine").out, run("classify r/model fine").out);
  EXPECT_EQ(lines("r fine")[0]["probabilities"].size(), 2u);
}

TEST_F(ClassifyTexts, MistakesAreOneLine) {
  write("empty.txt", "\n\n");
  write("texts.csv", "review\nfine\n");
  EXPECT_EQ(refusal("classify m --file empty.txt"), "1 tenon: [classify] empty.txt: holds no texts; write one a line");
  EXPECT_EQ(refusal("classify m --file texts.csv"),
            "1 tenon: [texts] texts.csv: has no \"text\", but \"review\"; choose one with --field");
  EXPECT_EQ(refusal("classify m --file empty.txt --field review"),
            "2 tenon classify: --field: is for .csv, .tsv and .jsonl files; other files have a text a line; see tenon "
            "classify --help");
  EXPECT_EQ(bash("tenon classify m < /dev/null").err, "tenon: [classify] stdin: holds no texts; write one a line\n");
  EXPECT_EQ(refusal("classify nowhere fine").substr(0, 17), "1 tenon: [bert] n");
}

}  // namespace
}  // namespace tenon::cli
