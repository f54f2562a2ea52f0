// Files are read and replaced, and nothing else is: no device, no pipe, nothing behind a link in our own folders; and a
// file that loses its bytes while it is read is an error.

#include "tenon/io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/io/links.h"
#include "tenon/io/npy.h"
#include "tenon/io/safetensors.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tests/io/support.h"

namespace tenon::io {
namespace {

class Files : public InFolder {
 protected:
  std::string write_refusal(const fs::path& file) {
    return refusal_by("test", file, [&] {
      ReplacingFile replacing("test", file);
      replacing.write("x");
      replacing.commit();
    });
  }
};

TEST_F(Files, PipesAndDevicesAreNeverReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(write_refusal(path("pipe")), "cannot be written: it is a pipe; name a file");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  fs::create_symlink(path("pipe"), path("link"));
  EXPECT_EQ(write_refusal(path("link")), "cannot be written: it is a pipe; name a file");
  EXPECT_EQ(write_refusal(folder_), "cannot be written: it is a folder; name a file");
  EXPECT_EQ(write_refusal("/dev/stdout"), "cannot be written: it is no place for files; name a file elsewhere");
  EXPECT_EQ(write_refusal("/dev/null"), "cannot be written: it is no place for files; name a file elsewhere");
  EXPECT_EQ(write_refusal("/dev/../dev/fd/1"), "cannot be written: it is no place for files; name a file elsewhere");
}

TEST_F(Files, APipeIsNotReadAsAFile) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal_by("test", path("pipe"), [&] { MappedFile::open("test", path("pipe")); }),
            "is not a regular file but a pipe; write it to one first");
}

TEST_F(Files, ALinkLeadsToTheFileThatIsToBeWritten) {
  write("target", "old");
  fs::create_directory(folder_ / "runs");
  fs::create_symlink("target", path("one"));
  fs::create_symlink(path("one"), path("two"));
  fs::create_symlink("runs/nowhere", path("dangling"));
  EXPECT_EQ(fs::canonical(behind_links("test", path("two"))), fs::canonical(path("target")));
  EXPECT_EQ(behind_links("test", path("dangling")), folder_ / "runs/nowhere");
  EXPECT_EQ(behind_links("test", path("target")), path("target"));
  EXPECT_EQ(behind_links("test", "/dev/stdout"), fs::path("/dev/stdout"));  // which the writer refuses
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  EXPECT_EQ(refusal_by("test", path("a"), [&] { behind_links("test", path("a")); }),
            "cannot be written: its links lead in a circle, or there are too many");
}

TEST_F(Files, APrivateFileStaysPrivate) {
  write("private", "old");
  fs::permissions(path("private"), fs::perms::owner_read | fs::perms::owner_write);
  ReplacingFile file("test", path("private"));
  file.write("new");
  file.commit();
  EXPECT_EQ(content_of(path("private")), "new");
  EXPECT_EQ(fs::status(path("private")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, ALinkIsReplacedAndNotWhatItLeadsTo) {
  write("target", "old");
  fs::create_symlink("target", path("link"));
  fs::create_symlink("nowhere", path("dangling"));
  for (const char* name : {"link", "dangling"}) {
    ReplacingFile file("test", path(name));
    file.write("mine");
    file.commit();
    EXPECT_FALSE(fs::is_symlink(path(name)));
    EXPECT_EQ(content_of(path(name)), "mine");
  }
  EXPECT_EQ(content_of(path("target")), "old");
  EXPECT_FALSE(fs::exists(path("nowhere")));
}

class Apart : public InFolder {
 protected:
  Apart() {
    fs::create_directories(path("model/parts"));
    write("model/a", "x");
    write("other", "y");
  }
  std::string refusal(const fs::path& out, const fs::path& read) const {
    const fs::path all[] = {read};
    return refusal_by("test", out, [&] { require_apart("test", out, all); });
  }
};

TEST_F(Apart, WhatIsElsewhereIsFine) {
  EXPECT_EQ(refusal(path("new"), path("model")), "nothing was thrown");
  EXPECT_EQ(refusal(path("model/b"), path("model/a")), "nothing was thrown");
  EXPECT_EQ(refusal(path("model"), path("other")), "nothing was thrown");
  EXPECT_EQ(refusal(path("model2"), path("model")), "nothing was thrown");
  EXPECT_EQ(refusal(path("new"), ""), "nothing was thrown");
}

TEST_F(Apart, AnOutputIsNotWhatIsRead) {
  const std::string same = "is what is read; write to another name";
  EXPECT_EQ(refusal(path("other"), path("other")), same);
  EXPECT_EQ(refusal(path("model/../other"), path("other")), same);
  EXPECT_EQ(refusal(path("model/"), path("model")), same);
  fs::create_symlink("other", path("link"));
  EXPECT_EQ(refusal(path("link"), path("other")), same);
  EXPECT_EQ(refusal(path("other"), path("link")), same);
  fs::create_hard_link(path("other"), path("twin"));
  EXPECT_EQ(refusal(path("twin"), path("other")), same);
}

TEST_F(Apart, AnOutputLiesInNothingThatIsRead) {
  const std::string inside = "lies in " + path("model").string() + ", which is read; write elsewhere";
  EXPECT_EQ(refusal(path("model/a"), path("model")), inside);
  EXPECT_EQ(refusal(path("model/new"), path("model")), inside);
  EXPECT_EQ(refusal(path("model/new/deeper/"), path("model")), inside);
  fs::create_directory_symlink("model/parts", path("parts"));
  EXPECT_EQ(refusal(path("parts/new"), path("model")), inside);
  fs::create_symlink(path("model/a"), path("link"));
  EXPECT_EQ(refusal(path("link"), path("model")), inside);
}

TEST_F(Apart, AnOutputHoldsNothingThatIsRead) {
  EXPECT_EQ(refusal(path("model"), path("model/a")),
            "holds " + path("model/a").string() + ", which is read; write elsewhere");
  EXPECT_EQ(refusal(folder_, path("model")), "holds " + path("model").string() + ", which is read; write elsewhere");
  fs::create_directory(path("out"));
  fs::create_hard_link(path("model/a"), path("out/a"));
  const std::string shared =
      "has a file under another name that belongs to " + path("model").string() + ", which is read; write elsewhere";
  EXPECT_EQ(refusal(path("out"), path("model")), shared);
  EXPECT_EQ(refusal(path("out/a"), path("model")), shared);
}

TEST_F(Apart, LinksThatLeadInCirclesEnd) {
  fs::create_symlink("two", path("one"));
  fs::create_symlink("one", path("two"));
  EXPECT_EQ(refusal(path("one/x"), path("other")), "nothing was thrown");
  EXPECT_EQ(refusal(path("new"), path("one")), "nothing was thrown");
}

TEST_F(Files, WhatAKilledWriterLeftIsSwept) {
  const pid_t child = fork();
  if (child == 0) {
    ReplacingFile file("test", path("report"));
    file.write("half");
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(files(), (std::vector<std::string>{fmt::format("report.{}-0.tmp", child)}));
  write(fmt::format("report.{}-0.tmp.txt", child), "somebody's");
  write("other.999999999-0.tmp", "of another file");
  ReplacingFile file("test", path("report"));
  file.write("whole");
  file.commit();
  EXPECT_EQ(files(),
            (std::vector<std::string>{"other.999999999-0.tmp", "report", fmt::format("report.{}-0.tmp.txt", child)}));
}

TEST_F(Files, AWriterThatLivesIsLeftAlone) {
  ReplacingFile first("test", path("report"));
  ReplacingFile second("test", path("report"));
  EXPECT_EQ(files().size(), 2U);
  first.commit();
  second.commit();
}

// Four pages of floats.
constexpr int64_t kNumbers = 16384;

TEST_F(Files, AFileThatIsCutWhileItsTensorsAreInUseIsAnError) {
  save_safetensors(path("a.safetensors"), {{"x", ones({kNumbers})}});
  {
    const Tensor x = load_safetensors(path("a.safetensors")).tensors.at("x");
    EXPECT_EQ(x.sum().item<float>(), kNumbers);
    fs::resize_file(path("a.safetensors"), 100);
    const std::string text = text_of([&] { (x * 2.0).sum().item<float>(); });
    EXPECT_EQ(text, "[file] " + path("a.safetensors").string() +
                        ": was cut, or could not be read any more, while it was in use; bring it back whole and start "
                        "again");
    EXPECT_EQ(text_of([&] { (x * 3.0).sum().item<float>(); }), text);  // and stays one
  }
  EXPECT_EQ(ones({3}).sum().item<float>(), 3);  // others go on when it is gone
}

TEST_F(Files, ACutFileSaysSoWhoeverReadsIt) {
  save_npy(path("a.npy"), ones({kNumbers}));
  const auto file = MappedFile::open("test", path("a.npy"));
  EXPECT_EQ(text_of([&] { file->require_whole(); }), "nothing was thrown");
  fs::resize_file(path("a.npy"), 4096 * 3 + 100);  // within a page that is there: nothing faults
  EXPECT_NE(text_of([&] { file->require_whole(); }).find("was cut"), std::string::npos);
}

TEST_F(Files, AFileOfHolesIsNotTakenForItsLength) {
  std::ofstream(path()) << "start";
  fs::resize_file(path(), uintmax_t{8} << 30);
  const std::string text = refusal_by("test", path(), [&] { MappedFile::open("test", path()); });
  EXPECT_TRUE(text.starts_with("says it has 8589934592 bytes, but only ")) << text;
  fs::resize_file(path(), 1 << 20);  // a small one costs nothing
  EXPECT_EQ(MappedFile::open("test", path())->bytes().size(), 1U << 20);
}

}  // namespace
}  // namespace tenon::io
