// A full disk ends a run with one line and costs nothing but the steps since the last checkpoint: with more room it
// goes on, and ends with the same bits.

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cstring>

#include "tenon/train/checkpoint.h"
#include "tests/train/runs.h"

namespace tenon::train {
namespace {

class FullDisk : public Runs {
 protected:
  ~FullDisk() override {
    if (is_mounted_) umount2(path("disk").c_str(), MNT_DETACH);
  }

  /// A disk of this size at path("disk"), or another size for the one that is there. False where only root may.
  bool mount_disk(int64_t kilobytes) {
    fs::create_directories(path("disk"));
    const unsigned long how = is_mounted_ ? MS_REMOUNT : 0;
    const std::string size = fmt::format("size={}k", kilobytes);
    const bool mounted = mount("tmpfs", path("disk").c_str(), "tmpfs", how, size.c_str()) == 0;
    is_mounted_ |= mounted;
    return mounted;
  }

  bool is_mounted_ = false;
};

TEST_F(FullDisk, StopsTheRunWithOneLineAndLosesNoCheckpoint) {
  if (!mount_disk(100)) GTEST_SKIP() << "no disk of our own: mount says " << std::strerror(errno);
  const Config config = tiny({"checkpoint.every=1", "checkpoint.keep_last=100", "training.steps=12"});
  const Traces whole = trained("whole", config);
  // A checkpoint takes 264 kB, so that each of these sizes ends somewhere else: in the tensors, the page, the metrics.
  for (const int64_t kilobytes : {8, 40, 100, 308, 612, 616, 620, 896, 1000, 1500}) {
    ASSERT_TRUE(mount_disk(kilobytes));
    const std::string text = refusal("disk/run", config);
    EXPECT_TRUE(text.ends_with("No space left on device")) << text;
    const fs::path checkpoints = path("disk") / "run" / "checkpoints";
    for (const int64_t step : checkpoint_steps(checkpoints)) read_checkpoint(checkpoint_path(checkpoints, step));
    ASSERT_TRUE(mount_disk(64'000));
    const bool has_begun = fs::exists(path("disk") / "run" / "config.json");
    EXPECT_EQ(train_in("disk/run", config, {.resume = has_begun}).step, 12);
    EXPECT_EQ(difference(whole, traces_of(path("disk") / "run")), "") << kilobytes;
    fs::remove_all(path("disk") / "run");
  }
}

TEST_F(FullDisk, FailedCheckpointGivesItsRoomBack) {
  if (!mount_disk(1000)) GTEST_SKIP() << "no disk of our own: mount says " << std::strerror(errno);
  const Config config = tiny({"checkpoint.every=1", "checkpoint.keep_last=100"});
  const std::string text = refusal("disk/run", config);
  const fs::path checkpoints = path("disk") / "run" / "checkpoints";
  EXPECT_TRUE(text.starts_with("[checkpoint] " +
                               checkpoint_path(checkpoints, checkpoint_steps(checkpoints).back() + 1).string() +
                               ": could not be written, earlier ones are kept: "))
      << text;
  for (const auto& entry : fs::directory_iterator(checkpoints))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".unfinished")) << entry.path();
}

}  // namespace
}  // namespace tenon::train
