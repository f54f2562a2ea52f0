// `tenon data` as it is typed.

#ifdef TENON_CLI

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>

#include "tenon/data/stories.h"
#include "tenon/text/byte_tokenizer.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

class DataCommand : public InFolder {
 protected:
  struct Result {
    int code;
    std::string output;  // both streams
  };

  void SetUp() override { text::ByteTokenizer(true).save(path("bytes")); }

  /// Runs `tenon data ...` in the folder.
  Result run(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.string() + "' && '" TENON_CLI "' data " + arguments + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    Result result{-1, ""};
    char buffer[4096];
    while (const size_t count = fread(buffer, 1, sizeof buffer, pipe)) result.output.append(buffer, count);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    return result;
  }
};

TEST_F(DataCommand, StoriesBecomeATokenFile) {
  Result told = run("stories --megabytes 0.2 --seed 7 --out stories.txt");
  EXPECT_EQ(told.code, 0) << told.output;
  EXPECT_NE(told.output.find("stories.txt: "), std::string::npos) << told.output;
  EXPECT_EQ(content_of(path("stories.txt")), stories(200'000, 7, "\n<|endoftext|>\n"));

  const Result prepared = run(
      "prepare stories.txt --tokenizer bytes --out all.tokens --validation-fraction 0.1 --validation-out val.tokens");
  EXPECT_EQ(prepared.code, 0) << prepared.output;
  EXPECT_NE(prepared.output.find("tokens (vocabulary 257, 2 bytes each)"), std::string::npos) << prepared.output;

  const Result shown = run("info all.tokens --tokenizer bytes --sample 10");
  EXPECT_EQ(shown.code, 0) << shown.output;
  EXPECT_NE(shown.output.find("dtype       u16"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("(verified)"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("first 10:\n" + stories(100, 7).substr(0, 10) + "\n"), std::string::npos) << shown.output;
  EXPECT_EQ(run("info val.tokens").code, 0);
}

TEST_F(DataCommand, FailuresAreOneLineAndCodeOne) {
  const auto refusal = [&](const std::string& arguments) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 1) << result.output;
    return result.output;
  };
  EXPECT_EQ(refusal("prepare none.txt --tokenizer bytes --out x"),
            "tenon: [corpus] none.txt: cannot be read: No such file or directory\n");
  write("bad.jsonl", "{\"body\": \"x\"}\n");
  EXPECT_EQ(refusal("prepare bad.jsonl --tokenizer bytes --out x"),
            "tenon: [corpus] bad.jsonl: line 1 has no field \"text\" (it has \"body\"): choose one with --field\n");
  EXPECT_EQ(refusal("info bad.jsonl"),
            "tenon: [tokens] bad.jsonl: is not a token file (it does not begin with TENONTOK); "
            "`tenon data prepare` makes one\n");
  EXPECT_EQ(run("prepare bad.jsonl --field body --tokenizer bytes --out x").code, 0);
  text::ByteTokenizer(false).save(path("others"));
  EXPECT_NE(refusal("info x --tokenizer others").find("was made with another tokenizer than others\n"),
            std::string::npos);
}

TEST_F(DataCommand, WrongUsageIsCodeTwo) {
  EXPECT_EQ(run("prepare").code, 2);
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("prepare a --tokenizer bytes --out x --format pdf").code, 2);
  EXPECT_EQ(run("prepare a --tokenizer bytes --out x --resume --restart").code, 2);
  EXPECT_EQ(run("prepare --help").code, 0);
}

TEST_F(DataCommand, AKilledRunIsContinued) {
  std::ofstream(path("big.txt")) << stories(8'000'000, 1);
  const std::string prepare = "prepare big.txt --tokenizer bytes --out big.tokens";
  // Its second checkpoint is waited for, so that there is something to continue.
  const std::string killed = "'" TENON_CLI "' data " + prepare +
                             " --checkpoint-megabytes 1 & pid=$!\n"
                             "while ! [[ -e big.tokens.journal ]] && kill -0 $pid; do :; done\nkill -9 $pid; wait $pid";
  write("kill.sh", killed);
  ASSERT_NE(std::system(("cd '" + folder_.string() + "' && bash kill.sh >/dev/null 2>&1").c_str()), 0);
  EXPECT_FALSE(fs::exists(path("big.tokens")));
  const Result continued = run(prepare + " --resume");
  EXPECT_EQ(continued.code, 0) << continued.output;
  EXPECT_NE(continued.output.find("continued an unfinished run after "), std::string::npos) << continued.output;
  const std::string content = content_of(path("big.tokens"));
  ASSERT_EQ(run(prepare).code, 0);
  EXPECT_TRUE(content_of(path("big.tokens")) == content);
}

TEST_F(DataCommand, ALimitOnTheSizeOfFilesIsOneLineAndLeavesNothing) {
  const auto limited = [&](const std::string& arguments) {
    const std::string line = "ulimit -c 0; ulimit -f 16; '" TENON_CLI "' data " + arguments;  // blocks of 1024 bytes
    write("limited.sh", line);
    FILE* pipe = popen(("cd '" + folder_.string() + "' && bash limited.sh 2>&1").c_str(), "r");
    std::string output(4096, '\0');
    output.resize(fread(output.data(), 1, output.size(), pipe));
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1) << output;
    fs::remove(path("limited.sh"));
    return output;
  };
  EXPECT_EQ(limited("stories --megabytes 2 --out stories.txt"),
            "tenon: [stories] stories.txt: cannot be written: File too large\n");
  EXPECT_EQ(files(), std::vector<std::string>{"bytes"});
  std::ofstream(path("big.txt")) << stories(1'000'000, 1);
  EXPECT_EQ(limited("prepare big.txt --tokenizer bytes --out big.tokens"),
            "tenon: [tokens] big.tokens: cannot be written: File too large\n");
  EXPECT_EQ(files(), (std::vector<std::string>{"big.txt", "bytes"}));
}

}  // namespace
}  // namespace tenon::data

#endif
