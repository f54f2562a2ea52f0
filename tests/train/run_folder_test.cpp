// The run's folder: one process at a time, and clear words about what is in the way.

#include "tenon/train/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon/train/checkpoint.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class Run : public io::InFolder {
 protected:
  Run() : InFolder("run") {}

  std::string refusal(Start start) const {
    return io::refusal_by("run", path(), [&] { RunFolder::open(path(), start); });
  }
  /// Does something in a process of its own; returns its status, which is 0 for true.
  static int in_child(const auto& action) {
    const pid_t child = fork();
    if (child == 0) _exit(action() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
};

TEST_F(Run, NewFolderHasItsParts) {
  const RunFolder run = RunFolder::open(path() / "of" / "mine", Start::fresh);
  EXPECT_FALSE(run.resumes());
  for (const fs::path& folder : {run.samples(), run.checkpoints(), run.tensorboard()})
    EXPECT_TRUE(fs::is_directory(folder));
  EXPECT_EQ(run.metrics(), path() / "of" / "mine" / "metrics.jsonl");
  EXPECT_EQ(run.config().filename(), "config.json");
  EXPECT_EQ(run.report().filename(), "report.html");
}

TEST_F(Run, FreshStartKeepsAnEarlierRun) {
  RunFolder::open(path(), Start::fresh);
  write("run/metrics.jsonl", "{}\n");
  EXPECT_EQ(refusal(Start::fresh), "holds a run already; resume it or choose another folder");
  EXPECT_TRUE(RunFolder::open(path(), Start::resume).resumes());
  EXPECT_TRUE(RunFolder::open(path(), Start::resume_or_fresh).resumes());
}

TEST_F(Run, FolderOfARunThatNeverBeganIsFresh) {
  RunFolder::open(path(), Start::fresh);
  write("run/metrics.jsonl", "");
  write("run/config.json", "{}");
  EXPECT_FALSE(RunFolder::open(path(), Start::fresh).resumes());
}

TEST_F(Run, AFolderWithOtherThingsIsRefusedAndStaysAsItIs) {
  fs::create_directory(path());
  EXPECT_EQ(RunFolder::open(path(), Start::fresh).path(), path());  // an empty one is fine
  EXPECT_EQ(RunFolder::open(path(), Start::fresh).path(), path());  // and so is what that has left
  fs::remove_all(path());
  fs::create_directory(path());
  write("run/report.html", "mine");
  const std::string other =
      "is not empty and no run of tenon: report.html lies in it; choose a folder that is new or empty";
  EXPECT_EQ(refusal(Start::fresh), other);
  EXPECT_EQ(refusal(Start::resume_or_fresh), other);
  EXPECT_EQ(std::distance(fs::directory_iterator(path()), fs::directory_iterator()), 1);
  fs::remove(path() / "report.html");
  write("run/.lock", "4711\n");  // of another program
  EXPECT_EQ(refusal(Start::fresh),
            "is not empty and no run of tenon: .lock lies in it; choose a folder that is new or empty");
  write("run/.lock", "");  // killed before it said whose it is
  EXPECT_EQ(RunFolder::open(path(), Start::fresh).path(), path());
}

TEST_F(Run, SomebodysCheckpointsGetNoLock) {
  fs::create_directories(path() / "checkpoints");
  write("run/checkpoints/theirs.bin", "x");
  EXPECT_EQ(refusal(Start::fresh), "holds a run already; resume it or choose another folder");
  EXPECT_FALSE(fs::exists(path() / ".lock"));
}

// Many programs call their files so.
TEST_F(Run, NamesAloneMakeNoRun) {
  fs::create_directories(path() / "checkpoints");
  fs::create_directories(path() / "model");
  write("run/config.json", R"({"lr": 0.1})");
  write("run/metrics.jsonl", "");
  write("run/report.html", "mine");
  EXPECT_FALSE(is_run(path()));
  EXPECT_TRUE(refusal(Start::fresh).starts_with("is not empty and no run of tenon: ")) << refusal(Start::fresh);
  write("run/metrics.jsonl", "{}\n");  // as if it had taken steps
  EXPECT_TRUE(refusal(Start::resume).starts_with("is not empty and no run of tenon: ")) << refusal(Start::resume);
  EXPECT_TRUE(refusal(Start::resume_or_fresh).starts_with("is not empty and no run of tenon: "));
  fs::create_directories(path() / "checkpoints/step_00000001");
  write("run/checkpoints/step_00000001/checkpoint.json", "{}");
  EXPECT_FALSE(is_run(path()));
  EXPECT_EQ(io::content_of(path() / "report.html"), "mine");
  EXPECT_FALSE(fs::exists(path() / ".lock"));
}

TEST_F(Run, ALockThatIsAPipeIsCalledOne) {
  { const RunFolder run = RunFolder::open(path(), Start::fresh); }
  write("run/metrics.jsonl", "{}\n");
  write("run/config.json", to_json(Config{}));
  save_checkpoint(path() / "checkpoints", {1, "{}", {}});
  fs::remove(path() / ".lock");
  EXPECT_TRUE(is_run(path()));  // a copy loses hidden files
  ASSERT_EQ(mkfifo((path() / ".lock").c_str(), 0666), 0);
  EXPECT_EQ(refusal(Start::resume), "its .lock is no file; remove it");
}

TEST_F(Run, OwnsItsPartsAndNotWhatIsKeptBesideThem) {
  { const RunFolder run = RunFolder::open(path(), Start::fresh); }
  const fs::path place = fs::canonical(path());
  EXPECT_EQ(run_owning(path()), place);
  EXPECT_EQ(run_owning(path() / "config.json"), place);
  EXPECT_EQ(run_owning(path() / "model/config.json"), place);
  EXPECT_EQ(run_owning(path() / "checkpoints/step_00000001/state.safetensors"), place);
  EXPECT_EQ(run_owning(path() / "mine.tokens"), std::nullopt);
  EXPECT_EQ(run_owning(folder_ / "model"), std::nullopt);
  fs::create_directory_symlink("run/checkpoints", path("link"));
  EXPECT_EQ(run_owning(path("link") / "x"), place);
  EXPECT_EQ(io::refusal_by("run", path() / "model", [&] { RunFolder::open(path() / "model", Start::fresh); }),
            "belongs to another run, " + place.string() + "; choose a folder outside of it");
}

TEST_F(Run, WhoCannotHaveTheLockTakesNothingAway) {
  const RunFolder held = RunFolder::open(path(), Start::fresh);
  write("run/config.json", "theirs");
  EXPECT_NE(refusal(Start::fresh), "nothing was thrown");
  EXPECT_TRUE(fs::exists(path() / "config.json"));
  EXPECT_TRUE(fs::exists(held.checkpoints()));
}

TEST_F(Run, ResumeNeedsARun) {
  EXPECT_EQ(refusal(Start::resume), "there is no run to resume; start a new one or name the folder of a run");
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_FALSE(RunFolder::open(path(), Start::resume_or_fresh).resumes());
}

TEST_F(Run, SecondProcessIsRefusedWithTheFirstOnesNumber) {
  const RunFolder run = RunFolder::open(path(), Start::fresh);
  const std::string wanted =
      fmt::format("process {} is training in this folder; wait for it or choose another", getpid());
  EXPECT_EQ(in_child([&] { return refusal(Start::fresh) == wanted; }), 0);
  EXPECT_EQ(refusal(Start::fresh), wanted);  // nor may this process open it twice
}

TEST_F(Run, LockOfADeadProcessDoesNotMatter) {
  int status = in_child([&] {
    const RunFolder run = RunFolder::open(path(), Start::fresh);
    return std::raise(SIGKILL) == 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(path() / ".lock"));
  EXPECT_EQ(RunFolder::open(path(), Start::fresh).path(), path());
}

TEST_F(Run, LockGoesWithTheObject) {
  RunFolder first = RunFolder::open(path(), Start::fresh);
  { const RunFolder moved = std::move(first); }
  RunFolder::open(path(), Start::fresh);
}

TEST_F(Run, FileInTheWayIsOneLine) {
  write("run", "");
  EXPECT_EQ(refusal(Start::fresh), "is not a folder");
}

TEST_F(Run, FolderWithoutPermissionIsOneLine) {
  fs::create_directory(path());
  const fs::perms reading =
      fs::perms::all & ~(fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write);
  fs::permissions(path(), reading);
  fs::permissions(folder_, fs::perms::all);
  const int status = in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) < 0) return false;  // root may write everywhere
    return refusal(Start::fresh) == "cannot be written: Permission denied; choose a folder that can";
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tenon::train
