// Samples of a run: written and read back by step.

#include "tenon/watch/samples.h"

#include <gtest/gtest.h>

#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

class Samples : public InFolder {
 protected:
  Samples() : InFolder("run") { fs::create_directories(path() / "samples"); }
};

TEST_F(Samples, ComeBackByStep) {
  write_sample(path(), {1000, "later"});
  write_sample(path(), {20, "earlier"});
  write_sample(path(), {123456789, "much later"});
  EXPECT_TRUE(fs::exists(path() / "samples" / "step_00000020.txt"));
  write("run/samples/step_.txt", "");
  write("run/samples/step_12.txt.tmp", "");
  const std::vector<Sample> samples = read_samples(path());
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].text, "earlier");
  EXPECT_EQ(samples[1].step, 1000);
  EXPECT_EQ(samples[2].step, 123456789);
  EXPECT_TRUE(read_samples(path("nowhere")).empty());
}

TEST_F(Samples, PicturesLieBesideTheirText) {
  write_sample(path(), {10, "text", "the bytes of a PNG"});
  write_sample(path(), {20, "text alone"});
  EXPECT_TRUE(fs::exists(path() / "samples" / "step_00000010.png"));
  const std::vector<Sample> samples = read_samples(path());
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].picture, "the bytes of a PNG");
  EXPECT_EQ(samples[1].picture, "");
}

TEST_F(Samples, OfLaterStepsAreRemoved) {
  for (const int64_t step : {10, 20, 30}) write_sample(path(), {step, "text", "picture"});
  remove_samples_after(path(), 20);
  EXPECT_FALSE(fs::exists(path() / "samples" / "step_00000030.png"));
  const std::vector<Sample> left = read_samples(path());
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left.back().step, 20);
}

}  // namespace
}  // namespace tenon::watch
