// The progress line fits its terminal, and plain output is plain.

#include "tenon/watch/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "tests/watch/support.h"

namespace tenon::watch {
namespace {

ProgressState state_at(int64_t step, int64_t total) {
  ProgressState state;
  state.last = {
      .step = step, .loss = 3.2145, .lr = 6e-4, .items_per_second = 41234.5, .resident_bytes = int64_t{3} << 29};
  state.total_steps = total;
  state.validation_loss = 3.4;
  state.seconds_remaining = 3753;
  return state;
}

int columns_of(const std::string& line) {
  return static_cast<int>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(ProgressLine, HasEverythingWhereThereIsRoom) {
  EXPECT_EQ(progress_line(state_at(1500, 3000), 200, false),
            " 50% [################................]  1500/3000  loss 3.2145  val 3.4000  lr 6.00e-04  41.2k tok/s  "
            "1:02:33 left  1.5 GiB");
}

TEST(ProgressLine, ShowsTheMetricsOfItsTask) {
  ProgressState state = state_at(1500, 3000);
  state.last.unit = "images";
  state.validation_metrics = {{"accuracy", 0.98765}};
  EXPECT_EQ(
      progress_line(state, 200, false),
      " 50% [################................]  1500/3000  loss 3.2145  val 3.4000  accuracy 0.9877  lr 6.00e-04  "
      "41.2k images/s  1:02:33 left  1.5 GiB");
}

TEST(ProgressLine, BarMovesByEighths) {
  EXPECT_NE(progress_line(state_at(1, 256), 200, true).find("▕▏   "), std::string::npos);
  EXPECT_NE(progress_line(state_at(4, 256), 200, true).find("▕▌   "), std::string::npos);
  EXPECT_NE(progress_line(state_at(256, 256), 200, true).find("█▏"), std::string::npos);
}

TEST(ProgressLine, FitsEveryWidth) {
  for (const bool utf8 : {false, true}) {
    for (int columns = 0; columns <= 160; ++columns) {
      for (const int64_t step : {0, 1, 999, 3000, 4000}) {
        EXPECT_LE(columns_of(progress_line(state_at(step, 3000), columns, utf8)), columns);
      }
    }
  }
}

TEST(ProgressLine, LossIsTheLastToGo) {
  EXPECT_EQ(progress_line(state_at(1500, 3000), 24, true), "1500/3000  loss 3.2145");
  EXPECT_EQ(progress_line(state_at(1500, 3000), 40, true), "1500/3000  loss 3.2145  1:02:33 left");
}

TEST(ProgressLine, SurvivesNumbersThatAreNotFinite) {
  ProgressState state = state_at(1, 0);
  state.last.loss = state.last.items_per_second = std::nan("");
  state.seconds_remaining = std::nan("");
  const std::string line = progress_line(state, 100, false);
  EXPECT_NE(line.find("loss nan"), line.npos) << line;
  EXPECT_NE(line.find("? left"), line.npos) << line;
}

TEST(Progress, PlainOutputHasLinesAndNoControlCharacters) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress(3, file);
    progress.note("training\x1b[31m\n");
    progress.update({.step = 1, .loss = 3});
    progress.update({.step = 2, .loss = 2});  // too soon after the first
    progress.update({.step = 3, .loss = 1, .validation_loss = 1.5});
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  EXPECT_EQ(text,
            "training?[31m\n"
            " 33%  1/3  loss 3.0000  lr 0.00e+00  0 tok/s\n"
            "100%  3/3  loss 1.0000  val 1.5000  lr 0.00e+00  0 tok/s\n");
}

/// A terminal of its own for a test.
class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
    int inside = -1;
    if (openpty(&outside_, &inside, nullptr, nullptr, &size) != 0)
      GTEST_SKIP() << "there is no pseudo terminal here: is /dev/pts mounted?";
    out_ = fdopen(inside, "w");
  }
  void TearDown() override {
    if (out_) std::fclose(out_);
    close(outside_);
  }
  /// What was printed since the last time.
  std::string printed() const {
    std::string text;
    char buffer[4096];
    pollfd ready{outside_, POLLIN, 0};
    while (poll(&ready, 1, 50) > 0) {
      const ssize_t bytes = read(outside_, buffer, sizeof buffer);
      if (bytes <= 0) break;
      text.append(buffer, static_cast<size_t>(bytes));
    }
    return text;
  }
  int outside_ = -1;
  std::FILE* out_ = nullptr;
};

TEST_F(Terminal, LineIsDrawnOverTheOldOne) {
  Progress progress(100, out_);
  progress.update({.step = 1, .loss = 3});
  const std::string line = progress_line({.last = {.step = 1, .loss = 3}, .total_steps = 100}, 59, true);
  EXPECT_EQ(printed(), "\r\x1b[?7l" + line + "\x1b[K\x1b[?7h");
}

TEST_F(Terminal, LineFollowsTheWidth) {
  Progress progress(100, out_);
  const winsize narrow{.ws_row = 24, .ws_col = 21, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(outside_, TIOCSWINSZ, &narrow);
  progress.update({.step = 1, .loss = 3});
  EXPECT_EQ(printed(), "\r\x1b[?7l  1/100  loss 3.0000\x1b[K\x1b[?7h");
}

TEST_F(Terminal, NotesStandAboveTheLine) {
  Progress progress(100, out_);
  progress.update({.step = 1, .loss = 3});
  const std::string drawn = printed();
  progress.note("saved");
  EXPECT_EQ(printed(), "\r\x1b[Ksaved\r\n" + drawn);
}

TEST_F(Terminal, LastStateStaysWithALineBreak) {
  Progress progress(2, out_);
  progress.update({.step = 1, .loss = 3});
  progress.update({.step = 2, .loss = 2.5});
  printed();
  progress.finish();
  const std::string text = printed();
  EXPECT_NE(text.find("100% "), text.npos) << text;
  EXPECT_NE(text.find("loss 2.5000"), text.npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n"));
  progress.finish();
  EXPECT_EQ(printed(), "");
}

}  // namespace
}  // namespace tenon::watch
