// What must hold before a run may begin or go on in a folder; each failure is one line that says what to do.

#pragma once

#include <filesystem>

#include "tenon/train/config.h"
#include "tenon/train/trainer.h"

namespace tenon::train {

/// That the folder is a run's, and has its config.
void require_run(const std::filesystem::path& folder);
/// That a run which is resumed computes what it was begun to compute.
void require_same_run(const Config& before, const Config& now, const TrainOptions& options);
/// That a checkpoint was made by a run that computes the same, whatever became of the folder's config since.
void require_same_run(const std::filesystem::path& checkpoint, const std::string& its_config, const Config& now);
/// Whether a run that is resumed finds its data under another name.
bool has_moved_data(const Config& before, const Config& now);
/// That the run does not read what it would replace: it keeps its files by fixed names, behind which may lie what it
/// reads, as links lead anywhere.
void require_other_files(const Config& config, const std::filesystem::path& folder);

}  // namespace tenon::train
