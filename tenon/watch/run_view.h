// All that is shown of a run while it goes on: metrics.jsonl, TensorBoard's files, samples, and the line of progress.

#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>

#include "tenon/watch/metrics.h"
#include "tenon/watch/progress.h"
#include "tenon/watch/samples.h"
#include "tenon/watch/tensorboard.h"

namespace tenon::watch {

class RunView {
 public:
  /// Goes on with the files of a run's folder after `last_step`; a new run has none. Progress goes to `out`; null:
  /// silence.
  RunView(std::filesystem::path run_folder, std::optional<int64_t> last_step, int64_t total_steps, std::FILE* out);

  /// The numbers of a step.
  void show(const StepMetrics& metrics);
  void show(const Sample& sample);
  /// Lines for whoever looks at the progress.
  void note(std::string_view text);

  /// All metrics are on disk afterwards.
  void flush_metrics() { metrics_.flush(); }
  void flush_tensorboard() { tensorboard_.flush(); }
  /// Leaves the last line of progress standing; no further one may follow.
  void finish_progress();

 private:
  std::filesystem::path run_folder_;
  MetricsLog metrics_;
  TensorBoardWriter tensorboard_;
  std::optional<Progress> progress_;
};

}  // namespace tenon::watch
