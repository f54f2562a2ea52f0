// What a run goes on from: the newest good checkpoint of its folder, read and checked before anything else takes
// memory.

#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/config.h"
#include "tenon/train/run_folder.h"
#include "tenon/train/run_state.h"
#include "tenon/train/task.h"

namespace tenon::train {

struct ResumePoint {
  std::filesystem::path path;
  Checkpoint checkpoint;
  RunState state;
};

/// Nothing where the run was stopped before its first checkpoint. Damaged checkpoints are passed over, each with a
/// note; fails where they cannot be looked for, where they are gone, where none is good, and where the newest good one
/// is not of this model.
std::optional<ResumePoint> find_resume_point(const RunFolder& folder, const Config& config, const Task& task,
                                             const std::function<void(const std::string&)>& note);

/// Fails where a run that has no checkpoint got lines of metrics after its first one was due: "has {done}, and its
/// checkpoints are gone".
void require_never_saved(const RunFolder& folder, bool has_later_lines, std::string_view done);
/// Fails where a run without checkpoints has left what is only there once one was saved: its model, its best checkpoint,
/// or a damaged one.
void require_no_trace_of_saving(const RunFolder& folder);

/// Fails: this checkpoint is not of this run.
[[noreturn]] void refuse_checkpoint(const std::filesystem::path& path, const Error& why,
                                    std::string_view remedy = "resume it with its own config and data");

}  // namespace tenon::train
