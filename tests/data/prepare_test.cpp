// prepare: the tokens are those of the documents, in order, whatever the threads; and a run that is killed at any point
// ends, when continued, with the same bytes as one that was not.

#include "tenon/data/prepare.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tenon/data/journal.h"
#include "tenon/data/stories.h"
#include "tenon/data/tokenizer_fingerprint.h"
#include "tenon/text/char_tokenizer.h"
#include "tests/data/compress.h"
#include "tests/data/support.h"

namespace tenon::data {
namespace {

class Prepare : public InFolder {
 protected:
  Prepare() : InFolder("out.tokens") {}

  PrepareOptions from(std::vector<fs::path> inputs) const { return {.inputs = std::move(inputs), .out = path()}; }
  std::string refusal(const PrepareOptions& options) const {
    const std::string text = text_of([&] { prepare(bytes_, options); });
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  /// Three files of different kinds, some megabytes of text.
  std::vector<fs::path> corpus() const {
    std::string lines;
    StoryTeller teller(9);
    for (int i = 0; i < 500; ++i) {
      std::string story = teller.next();
      for (size_t at = 0; (at = story.find_first_of("\"\n", at)) != story.npos; at += 2) {
        story.replace(at, 1, story[at] == '"' ? "\\\"" : "\\n");
      }
      lines += "{\"text\": \"" + story + "\"}\n";
    }
    return {write("a.txt", stories(1'500'000, 1, "\n<|endoftext|>\n")), write("b.jsonl.gz", gzipped(lines)),
            write("c.txt.zst", zstd_packed(stories(700'000, 2)))};
  }

  ByteTokenizer bytes_;
};

TEST_F(Prepare, DocumentsAreFollowedByTheEndOfText) {
  const Prepared done = prepare(bytes_, from({write("a.txt", "ab<|endoftext|>c"), write("b.txt", "d")}));
  EXPECT_EQ(tokens_in(path()), (std::vector<int32_t>{'a', 'b', 256, 'c', 256, 'd', 256}));
  EXPECT_EQ(done.tokens, 7);
  EXPECT_EQ(done.documents, 3);
  EXPECT_EQ(done.bytes, 17);
  const auto file = TokenFile::open(path());
  EXPECT_EQ(file->header().documents, 3);
  EXPECT_EQ(file->vocabulary(), 257);
  EXPECT_EQ(file->header().tokenizer, tokenizer_fingerprint(bytes_));
}

TEST_F(Prepare, WithoutAnEndOfTextAnEmptyLineFollows) {
  prepare(ByteTokenizer(256, false), from({write("a.txt", "ab<|endoftext|>c")}));
  EXPECT_EQ(bytes_.decode(tokens_in(path())), "ab\n\nc\n\n");
}

TEST_F(Prepare, ATokenizerThatCannotSpellAnEmptyLineGetsNone) {
  text::CharModel three;
  three.characters = {'a', 'b', 'c'};
  const text::CharTokenizer letters(three);
  prepare(letters, from({write("a.txt", "ab<|endoftext|>c")}));
  EXPECT_EQ(letters.decode(tokens_in(path())), "abc");
}

TEST_F(Prepare, EmptyDocumentsLeaveNothing) {
  prepare(bytes_, from({write("a.jsonl", "{\"text\": \"\"}\n{\"text\": \"x\"}\n"), write("b.txt", "")}));
  EXPECT_EQ(tokens_in(path()), (std::vector<int32_t>{'x', 256}));
}

TEST_F(Prepare, LargeVocabulariesTakeFourBytes) {
  prepare(ByteTokenizer(100'000), from({write("a.txt", "x")}));
  EXPECT_EQ(TokenFile::open(path())->header().token_bytes, 4);
}

TEST_F(Prepare, MarkupIsTakenOff) {
  const std::string dump =
      "<mediawiki><page><title>Tea</title><ns>0</ns><revision><text>'''Tea''' is [[hot]].</text></revision></page>"
      "<page><title>None</title><ns>0</ns><revision><text>{{x}}</text></revision></page></mediawiki>";
  prepare(bytes_, from({write("dump.xml.bz2", bzipped(dump))}));
  auto tokens = tokens_in(path());
  tokens.pop_back();
  EXPECT_EQ(bytes_.decode(tokens), "Tea\n\nTea is hot.");
}

TEST_F(Prepare, ThreadsChangeNothing) {
  PrepareOptions options = from(corpus());
  options.threads = 1;
  prepare(bytes_, options);
  const std::string one = content_of(path());
  for (const int threads : {2, 5}) {
    options.threads = threads;
    prepare(bytes_, options);
    EXPECT_TRUE(content_of(path()) == one) << threads;
  }
}

TEST_F(Prepare, TheLastPartGoesToItsOwnFile) {
  PrepareOptions options = from({write("a.txt", "0123456<|endoftext|>7")});
  options.validation_fraction = 0.3;
  options.validation_out = path("validation.tokens");
  const Prepared done = prepare(bytes_, options);
  EXPECT_EQ(tokens_in(path()), (std::vector<int32_t>{'0', '1', '2', '3', '4', '5', '6'}));
  EXPECT_EQ(tokens_in(path("validation.tokens")), (std::vector<int32_t>{256, '7', 256}));
  EXPECT_EQ(done.tokens, 7);
  EXPECT_EQ(done.validation_tokens, 3);
  EXPECT_EQ(TokenFile::open(path("validation.tokens"))->header().documents, 2);
  EXPECT_EQ(files(), (std::vector<std::string>{"a.txt", "out.tokens", "validation.tokens"}));
}

TEST_F(Prepare, PiecesOfALongTextAreTheTokensOfTheWhole) {
  const fs::path shared = io::shared_data();
  if (!fs::exists(shared)) GTEST_SKIP() << shared << " is not there";
  const auto tokenizer = text::load_tokenizer(shared / "gpt2_bpe");
  const fs::path input = shared / "enwiki/enwiki_plain.txt";
  prepare(*tokenizer, from({input}));
  auto expected = tokenizer->encode(content_of(input));
  expected.push_back(50256);
  EXPECT_TRUE(tokens_in(path()) == expected);
}

// ---- Killed and continued -----------------------------------------------------------------------------------------

class Killed : public Prepare {
 protected:
  const std::string kStart = "{\n \"about\": \"journal of an unfinished tenon data prepare\"";

  /// Runs in a process of its own that is killed, without a chance to clean up, after so many units of work. False
  /// where it was done before.
  bool killed_after(PrepareOptions options, int units) const {
    const pid_t child = fork();
    if (child == 0) {
      options.progress = [&](const PrepareProgress&) {
        if (--units == 0) raise(SIGKILL);
      };
      try {
        prepare(bytes_, options);
      } catch (const std::exception&) {
        _exit(2);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }

  void check_same_bytes(int64_t checkpoint_bytes, int units) {
    PrepareOptions options = from(corpus());
    options.checkpoint_bytes = checkpoint_bytes;
    options.validation_fraction = 0.1;
    options.validation_out = path("validation.tokens");
    prepare(bytes_, options);
    const std::string train = content_of(path()), validation = content_of(options.validation_out);
    fs::remove(path());
    fs::remove(options.validation_out);

    int kills = 0;
    while (killed_after(options, units)) {
      ++kills;
      EXPECT_FALSE(fs::exists(path()));
      EXPECT_TRUE(fs::exists(journal_path(path())));
      ASSERT_LT(kills, 100);
    }
    EXPECT_GE(kills, 2);
    EXPECT_TRUE(content_of(path()) == train);
    EXPECT_TRUE(content_of(options.validation_out) == validation);
    EXPECT_EQ(files(),
              (std::vector<std::string>{"a.txt", "b.jsonl.gz", "c.txt.zst", "out.tokens", "validation.tokens"}));
  }
};

TEST_F(Killed, AtCheckpointsEndsWithTheSameBytes) { check_same_bytes(1, 1); }
TEST_F(Killed, BetweenCheckpointsEndsWithTheSameBytes) { check_same_bytes(400'000, 4); }

TEST_F(Killed, ContinuingSaysSo) {
  PrepareOptions options = from(corpus());
  options.checkpoint_bytes = 1;
  ASSERT_TRUE(killed_after(options, 2));
  options.unfinished = Unfinished::kMustContinue;
  EXPECT_GT(prepare(bytes_, options).continued_tokens, 100'000);
}

// The last moment: the file has its name, and the journal, which says what is in it, is still there.
TEST_F(Killed, BetweenTheRenameAndTheCleanUpIsFinished) {
  PrepareOptions options = from(corpus());
  options.checkpoint_bytes = 1;
  ASSERT_TRUE(killed_after(options, 2));
  Journal journal = *read_journal(path());
  const Prepared whole = prepare(bytes_, options);
  const std::string bytes = content_of(path());
  const TokenFileHeader header = TokenFile::open(path())->header();
  journal.progress.file = 3;
  journal.progress.position = {};
  journal.progress.written = {header.tokens, header.documents, header.checksum};
  write_journal(path(), journal);

  const Prepared again = prepare(bytes_, options);
  EXPECT_EQ(again.tokens, whole.tokens);
  EXPECT_EQ(again.documents, whole.documents);
  EXPECT_EQ(again.continued_tokens, whole.tokens);
  EXPECT_TRUE(content_of(path()) == bytes);
  EXPECT_EQ(files(), (std::vector<std::string>{"a.txt", "b.jsonl.gz", "c.txt.zst", "out.tokens"}));
}

TEST_F(Killed, OtherRunsAreNotContinued) {
  const auto inputs = corpus();
  PrepareOptions options = from(inputs);
  options.checkpoint_bytes = 1;
  ASSERT_TRUE(killed_after(options, 2));
  const std::string other =
      "[prepare] " + path().string() +
      ": an unfinished run had other inputs, options or another tokenizer; begin anew with --restart";
  EXPECT_EQ(text_of([&] { prepare(ByteTokenizer(300), options); }), other);
  EXPECT_EQ(refusal(from({inputs[0]})), other);
  std::ofstream(inputs[1], std::ios::app) << "x";
  EXPECT_EQ(refusal(options), other);
  options = from({inputs[0]});
  options.unfinished = Unfinished::kBeginAnew;
  EXPECT_EQ(prepare(bytes_, options).continued_tokens, 0);
}

TEST_F(Killed, ALostOrDamagedPartIsNotContinued) {
  PrepareOptions options = from(corpus());
  options.checkpoint_bytes = 1;
  ASSERT_TRUE(killed_after(options, 2));
  const fs::path partial = TokenFileWriter::partial_path(path());
  std::string content = content_of(partial);
  content[1000] ^= 1;
  write(partial.filename().string(), content);
  EXPECT_NE(refusal(options).find("is damaged; begin anew with --restart"), std::string::npos);
  fs::remove(partial);
  EXPECT_NE(refusal(options).find("is gone; begin anew with --restart"), std::string::npos);
  write("out.tokens.journal", kStart);
  EXPECT_NE(refusal(options).find("this journal of an unfinished run is damaged; begin anew with --restart"),
            std::string::npos);
  options.unfinished = Unfinished::kBeginAnew;
  EXPECT_EQ(prepare(bytes_, options).continued_tokens, 0);
}

TEST_F(Killed, ADeepJournalIsDamaged) {
  PrepareOptions options = from({write("a.txt", "x")});
  write("out.tokens.journal", kStart + ", \"run\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  EXPECT_EQ(refusal(options), "[prepare] " + path("out.tokens.journal").string() +
                                  ": nests deeper than 64 levels (at byte 130 of it); this journal of an unfinished "
                                  "run is damaged; begin anew with --restart");
}

// ---- Files of others ----------------------------------------------------------------------------------------------

TEST_F(Killed, BeforeTheFirstCheckpointLeavesWhatTheNextRunTakes) {
  const PrepareOptions options = from(corpus());
  ASSERT_TRUE(killed_after(options, 2));
  EXPECT_TRUE(fs::exists(path("out.tokens.partial")));
  EXPECT_FALSE(fs::exists(path("out.tokens.journal")));
  prepare(bytes_, options);
  EXPECT_EQ(files(), (std::vector<std::string>{"a.txt", "b.jsonl.gz", "c.txt.zst", "out.tokens"}));
}

// Between the header and the name of the part for validation, which has no journal of its own.
TEST_F(Killed, WithAFinishedPartUnderItsOtherNameItIsTaken) {
  PrepareOptions options = from({write("a.txt", "0123456789")});
  options.validation_fraction = 0.5;
  options.validation_out = path("v");
  prepare(bytes_, options);
  fs::rename(path("v"), path("v.partial"));
  prepare(bytes_, options);
  EXPECT_EQ(files(), (std::vector<std::string>{"a.txt", "out.tokens", "v"}));
  fs::rename(path("v"), path("v.partial"));
  const std::string theirs = text_of([&] { prepare(ByteTokenizer(300), options); });  // of another tokenizer
  EXPECT_NE(theirs.find("v.partial, which is needed meanwhile, is somebody else's"), std::string::npos) << theirs;
}

TEST_F(Prepare, SomebodysPartialIsNotTaken) {
  PrepareOptions options = from({write("a.txt", "x")});
  write("out.tokens.partial", "a download of hours");
  const std::string refused = "[tokens] " + path().string() +
                              ": cannot be written: " + path("out.tokens.partial").string() +
                              ", which is needed meanwhile, is somebody else's; move it away or name another file";
  EXPECT_EQ(refusal(options), refused);
  options.unfinished = Unfinished::kBeginAnew;
  EXPECT_EQ(refusal(options), refused);
  EXPECT_EQ(content_of(path("out.tokens.partial")), "a download of hours");
  fs::rename(path("out.tokens.partial"), path("elsewhere"));
  fs::create_symlink("elsewhere", path("out.tokens.partial"));
  EXPECT_EQ(refusal(options), refused);
  EXPECT_EQ(content_of(path("elsewhere")), "a download of hours");
}

TEST_F(Prepare, SomebodysJournalIsNotTaken) {
  PrepareOptions options = from({write("a.txt", "x")});
  write("out.tokens.journal", "Dear diary");
  const std::string refused =
      "[prepare] " + path("out.tokens.journal").string() +
      ": is no journal of tenon, which needs this name meanwhile; move it away or name another file";
  EXPECT_EQ(refusal(options), refused);
  options.unfinished = Unfinished::kBeginAnew;
  EXPECT_EQ(refusal(options), refused);
  EXPECT_EQ(content_of(path("out.tokens.journal")), "Dear diary");
}

TEST_F(Prepare, WhatIsNeededMeanwhileIsNothingThatIsReadOrWritten) {
  const auto meanwhile = [&](const std::string& name, const std::string& what) {
    return "[prepare] " + path(name).string() + ": is needed meanwhile, but is what is " + what +
           "; write to another file";
  };
  for (const std::string name : {"out.tokens.partial", "out.tokens.journal"}) {
    EXPECT_EQ(refusal(from({write(name, "some text")})), meanwhile(name, "read"));
    EXPECT_EQ(content_of(path(name)), "some text");
    PrepareOptions options = from({write("a.txt", "x")});
    options.also_read = {path(name)};
    EXPECT_EQ(refusal(options), meanwhile(name, "read"));
    fs::remove(path(name));
    options.also_read = {};
    options.validation_fraction = 0.5;
    options.validation_out = path(name);
    EXPECT_EQ(refusal(options), meanwhile(name, "written"));
    EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
  }
  PrepareOptions options = from({write("a.txt", "x")});
  options.validation_fraction = 0.5;
  options.out = path("v.partial");
  options.validation_out = path("v");
  EXPECT_EQ(refusal(options), meanwhile("v.partial", "written"));
}

TEST_F(Prepare, ALinkIsReplacedAndNotWhatItLeadsTo) {
  write("precious", "mine");
  fs::create_symlink("precious", path());
  prepare(bytes_, from({write("a.txt", "x")}));
  EXPECT_EQ(content_of(path("precious")), "mine");
  EXPECT_EQ(tokens_in(path()), (std::vector<int32_t>{'x', 256}));
}

TEST_F(Prepare, NothingIsWrittenIntoAFolderThatIsRead) {
  fs::create_directory(path("texts"));
  write("texts/a.txt", "x");
  PrepareOptions options = from({path("texts")});
  options.out = path("texts/all.tokens");
  EXPECT_EQ(refusal(options), "[prepare] " + options.out.string() + ": lies in " + path("texts").string() +
                                  ", which is read; write elsewhere");
}

TEST_F(Killed, WithNothingToContinueResumeIsRefused) {
  PrepareOptions options = from({write("a.txt", "x")});
  options.unfinished = Unfinished::kMustContinue;
  EXPECT_EQ(refusal(options),
            "[prepare] " + path().string() + ": there is no unfinished run to continue; leave out --resume");
}

// ---- What can go wrong --------------------------------------------------------------------------------------------

TEST_F(Prepare, NothingIsLeftOfARunThatFails) {
  const std::string good = "{\"text\": \"x\"}\n";
  EXPECT_EQ(
      refusal(from({write("a.jsonl", good + "{}\n")})),
      "[corpus] " + path("a.jsonl").string() + ": line 2 has no field \"text\" (it has none): choose one with --field");
  EXPECT_EQ(files(), std::vector<std::string>{"a.jsonl"});
}

TEST_F(Prepare, AnEmptyCorpusIsRefused) {
  EXPECT_EQ(refusal(from({write("a.txt", "")})), "[prepare] the inputs hold no text; nothing was written");
  EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
}

TEST_F(Prepare, UnwritableOutputIsOneLine) {
  PrepareOptions options = from({write("a.txt", "x")});
  options.out = path("no/folder/out.tokens");
  EXPECT_EQ(refusal(options), "[tokens] " + options.out.string() + ": cannot be written: No such file or directory");
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  fs::permissions(path("a.txt"), static_cast<fs::perms>(0644));
  options.out = path("out.tokens");
  const AsNobody nobody;
  EXPECT_EQ(refusal(options), "[tokens] " + options.out.string() + ": cannot be written: Permission denied");
}

TEST_F(Prepare, FractionAndFileOfValidationBelongTogether) {
  PrepareOptions options = from({write("a.txt", "x")});
  options.validation_fraction = 0.6;
  EXPECT_EQ(refusal(options), "[prepare] a validation fraction needs a file for it: give --validation-out");
  options.validation_out = path("v");
  EXPECT_EQ(refusal(options), "[prepare] 2 tokens are too few to keep 0.6 of them for validation");
  EXPECT_EQ(files(), std::vector<std::string>{"a.txt"});
  options.validation_fraction = 0;
  EXPECT_EQ(refusal(options), "[prepare] a file for validation needs to know how much: give --validation-fraction");
  options.validation_fraction = 1;
  EXPECT_EQ(refusal(options), "[split] a validation fraction of 1: it must be at least 0 and below 1");
}

TEST_F(Prepare, AFullDiskKeepsWhatWasDone) {
  PrepareOptions options = from(corpus());
  options.checkpoint_bytes = 300'000;
  {
    const FileSizeLimit limit(3'000'000);
    EXPECT_EQ(refusal(options), "[tokens] " + path().string() +
                                    ": cannot be written: File too large (what was done until the last checkpoint is "
                                    "kept: continue with --resume)");
  }
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_GT(prepare(bytes_, options).continued_tokens, 0);
  const std::string continued = content_of(path());
  prepare(bytes_, options);
  EXPECT_TRUE(content_of(path()) == continued);
}

/// A disk of its own that really fills.
TEST_F(Prepare, ASmallDiskThatFillsIsOneLine) {
  const auto inputs = corpus();
  fs::create_directory(path("disk"));
  if (mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=2m") != 0) GTEST_SKIP() << "mounting is not permitted";
  PrepareOptions options = from(inputs);
  options.out = path("disk/out.tokens");
  const std::string text = refusal(options);
  const bool is_there = fs::exists(options.out);
  umount(path("disk").c_str());
  EXPECT_EQ(text, "[tokens] " + options.out.string() + ": cannot be written: No space left on device");
  EXPECT_FALSE(is_there);
}

TEST_F(Prepare, AJournalThatCannotBeWrittenKeepsTheOldOne) {
  PrepareOptions options = from(corpus());
  options.checkpoint_bytes = 1;
  fs::create_directory(path("out.tokens.journal"));  // nothing can be renamed to a folder
  EXPECT_NE(refusal(options).find("out.tokens.journal: "), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace
}  // namespace tenon::data
