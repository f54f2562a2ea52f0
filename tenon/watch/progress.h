// What a person at a terminal sees of a run: one line that is drawn anew, and notes above it. Where the output is a
// file or a pipe, plain lines at intervals.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/watch/metrics.h"

namespace tenon::watch {

/// What one line is made from.
struct ProgressState {
  StepMetrics last;                         // the latest step
  int64_t total_steps = 0;                  // of the run
  std::optional<double> validation_loss;    // the latest
  NamedNumbers validation_metrics;          // of the same evaluation
  std::optional<double> seconds_remaining;  // unknown at first
};

/// The line, at most `columns` wide (its length in characters; all of them take one column). What does not fit is left
/// out, least important first: memory, learning rate, speed, bar, validation, remaining time.
///   watch::progress_line({.last = {.step = 5, .loss = 2.5}, .total_steps = 10}, 80, false);
std::string progress_line(const ProgressState& state, int columns, bool utf8);

/// Never fails: a run does not end because nobody watches it.
///   watch::Progress progress(10);
///   progress.update({.step = 1, .loss = 2.5});
///   progress.finish();
class Progress {
 public:
  explicit Progress(int64_t total_steps, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows a step.
  void update(const StepMetrics& metrics);
  /// Prints a line, or several, above the bar. Control characters, which a model may well write, do not reach the
  /// terminal.
  void note(std::string_view text);
  /// Leaves the last state standing; nothing may follow.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void draw();
  void print_plain();
  void measure(const StepMetrics& metrics);

  std::FILE* out_;
  bool is_terminal_, utf8_, is_finished_ = false, is_drawn_ = false, has_news_ = false;
  ProgressState state_;
  Clock::time_point shown_{}, measured_{};
  int64_t measured_step_ = 0;
  std::optional<double> step_seconds_;  // smoothed
};

}  // namespace tenon::watch
