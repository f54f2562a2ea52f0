#include "apps/tenon/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "apps/tenon/output.h"

namespace tenon::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);
constexpr int kBarWidth = 30;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string bar_text(double part) {
  const int filled = static_cast<int>(part * kBarWidth);
  return std::string(static_cast<size_t>(filled), '=') + std::string(static_cast<size_t>(kBarWidth - filled), ' ');
}

}  // namespace

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} kB", bytes / 1e3);
}

std::string count_text(int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string time_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

ByteProgress::ByteProgress(std::string label) : label_(std::move(label)), is_terminal_(isatty(STDERR_FILENO) != 0) {
  begun_ = shown_ = Clock::now();
}

ByteProgress::~ByteProgress() {
  if (is_drawn_) tell("\r\033[K");
}

void ByteProgress::show(int64_t done, int64_t total) {
  const auto now = Clock::now();
  if (first_ < 0) first_ = done;
  if (now - shown_ < (is_terminal_ ? Clock::duration(kRedraw) : Clock::duration(kLineEvery))) return;
  shown_ = now;
  const double rate = static_cast<double>(done - first_) / std::max(seconds(now - begun_), 1e-3);
  const double part = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  const std::string left = rate > 0 ? time_text(static_cast<double>(total - done) / rate) : "?";
  const std::string figures = fmt::format("{} of {}, {}/s, {} left", bytes_text(static_cast<double>(done)),
                                          bytes_text(static_cast<double>(total)), bytes_text(rate), left);
  if (is_terminal_) {
    tell(fmt::format("\r\033[K{} [{}] {:3.0f}%  {}", label_, bar_text(part), 100 * part, figures));
    is_drawn_ = true;
  } else {
    tell(fmt::format("{}: {:.0f}%, {}\n", label_, 100 * part, figures));
  }
}

}  // namespace tenon::cli
