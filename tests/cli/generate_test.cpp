// `tenon generate` over models of every kind that it reads.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/tenon.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/model.h"
#include "tests/cli/program.h"

namespace tenon::cli {
namespace {

using nlohmann::json;

class GenerateText : public Cli {
 protected:
  // A Hugging Face folder of a model that writes bytes of several kinds.
  void make_folder(const std::string& name) const {
    manual_seed(4);
    models::Gpt2Config config;
    config.vocabulary = 257;
    config.positions = 64;
    config.width = 24;
    config.layers = 2;
    config.heads = 3;
    models::Gpt2 model(config.set_dropout(0));
    model.save(folder_ / name);
    text::ByteTokenizer(/*with_end_of_text=*/true).save(folder_ / name);
  }

  // A run of `tenon train` with checkpoints of two steps, the first of which is the best.
  void make_run(const std::string& name) const {
    train::Config config;
    config.model.layers = 1;
    config.model.heads = 2;
    config.model.width = 16;
    config.model.context = 32;
    config.tokenizer.kind = "byte";
    const fs::path run = folder_ / name, checkpoints = run / "checkpoints";
    fs::create_directories(checkpoints);
    std::ofstream(run / "config.json") << train::to_json(config);
    text::ByteTokenizer(/*with_end_of_text=*/true).save(run);
    for (const int64_t step : {10, 20}) {
      manual_seed(static_cast<uint64_t>(step));
      const auto model = train::make_model(config, 257);
      train::Checkpoint checkpoint{step, "{}", {}};
      for (const auto& [parameter, tensor] : model->state_dict()) checkpoint.tensors["model." + parameter] = tensor;
      train::save_checkpoint(checkpoints, checkpoint);
    }
    train::name_best(checkpoints, 10);
  }

  std::vector<json> lines(const std::string& arguments) {
    const Outcome outcome = run("generate " + arguments + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<json> parsed;
    std::stringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) parsed.push_back(json::parse(line));
    return parsed;
  }
};

TEST_F(GenerateText, TheSameSeedWritesTheSame) {
  make_folder("m");
  const std::string call = "generate m --prompt abc --tokens 20 --seed ";
  const Outcome first = run(call + "7");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "");
  EXPECT_GT(first.out.size(), 5u);
  EXPECT_EQ(run(call + "7").out, first.out);
  EXPECT_EQ(run(call + "7 --no-stream").out, first.out);
  EXPECT_NE(run(call + "8").out, first.out);
}

TEST_F(GenerateText, JsonSaysWhatWasDrawnAndWhyItEnded) {
  make_folder("m");
  const std::vector<json> one = lines("m --prompt abc --tokens 12 --temperature 0");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["prompt"], "abc");
  EXPECT_EQ(one[0]["tokens"].size(), 12u);
  EXPECT_EQ(one[0]["stop"], "length");
}

TEST_F(GenerateText, PromptsOfAFileArePutTogetherInBatches) {
  make_folder("m");
  std::ofstream(folder_ / "prompts.txt") << "one\n\nand another\r\nx\n";
  const std::vector<json> batched = lines("m --file prompts.txt --tokens 9 --temperature 0 --batch 2");
  ASSERT_EQ(batched.size(), 3u);
  EXPECT_EQ(batched[1]["prompt"], "and another");
  for (const json& line : batched)
    EXPECT_EQ(lines("m --tokens 9 --temperature 0 --prompt '" + line["prompt"].get<std::string>() + "'")[0], line);
  EXPECT_EQ(lines("m --prompt a --tokens 3 --count 5 --batch 2").size(), 5u);
}

TEST_F(GenerateText, ThePromptMayComeFromStdin) {
  make_folder("m");
  const std::string rest = " generate m --tokens 5 --temperature 0";
  EXPECT_EQ(bash("echo abc | tenon" + rest).out, run(rest + " --prompt abc").out);
}

TEST_F(GenerateText, AStopStringEndsTheText) {
  make_folder("m");
  const Outcome whole = run("generate m --prompt abc --tokens 40 --top-k 200 --seed 2");
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto letter = std::find_if(whole.out.begin() + 5, whole.out.end(), is_letter);
  ASSERT_NE(letter, whole.out.end());
  const std::string stop(1, *letter);
  const Outcome cut = run("generate m --prompt abc --tokens 40 --top-k 200 --seed 2 --stop '" + stop + "'");
  EXPECT_EQ(cut.out, whole.out.substr(0, whole.out.find(stop)) + "\n");
}

TEST_F(GenerateText, StatsGoToStderr) {
  make_folder("m");
  const Outcome outcome = run("generate m --prompt abc --tokens 5 --temperature 0 --stats");
  EXPECT_EQ(outcome.out, run("generate m --prompt abc --tokens 5 --temperature 0").out);
  EXPECT_TRUE(outcome.err.starts_with("m (gpt2)\n5 tokens in ")) << outcome.err;
}

TEST_F(GenerateText, ReadsRunsAndTheirCheckpoints) {
  make_run("r");
  const std::string rest = " --prompt abc --tokens 9 --temperature 0";
  const json best = lines("r" + rest), newest = lines("r/checkpoints/step_00000020" + rest);
  EXPECT_EQ(best, json(lines("r/checkpoints/best" + rest)));
  EXPECT_EQ(best, json(lines("r/checkpoints/step_00000010" + rest)));
  EXPECT_NE(best, newest);
  fs::resize_file(folder_ / "r/checkpoints/step_00000010/state.safetensors", 100);
  EXPECT_EQ(json(lines("r" + rest)), newest);  // the best is damaged
  fs::resize_file(folder_ / "r/checkpoints/step_00000020/state.safetensors", 100);
  EXPECT_TRUE(
      refusal("generate r" + rest).starts_with("1 tenon: [model] r: there is no good checkpoint: r/checkpoints/"));
}

TEST_F(GenerateText, MergesAnAdapter) {
  make_folder("m");
  const auto model = models::Gpt2::load(folder_ / "m");
  models::attach_lora(*model, {"c_attn", "c_proj"}, {.rank = 2});
  {
    const NoGrad training;
    manual_seed(8);
    for (Tensor& part : models::trainable(*model)) part.copy_(randn(part.shape()));
  }
  models::save_lora(*model, folder_ / "a", {.rank = 2});
  const std::string rest = "m --prompt abc --tokens 9 --temperature 0";
  EXPECT_NE(lines(rest + " --lora a"), lines(rest));
}

TEST_F(GenerateText, ReadsLlama2c) {
  const fs::path shared = fs::absolute(io::shared_data() / "stories260K");
  if (!fs::exists(shared)) GTEST_SKIP() << shared << " is not there; TENON_SHARED_DATA names the folder above";
  const std::string file = "'" + (shared / "stories260K.bin").string() + "'";
  const Outcome outcome = run("generate " + file + " --tokenizer '" + (shared / "tok512.bin").string() +
                              "' --prompt 'Once upon a time' --tokens 40 --temperature 0 --stop ' park'");
  EXPECT_EQ(outcome.out, ", there was a little girl named Lily. She loved to play outside in the\n");
  EXPECT_TRUE(refusal("generate " + file + " --prompt a").ends_with("brings no tokenizer; name one with --tokenizer"));
}

TEST_F(GenerateText, GoesOnPastTheContext) {
  make_folder("m");
  EXPECT_EQ(lines("m --prompt abc -n 150 --temperature 1 --seed 3").at(0)["tokens"].size(), 150u);
}

TEST_F(GenerateText, SaysWhatIsWrongInOneLine) {
  make_folder("m");
  EXPECT_EQ(refusal("generate no --prompt a"), "1 tenon: [model] no: there is no such file or folder");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(refusal("generate empty --prompt a"),
            "1 tenon: [model] empty: holds no model: neither config.json nor checkpoints");
  EXPECT_EQ(refusal("generate m --prompt " + std::string(65, 'a')),
            "1 tenon: [generate] the prompt has 65 tokens, the model looks at no more than 64; shorten it");
  std::ofstream(folder_ / "none.txt") << "\n\n";
  EXPECT_EQ(refusal("generate m --file none.txt"), "1 tenon: [generate] none.txt: holds no prompts; write one a line");
  fs::remove(folder_ / "m" / "tokenizer.json");
  EXPECT_EQ(refusal("generate m --prompt a"), "1 tenon: [model] m: holds no tokenizer; name one with --tokenizer");
  text::ByteTokenizer(false).save(folder_ / "bytes");
  EXPECT_EQ(refusal("generate m --tokenizer bytes --prompt ''"),
            "1 tenon: [generate] the prompt is empty, and the tokenizer has no token that begins a text; give one");
  EXPECT_EQ(refusal("generate m --prompt a --file b"),
            "2 tenon generate: --prompt excludes --file; see tenon generate --help");
}

TEST_F(GenerateText, BoundsAreReadable) {
  make_folder("m");
  const auto bound = [&](const std::string& option) {
    const std::string text = refusal("generate m --prompt a " + option);
    const std::string start = "2 tenon generate: " + option.substr(0, option.find(' ')) + ": ",
                      end = "; see tenon generate --help";
    EXPECT_TRUE(text.starts_with(start) && text.ends_with(end)) << text;
    return text.substr(start.size(), text.size() - start.size() - end.size());
  };
  EXPECT_EQ(bound("--temperature nan"), "\"nan\" is no number from 0 to 100");
  EXPECT_EQ(bound("--temperature -1"), "\"-1\" is no number from 0 to 100");
  EXPECT_EQ(bound("--top-p 0"), "\"0\" is no number above 0 and at most 1");
  EXPECT_EQ(bound("--top-p 2"), "\"2\" is no number above 0 and at most 1");
  EXPECT_EQ(bound("--min-p 1.5"), "\"1.5\" is no number from 0 to 1");
  EXPECT_EQ(bound("--repetition-penalty inf"), "\"inf\" is no number above 0 and at most 100");
  EXPECT_EQ(bound("--seed -1"), "\"-1\" is no whole number from 0 to 9223372036854775807");
  EXPECT_EQ(bound("--top-k x"), "\"x\" is no whole number from 0 to 1073741824");
  EXPECT_EQ(bound("--device null"), "null computes nothing; take cpu");
}

TEST_F(Cli, ATokenizerLearnsFromSomeText) {
  std::ofstream(folder_ / "empty.txt");
  for (const std::string kind : {"bpe", "char", "word", "byte"}) {
    EXPECT_EQ(refusal("tokenize --train empty.txt --kind " + kind + " --out tok"),
              "1 tenon: [tokenize] empty.txt: is empty; name a text to learn from");
    EXPECT_FALSE(fs::exists(folder_ / "tok"));
  }
  std::ofstream(folder_ / "some.txt") << "some some";
  EXPECT_EQ(run("tokenize --train empty.txt some.txt --kind char --out tok").code, 0);
}

}  // namespace
}  // namespace tenon::cli
