// What cannot work is refused before the first step, in one line that says what to change.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tenon/data/token_file.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/device/pool.h"
#include "tenon/device/registry.h"
#include "tenon/tensor/creation.h"
#include "tenon/text/byte_tokenizer.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/run_folder.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Refusal : public Runs {
 protected:
  /// A token file of so many tokens, all `token`.
  std::string tokens_of(const data::TokenFileOptions& options, int64_t count, int32_t token) {
    data::TokenFileWriter writer(path("some.tokens"), options);
    writer.append(std::vector<int32_t>(static_cast<size_t>(count), token));
    writer.end_document();
    writer.commit();
    return path("some.tokens").string();
  }
  std::string byte_tokenizer() {
    text::ByteTokenizer(false).save(path("bytes"));
    return path("bytes").string();
  }
};

TEST_F(Refusal, MissingData) {
  EXPECT_EQ(
      refusal_at_start(tiny({"data.train=/no/such/text.txt"})),
      "[train] data.train /no/such/text.txt: there is no such file; name a text or token file, or stories for the "
      "built-in corpus");
  EXPECT_EQ(refusal_at_start(tiny({"data.validation=/no/such/text.txt"})),
            "[train] data.validation /no/such/text.txt: there is no such file; name a text or token file, or leave it "
            "empty");
}

TEST_F(Refusal, EmptyData) {
  const std::string empty = write("empty.txt", "").string();
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + empty})), "[train] " + empty + ": holds no text");
}

TEST_F(Refusal, TooLittleData) {
  const std::string file = write("short.txt", "ten bytes.").string();
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + file})), "[train] the training set (" + file +
                                                                ") has 9 tokens, a sequence of 16 needs 17; lower "
                                                                "training.sequence_length or bring more text");
}

TEST_F(Refusal, VocabularyLargerThanTheModels) {
  EXPECT_EQ(refusal_at_start(tiny({"tokenizer.kind=char", "model.vocabulary=20"})),
            "[train] the tokenizer has 56 tokens, model.vocabulary is 20; set it to 0 to take the tokenizer's");
  Config tuned = tiny();
  tuned.model = {};
  tuned.model.init_from = small_gpt2().string();
  for (const char* setting : {"training.mode=finetune", "tokenizer.kind=bpe", "tokenizer.vocabulary=300"})
    set(tuned, setting);
  EXPECT_EQ(refusal_at_start(tuned),
            "[train] the tokenizer has 300 tokens, the model in model.init_from knows 257; take the tokenizer that the "
            "model was trained with");
}

TEST_F(Refusal, SequenceLongerThanTheContext) {
  EXPECT_EQ(refusal_at_start(tiny({"training.sequence_length=17"})),
            "[config] config: training.sequence_length 17 is longer than model.context 16; lower it or raise "
            "model.context");
}

TEST_F(Refusal, HeadsThatDoNotDivideTheWidth) {
  EXPECT_EQ(refusal_at_start(tiny({"model.heads=5"})),
            "[config] config: model.width 32 cannot be divided among 5 heads; make model.width a multiple of 5");
}

TEST_F(Refusal, PromptLongerThanTheContext) {
  EXPECT_EQ(refusal_at_start(tiny({"sample.prompt=Once upon a time there was"})),
            "[train] sample.prompt has 26 tokens, model.context is 16; shorten the prompt");
}

TEST_F(Refusal, DamagedTokens) {
  const std::string file = tokens_of({.vocabulary = 256}, 1000, 65);
  std::string content = io::content_of(file);
  content[500] ^= 1;
  write("some.tokens", content);
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + file, "tokenizer.kind=file", "tokenizer.path=" + byte_tokenizer()})),
            "[tokens] " + file + ": its tokens do not match their checksum: the file is damaged; prepare it again");
}

TEST_F(Refusal, NumbersOfAnotherProgram) {
  write("other.bin", std::string("\x88\xD8\x34\x01tokens\0of another", 24));
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + path("other.bin").string(), "tokenizer.kind=char"})),
            "[data] " + path("other.bin").string() +
                ": is no text but numbers, perhaps a token file of another program; make one of the text with `tenon "
                "data prepare`");
}

TEST_F(Refusal, AnotherTextOfTheSameLength) {
  const Config config = tiny();
  train_in("run", config, {.stop_after = 10});
  std::string text = io::content_of(path());
  text[100] = text[100] == 'x' ? 'y' : 'x';
  write(text);
  EXPECT_NE(refusal("run", config, {.resume = true}).find("the run was begun on other data than " + path().string()),
            std::string::npos);
}

TEST_F(Refusal, LeavesNoFolderBehind) {
  EXPECT_NE(refusal("new/run", tiny({"data.train=/no/such/text.txt"})), "nothing was thrown");
  EXPECT_FALSE(fs::exists(path("new")));
  fs::create_directories(path("mine"));
  write("mine/notes.txt", "mine");
  EXPECT_NE(refusal("mine", tiny({"data.train=/no/such/text.txt"})), "nothing was thrown");
  EXPECT_EQ(io::content_of(path("mine") / "notes.txt"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("mine")), fs::directory_iterator()), 1);
}

TEST_F(Refusal, AMemoryLimitAboveWhatThereIsOrBelowWhatTheRunTakes) {
  const std::string above = refusal_at_start(tiny({"device.memory_limit=1073741824"}));
  EXPECT_EQ(above.find("[memory] a limit of 1125899906842624 bytes is more than the device has, "), 0u) << above;
  const std::string below = refusal_at_start(tiny({"device.memory_limit=1", "model.width=512"}));
  EXPECT_EQ(below.find("[memory] "), 0u) << below;
  EXPECT_NE(below.find(" bytes asked for, but the memory limit is reached: "), below.npos) << below;
  EXPECT_NE(below.find(" in use of at most 1048576 (set_memory_limit or device.memory_limit), "), below.npos) << below;
  EXPECT_EQ(device::open(Device("cpu").id).pool().stats().limit, 0u);  // it goes with the run
}

TEST_F(Refusal, ADeepOrForeignCheckpointIsOneLine) {
  const Config config = tiny();
  train_in("run", config, {.stop_after = 10});
  const fs::path file = path("run") / "checkpoints/step_00000010/checkpoint.json";
  const auto with = [&](const std::string& text) {
    data::Checksum sum;
    sum.add(std::as_bytes(std::span(text)));
    std::ofstream(file) << text << fmt::format("{:016x}\n", sum.value());
    return text_of([&] { read_checkpoint(file.parent_path()); });
  };
  EXPECT_NE(with("{\"format\": 1, \"state\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}")
                .find("nests deeper than 64 levels"),
            std::string::npos);
  EXPECT_EQ(with("{\"format\": \"x\"}"),
            "[checkpoint] " + file.string() + ": format is \"x\"; it must be a whole number");
  EXPECT_EQ(with("{\"format\": 1}"), "[checkpoint] " + file.string() + ": has no step");
}

TEST_F(Refusal, TokenFileWithoutItsTokenizer) {
  const std::string file = tokens_of({.vocabulary = 256}, 1000, 65);
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + file})),
            "[train] " + file +
                ": is a token file; set tokenizer.kind to file and tokenizer.path to the tokenizer it "
                "was made with");
}

TEST_F(Refusal, TokenFileOfAnotherTokenizer) {
  const std::string file = tokens_of({.vocabulary = 256, .tokenizer = 12345}, 1000, 65);
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + file, "tokenizer.kind=file", "tokenizer.path=" + byte_tokenizer()})),
            "[train] " + file +
                ": was made with another tokenizer than the config's; prepare it again, or name its "
                "tokenizer in tokenizer.path");
}

TEST_F(Refusal, TokenFileWithTokensTheTokenizerDoesNotHave) {
  const std::string file = tokens_of({.vocabulary = 300}, 1000, 299);
  EXPECT_EQ(refusal_at_start(tiny({"data.train=" + file, "tokenizer.kind=file", "tokenizer.path=" + byte_tokenizer()})),
            "[train] " + file +
                ": has tokens up to 299, the tokenizer knows 256; name the one it was made with in "
                "tokenizer.path");
}

TEST_F(Refusal, TokenFileOfTheSameTokenizerTrains) {
  const std::string tokenizer = byte_tokenizer();
  const std::string file =
      tokens_of({.vocabulary = 256, .tokenizer = data::tokenizer_fingerprint(text::ByteTokenizer(false))}, 1000, 65);
  const Config config = tiny({"data.train=" + file, "tokenizer.kind=file", "tokenizer.path=" + tokenizer});
  EXPECT_EQ(train_in("run", config, {.stop_after = 3}).step, 3);
  EXPECT_EQ(train_in("run", config, {.resume = true}).step, 20);
}

TEST_F(Refusal, TokenizerOfAFailedStartIsNotTakenForAnotherOne) {
  refusal_at_start(tiny({"tokenizer.kind=char", "model.vocabulary=20"}));
  EXPECT_EQ(train_in("refused", tiny({"training.steps=2"})).step, 2);
  EXPECT_NE(io::content_of(path("refused") / "tokenizer.json").find("byte"), std::string::npos);
}

TEST_F(Refusal, MaskedModelsThatWouldWriteOrBeLlamas) {
  EXPECT_EQ(refusal_at_start(tiny({"training.method=masked_lm"})),
            "[config] config: sample.every is 10, but a model of training.method masked_lm does not write text; set it "
            "to 0");
  EXPECT_EQ(refusal_at_start(tiny({"training.method=masked_lm", "sample.every=0", "sample.tokens=64", "model.dropout=0",
                                   "model.architecture=llama"})),
            "[config] config: training.method is masked_lm, but a llama sees only what stands before; set "
            "model.architecture to gpt2");
}

TEST_F(Refusal, PlateauThatNeverFalls) {
  EXPECT_EQ(refusal_at_start(tiny({"schedule.kind=plateau", "schedule.gamma=1"})),
            "[config] config: schedule.gamma is 1, so that the rate of a plateau schedule never falls; lower it");
}

TEST_F(Refusal, FolderThatHoldsARun) {
  train_in("run", tiny(), {.stop_after = 1});
  EXPECT_EQ(refusal("run", tiny()),
            "[run] " + path("run").string() + ": holds a run already; resume it or choose another folder");
}

TEST_F(Refusal, ResumeOfAFolderWithoutARun) {
  EXPECT_EQ(refusal("nothing", tiny(), {.resume = true}),
            "[train] " + path("nothing").string() +
                ": there is no such folder to resume; start a new run or name the folder of one");
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(Refusal, FolderInUse) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const RunFolder held = RunFolder::open(path("run"), Start::fresh);
    [[maybe_unused]] const ssize_t told = ::write(ends[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(refusal("run", tiny()),
            fmt::format("[run] {}: process {} is training in this folder; wait for it or choose "
                        "another",
                        path("run").string(), child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(train_in("run", tiny({"training.steps=1"})).step, 1);
}

// Root may write everywhere, so that it has to be someone else for a moment.
class AsNobody {
 public:
  AsNobody() : before_(geteuid()) { is_other_ = before_ == 0 && seteuid(65534) == 0; }
  ~AsNobody() {
    if (is_other_ && seteuid(before_) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t before_;
  bool is_other_ = false;
};

TEST_F(Refusal, FolderThatCannotBeWritten) {
  fs::create_directory(path("closed"));
  fs::permissions(path("closed"), fs::perms{0555});
  fs::permissions(folder_, fs::perms{0755});
  const AsNobody nobody;
  if (access(path("closed").c_str(), W_OK) == 0 && geteuid() == 0) GTEST_SKIP() << "root cannot be anyone else here";
  EXPECT_EQ(refusal("closed/run", tiny()), "[run] " + (path("closed") / "run").string() +
                                               ": cannot be written: Permission denied; choose a folder that can");
}

TEST_F(Refusal, FolderThatIsAFile) {
  write("file", "");
  EXPECT_EQ(refusal("file", tiny()), "[run] " + path("file").string() + ": is not a folder");
  EXPECT_EQ(refusal("file/run", tiny()), "[run] " + (path("file") / "run").string() +
                                             ": cannot be written: Not a directory; choose a folder that can");
}

// ---- resuming something else ----

TEST_F(Refusal, ResumeWithAnotherModel) {
  train_in("run", tiny(), {.stop_after = 2});
  EXPECT_EQ(refusal("run", tiny({"model.width=64"}), {.resume = true}),
            "[train] " + path("run").string() +
                ": was begun with model.width 32, the config now says 64; take the old "
                "value, or begin a new run in another folder");
  EXPECT_EQ(train_in("run", tiny(), {.resume = true}).step, 20);  // nothing was harmed
}

TEST_F(Refusal, ResumeFromACheckpointOfAnotherModel) {
  train_in("run", tiny(), {.stop_after = 2});
  train_in("wide", tiny({"model.width=64"}), {.stop_after = 3});
  const fs::path theirs = checkpoint_path(path("wide") / "checkpoints", 3),
                 ours = checkpoint_path(path("run") / "checkpoints", 3);
  fs::copy(theirs, ours, fs::copy_options::recursive);
  const std::string text = refusal("run", tiny(), {.resume = true});
  EXPECT_EQ(text, "[train] " + ours.string() +
                      ": was made with model.width 64, config.json says 32; put the old value back, or begin a new run "
                      "in another folder");
}

TEST_F(Refusal, ResumeAfterTheFoldersConfigWasChanged) {
  train_in("run", tiny(), {.stop_after = 2});
  Config other = run_config(path("run"));
  other.optimizer.lr *= 2;
  write("run/config.json", to_json(other));
  EXPECT_EQ(refusal("run", other, {.resume = true}),
            fmt::format("[train] {}: was made with optimizer.lr {}, config.json says {}; put the old value back, or "
                        "begin a new run in another folder",
                        checkpoint_path(path("run") / "checkpoints", 2).string(), other.optimizer.lr / 2,
                        other.optimizer.lr));
}

TEST_F(Refusal, CheckpointThatLacksATensor) {
  for (const char* name : {"model.transformer.ln_f.weight", "optimizer.step", "step.loss_sum"}) {
    const std::string run = std::string("without_") + name;
    train_in(run, tiny(), {.stop_after = 2});
    const fs::path folder = path(run) / "checkpoints";
    Checkpoint found = read_checkpoint(checkpoint_path(folder, 2));
    ASSERT_EQ(found.tensors.erase(name), 1u) << name;
    found.step = 3;
    save_checkpoint(folder, found);
    const std::string text = refusal(run, tiny(), {.resume = true});
    EXPECT_TRUE(text.starts_with("[train] " + checkpoint_path(folder, 3).string() + ": does not fit this run: "))
        << text;
  }
}

TEST_F(Refusal, LoraCheckpointThatLacksACorrection) {
  Config config = tiny();
  config.model = {};
  config.model.init_from = small_gpt2().string();
  set(config, "training.mode=lora");
  train_in("run", config, {.stop_after = 2});
  const fs::path folder = path("run") / "checkpoints";
  Checkpoint found = read_checkpoint(checkpoint_path(folder, 2));
  std::erase_if(found.tensors, [](const auto& one) { return one.first.starts_with("model."); });
  found.step = 3;
  save_checkpoint(folder, found);
  EXPECT_NE(refusal("run", config, {.resume = true}).find("missing"), std::string::npos);
}

TEST_F(Refusal, CheckpointOfAnotherProgram) {
  train_in("run", tiny(), {.stop_after = 2});
  const fs::path folder = path("run") / "checkpoints";
  Checkpoint found = read_checkpoint(checkpoint_path(folder, 2));
  found.step = 3;
  found.state = "{}";
  save_checkpoint(folder, found);
  const std::string text = refusal("run", tiny(), {.resume = true});
  EXPECT_TRUE(text.ends_with("; it was written by another program")) << text;
}

TEST_F(Refusal, ResumeAfterTheDataHaveChanged) {
  train_in("run", tiny(), {.stop_after = 2});
  fs::resize_file(path(), 20'000);
  const std::string text = refusal("run", tiny(), {.resume = true});
  EXPECT_NE(text.find("does not fit this run: the "), text.npos) << text;
}

TEST_F(Refusal, OtherDataUnderAnotherName) {
  train_in("run", tiny(), {.stop_after = 2});
  fs::copy(path(), path("moved.txt"));
  const Config moved = tiny({"data.train=" + path("moved.txt").string()});
  EXPECT_EQ(train_in("run", moved, {.resume = true, .stop_after = 3}).step, 3);  // the same tokens elsewhere
  std::string other = io::content_of(path("moved.txt"));
  std::ranges::reverse(other);
  write("moved.txt", other);
  const std::string text = refusal("run", moved, {.resume = true});
  EXPECT_NE(text.find("the run was begun on other data than " + path("moved.txt").string()), text.npos) << text;
}

TEST_F(Refusal, DamagedConfigOfARun) {
  train_in("run", tiny(), {.stop_after = 2});
  fs::resize_file(path("run") / "config.json", 100);
  const std::string text = refusal("run", tiny(), {.resume = true});
  EXPECT_TRUE(text.starts_with("[config] " + (path("run") / "config.json").string() + ": ")) << text;
}

}  // namespace
}  // namespace tenon::train
