// The numbers of a run, one JSON object a line: what a person, a plot or another program reads of it afterwards.
//
// A line is written whole and at once, so that a kill costs at most a piece of the last one, which readers drop. Every
// line is valid JSON: numbers that JSON does not have are the strings "nan", "inf" and "-inf".

#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/io/input.h"

namespace tenon::watch {

/// Numbers by their names, in the order in which they are shown: {{"accuracy", 0.992}}.
using NamedNumbers = std::vector<std::pair<std::string, double>>;

/// One step of training.
///   watch::StepMetrics metrics{.step = 1, .loss = 2.5, .lr = 1e-3};
struct StepMetrics {
  int64_t step = 0;                                        // the first is 1
  double loss = std::numeric_limits<double>::quiet_NaN();  // of the step
  double lr = 0, gradient_norm = 0, items_per_second = 0;  // learning rate, norm of all gradients, items of a second
  int64_t items = 0;                        // tokens or whatever the unit is, since the beginning of the run
  double seconds = 0;                       // the same, of training
  int64_t resident_bytes = 0;               // memory of the process
  std::optional<double> validation_loss{};  // where the step was followed by an evaluation
  NamedNumbers validation_metrics{};        // beside the loss
  std::optional<double> loss_scale{};       // of f16
  bool resumed = false;                     // the run was taken up again with this step; MetricsLog sets it
  std::string unit = "tokens";              // what the items are; a line calls them so
};

/// metrics.jsonl while it is written. Every failure is one line that starts with `[metrics] path`.
///   watch::MetricsLog log = watch::MetricsLog::open("metrics.log");
///   log.write({.step = 1, .loss = 2.5});
class MetricsLog {
 public:
  /// Goes on with the file after `last_step`, the checkpoint's: later lines are cut off, as is a torn last one. A new
  /// run has no last step and begins with an empty file.
  static MetricsLog open(const std::filesystem::path& path, std::optional<int64_t> last_step = {});
  ~MetricsLog();
  MetricsLog(MetricsLog&& other) noexcept;
  MetricsLog& operator=(MetricsLog&&) = delete;

  /// The line is in the hands of the system afterwards: it survives this process, though not a loss of power.
  void write(const StepMetrics& metrics);
  /// Everything written is on disk. For checkpoints: one must not be newer than the lines before it.
  void flush();

 private:
  MetricsLog(std::filesystem::path path, int file, bool resumes);
  [[noreturn]] void fail_writing() const;

  std::filesystem::path path_;
  int file_ = -1;
  bool resumes_ = false;  // the next line is the first after a resume
  std::string line_;      // kept for its memory
};

/// The line of a step, with its line break.
std::string metrics_line(const StepMetrics& metrics);

/// All steps of a file; fails with one line where it cannot be read or where a line other than the last is damaged.
///   const std::vector<watch::StepMetrics> steps = watch::read_metrics("runs/demo/metrics.jsonl");
std::vector<StepMetrics> read_metrics(const std::filesystem::path& path);
/// The same of bytes, for read_metrics and for fuzzing.
std::vector<StepMetrics> parse_metrics(const io::Input& input);

}  // namespace tenon::watch
