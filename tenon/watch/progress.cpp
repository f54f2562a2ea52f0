// The line is made by a pure function from what is known and the width; only the class knows terminals.

#include "tenon/watch/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tenon/base/environment.h"
#include "tenon/io/input.h"
#include "tenon/watch/report.h"

namespace tenon::watch {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr auto kMeasured = std::chrono::milliseconds(250);
constexpr double kMemorySeconds = 30;  // the remaining time follows changes of speed within about this time

constexpr int kShortestBar = 8, kLongestBar = 32;

/// 1234567 -> "1.23M".
std::string short_number(double number) {
  if (!std::isfinite(number)) return fmt::format("{}", number);
  for (const auto& [unit, letter] : {std::pair(1e9, 'G'), std::pair(1e6, 'M'), std::pair(1e4, 'k')}) {
    if (std::abs(number) < unit) continue;
    const double scaled = number / (letter == 'k' ? 1e3 : unit);
    return fmt::format("{:.{}f}{}", scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, letter);
  }
  return fmt::format("{:.0f}", number);
}

/// "4:05", "1:02:33", "3d 04:00".
std::string duration_text(double seconds) {
  if (!(seconds < 1e9)) return "?";
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  const int64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return fmt::format("{}d {:02}:{:02}", days, hours, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

double done(const ProgressState& state) {
  if (state.total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(state.last.step) / static_cast<double>(state.total_steps), 0.0, 1.0);
}

/// Eighths of a block make a short bar move on every step.
std::string bar(double fraction, int cells, bool utf8) {
  if (!utf8) {
    const int full = static_cast<int>(fraction * cells);
    return "[" + std::string(static_cast<size_t>(full), '#') + std::string(static_cast<size_t>(cells - full), '.') +
           "]";
  }
  static constexpr std::array<const char*, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * cells * 8);
  std::string text = "▕";
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<size_t>(eighths % 8)];
  const int empty = cells - eighths / 8 - (eighths % 8 != 0);
  return text + std::string(static_cast<size_t>(empty), ' ') + "▏";
}

enum class Part { step, loss, validation, lr, speed, remaining, memory };

struct Field {
  Part part;
  std::string text;
};

std::vector<Field> fields_of(const ProgressState& state) {
  const StepMetrics& last = state.last;
  const std::string total = fmt::format("{}", state.total_steps);
  std::vector<Field> fields;
  fields.push_back({Part::step, fmt::format("{:>{}}/{}", last.step, total.size(), total)});
  fields.push_back({Part::loss, fmt::format("loss {:.4f}", last.loss)});
  if (state.validation_loss) fields.push_back({Part::validation, fmt::format("val {:.4f}", *state.validation_loss)});
  for (const auto& [name, value] : state.validation_metrics)
    fields.push_back({Part::validation, fmt::format("{} {:.4f}", name, value)});
  fields.push_back({Part::lr, fmt::format("lr {:.2e}", last.lr)});
  const std::string_view unit = last.unit == "tokens" ? "tok" : std::string_view(last.unit);
  fields.push_back({Part::speed, fmt::format("{} {}/s", short_number(last.items_per_second), unit)});
  if (state.seconds_remaining) fields.push_back({Part::remaining, duration_text(*state.seconds_remaining) + " left"});
  if (last.resident_bytes > 0) fields.push_back({Part::memory, bytes_text(last.resident_bytes)});
  return fields;
}

int width_of(const std::vector<Field>& fields) {
  int width = 0;
  for (const Field& field : fields) width += static_cast<int>(field.text.size()) + (width > 0 ? 2 : 0);
  return width;
}

std::string joined(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) text += (text.empty() ? "" : "  ") + field.text;
  return text;
}

int columns_of(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(base::env::value(base::env::kColumns).value_or("0").c_str());
  return columns > 0 ? columns : 80;
}

bool is_terminal(std::FILE* out) {
  return isatty(fileno(out)) && base::env::is_set(base::env::kTerm) && !base::env::is(base::env::kTerm, "dumb");
}

bool locale_is_utf8() {
  for (const base::env::Variable* variable : {&base::env::kLcAll, &base::env::kLcCtype, &base::env::kLang}) {
    std::optional<std::string> value = base::env::value(*variable);
    if (!value) continue;
    std::transform(value->begin(), value->end(), value->begin(), [](unsigned char c) { return std::tolower(c); });
    return value->find("utf-8") != value->npos || value->find("utf8") != value->npos;
  }
  return false;
}

/// A terminal may die and a disk be full while a run goes on: what cannot be shown is not shown.
void show(std::FILE* out, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

}  // namespace

std::string progress_line(const ProgressState& state, int columns, bool utf8) {
  std::vector<Field> fields = fields_of(state);
  const auto drop = [&](Part part) { std::erase_if(fields, [&](const Field& field) { return field.part == part; }); };
  // The bar: two frames, a space, "100%" and two spaces.
  constexpr int kAroundBar = 2 + 1 + 4 + 2;
  for (const Part part : {Part::memory, Part::lr, Part::speed}) {
    if (width_of(fields) + kAroundBar + kShortestBar > columns) drop(part);
  }
  const int room = columns - width_of(fields) - kAroundBar;
  if (room >= kShortestBar) {
    const int cells = std::min(room, kLongestBar);
    return fmt::format("{:3.0f}% {}  {}", std::floor(done(state) * 100), bar(done(state), cells, utf8), joined(fields));
  }
  for (const Part part : {Part::validation, Part::remaining}) {
    if (width_of(fields) > columns) drop(part);
  }
  std::string line = joined(fields);
  line.resize(std::min(line.size(), static_cast<size_t>(std::max(columns, 0))));
  return line;
}

Progress::Progress(int64_t total_steps, std::FILE* out)
    : out_(out), is_terminal_(is_terminal(out)), utf8_(locale_is_utf8()) {
  state_.total_steps = total_steps;
}

Progress::~Progress() { finish(); }

void Progress::update(const StepMetrics& metrics) {
  measure(metrics);
  state_.last = metrics;
  if (metrics.validation_loss) {
    state_.validation_loss = metrics.validation_loss;
    state_.validation_metrics = metrics.validation_metrics;
  }
  has_news_ = true;
  const Clock::duration age = Clock::now() - shown_;
  if (is_terminal_ && age >= kRedraw) draw();
  if (!is_terminal_ && (age >= kPlainInterval || metrics.validation_loss)) print_plain();
}

/// The remaining time from the speed of late, weighted by time so that it does not depend on how fast steps are.
void Progress::measure(const StepMetrics& metrics) {
  const auto now = Clock::now();
  if (measured_ == Clock::time_point{}) {
    measured_ = now;
    measured_step_ = metrics.step;
    return;
  }
  const int64_t steps = metrics.step - measured_step_;
  if (now - measured_ >= kMeasured && steps > 0) {
    const double seconds = std::chrono::duration<double>(now - measured_).count();
    const double latest = seconds / static_cast<double>(steps);
    const double weight = 1 - std::exp(-seconds / kMemorySeconds);
    step_seconds_ = step_seconds_ ? *step_seconds_ + weight * (latest - *step_seconds_) : latest;
    measured_ = now;
    measured_step_ = metrics.step;
  }
  if (step_seconds_) state_.seconds_remaining = *step_seconds_ * static_cast<double>(state_.total_steps - metrics.step);
}

/// Wrapping is off while the line is drawn: should the terminal just have become narrower, the line is cut, and the
/// next one still begins where this one did. The last column stays free, where some terminals wrap regardless.
void Progress::draw() {
  const std::string line = progress_line(state_, columns_of(out_) - 1, utf8_);
  show(out_, fmt::format("\r\x1b[?7l{}\x1b[K\x1b[?7h", line));
  shown_ = Clock::now();
  is_drawn_ = true;
  has_news_ = false;
}

void Progress::print_plain() {
  show(out_, fmt::format("{:3.0f}%  {}\n", std::floor(done(state_) * 100), joined(fields_of(state_))));
  shown_ = Clock::now();
  has_news_ = false;
}

void Progress::note(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  show(out_, fmt::format("{}{}\n", is_drawn_ ? "\r\x1b[K" : "", io::harmless(text)));
  if (is_drawn_) draw();
}

void Progress::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  state_.seconds_remaining.reset();
  if (is_terminal_ && (is_drawn_ || has_news_)) {
    draw();
    show(out_, "\n");
  }
  if (!is_terminal_ && has_news_) print_plain();
}

}  // namespace tenon::watch
