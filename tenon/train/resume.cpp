// The sizes of the saved weights are compared with the config's before a model is made: one that does not fit may be
// too large to make.

#include "tenon/train/resume.h"

#include <fstream>

#include "tenon/io/file.h"
#include "tenon/train/run_checks.h"
#include "tenon/train/saved_tensors.h"
#include "tenon/watch/metrics.h"

namespace tenon::train {

namespace fs = std::filesystem;

namespace {

void require_no_step_after_first(const RunFolder& folder) {
  if (io::is_there("train", folder.metrics())) {
    const std::vector<watch::StepMetrics> lines = watch::read_metrics(folder.metrics());
    const int64_t every = run_config(folder.path()).checkpoint.every, last = lines.empty() ? 0 : lines.back().step;
    require_never_saved(folder, every > 0 && last > every, fmt::format("done {} steps", last));
  }
  require_no_trace_of_saving(folder);
}

bool has_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !file.eof();
}

}  // namespace

void require_never_saved(const RunFolder& folder, bool has_later_lines, std::string_view done) {
  if (has_later_lines)
    base::fail("train", "{}: has {}, and its checkpoints are gone; put them back, or begin a new run elsewhere",
               folder.path().string(), done);
}

void require_no_trace_of_saving(const RunFolder& folder) {
  require_never_saved(folder, io::is_there("train", folder.path() / "model"), "saved its model");
  for (const std::string& name : io::names_in_folder("train", folder.checkpoints())) {
    require_never_saved(folder, name == "best" || name.starts_with("damaged_"),
                        fmt::format("saved {}", io::escaped(name)));
  }
  require_never_saved(folder, !has_line(folder.metrics()) && io::is_there("train", folder.report()),
                      "written a report, but metrics.jsonl has no line");
}

void refuse_checkpoint(const fs::path& path, const Error& why, std::string_view remedy) {
  base::fail("train", "{}: does not fit this run: {}; {}", path.string(), without_tag(why.what()), remedy);
}

std::optional<ResumePoint> find_resume_point(const RunFolder& folder, const Config& config, const Task& task,
                                             const std::function<void(const std::string&)>& note) {
  const fs::path checkpoints = folder.checkpoints();
  std::optional<Checkpoint> found =
      newest_checkpoint(checkpoints, [&](const std::string& why) { note("passed over: " + why); });
  if (!found && !checkpoint_steps(checkpoints).empty())
    base::fail("train", "{}: none of its checkpoints is good; begin a new run in another folder",
               folder.path().string());
  if (!found) {
    require_no_step_after_first(folder);
    return std::nullopt;
  }
  ResumePoint point{checkpoint_path(checkpoints, found->step), std::move(*found), {}};
  try {
    point.state = parse_run_state(point.checkpoint.state);
  } catch (const Error& error) {
    refuse_checkpoint(point.path, error, "it was written by another program");
  }
  require_same_run(point.path, point.state.config, config);
  try {
    task.require_weights(with_prefix(point.checkpoint.tensors, "model."));
  } catch (const Error& error) {
    refuse_checkpoint(point.path, error);
  }
  return point;
}

}  // namespace tenon::train
