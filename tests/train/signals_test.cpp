// Ctrl-C: the first is a wish, the second an order.

#include "tenon/train/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tenon/base/resident.h"
#include "tests/error_text.h"

namespace tenon::train {
namespace {

TEST(StopRequest, FirstSignalIsAWish) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const StopRequest stop;
    EXPECT_FALSE(stop.requested());
    std::raise(number);
    EXPECT_TRUE(stop.requested());
    EXPECT_EQ(stop.signal(), number);
  }
}

TEST(StopRequestDeathTest, SecondSignalEndsTheProgram) {
  EXPECT_EXIT(
      {
        const StopRequest stop;
        tell_of_checkpoint();
        std::raise(SIGTERM);
        usleep(300'000);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(130), "stopped at once; the last checkpoint stands");
}

TEST(StopRequestDeathTest, WithoutACheckpointNoneIsPromised) {
  EXPECT_EXIT(
      {
        const StopRequest stop;
        std::raise(SIGTERM);
        usleep(300'000);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(130), "stopped at once; there was no checkpoint yet");
}

// `timeout` signals a process and then its group.
TEST(StopRequestDeathTest, SignalsThatComeTogetherAreOneWish) {
  EXPECT_EXIT(
      {
        const StopRequest stop;
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::raise(SIGINT);
        _exit(stop.signal() == SIGTERM ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

// A shell and the system may both tell of a terminal that is closed.
TEST(StopRequestDeathTest, TheEndOfATerminalIsNeverASecondWish) {
  EXPECT_EXIT(
      {
        const StopRequest stop;
        std::raise(SIGHUP);
        std::raise(SIGHUP);
        _exit(stop.signal() == SIGHUP ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        const StopRequest stop;
        std::raise(SIGHUP);
        usleep(300'000);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(130), "stopped at once");
}

void count_nothing(int) {}

TEST(StopRequest, OldHandlersComeBack) {
  const auto before = std::signal(SIGINT, count_nothing);
  { const StopRequest stop; }
  EXPECT_EQ(std::signal(SIGINT, before), count_nothing);
}

TEST(StopRequest, IgnoredSignalsStayIgnored) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const StopRequest stop;
    std::raise(SIGINT);
    EXPECT_FALSE(stop.requested());
  }
  std::signal(SIGINT, before);
}

TEST(StopRequest, OneAtATime) {
  const StopRequest stop;
  EXPECT_EQ(text_of([] { StopRequest second; }), "[stop_request] another one is alive; a program needs one");
}

TEST(ResidentBytes, GrowsWithWhatIsTouched) {
  const int64_t before = base::resident_bytes();
  EXPECT_GT(before, 1 << 20);
  const std::vector<char> touched(size_t{64} << 20, 1);
  EXPECT_GT(base::resident_bytes(), before + (48 << 20));
}

}  // namespace
}  // namespace tenon::train
