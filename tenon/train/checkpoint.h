// Checkpoints: folders checkpoints/step_00000100 that are either whole or not there.
//
// A folder is filled under another name, its files are synced, and then it is renamed. Every byte is covered by a
// checksum, which is looked at before anything is taken from it, so that damage by the disk is found too.
//
//   state.safetensors   tensors: weights, moments, counters
//   checkpoint.json     step, position in the data, random stream, config, checksums
//   products.tuned      on devices that time their products: which algorithms multiplied, as exec::Tuning writes it

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/tensor/tensor.h"

namespace tenon::train {

struct Checkpoint {
  int64_t step = 0;
  std::string state;  // JSON, of whoever saves
  std::map<std::string, Tensor> tensors;
  std::string products = {};  // the text of products.tuned; empty: there is none
};

/// What is wrong with a checkpoint itself. One that cannot be read at the moment, for want of permission or memory, is
/// a plain Error: it may well be good.
class DamagedCheckpoint : public Error {
 public:
  using Error::Error;
};

/// Writes folder/step_N. Every failure is one line that starts with `[checkpoint] path`, and leaves all others as they
/// were.
std::filesystem::path save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

/// Reads one; fails with one line where anything about it is wrong, DamagedCheckpoint where it is its own fault.
/// Tensors lie in a map of the file.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// The steps that have a folder with a checkpoint.json, ascending, good or not; none where there is no folder. Fails,
/// as all that looks for checkpoints does, where the folder cannot be listed.
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& folder);
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, int64_t step);

/// Whether one of them is described as save_checkpoint does it.
bool holds_checkpoint(const std::filesystem::path& folder);

/// The newest one that is good. `refused` is told why, of every newer one that is damaged; fails at one that cannot be
/// read.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& folder,
                                            const std::function<void(const std::string&)>& refused);

/// Removes all but the last `keep_last` and `spared`, and what interrupted writers left behind. What is no checkpoint
/// stays, whatever it is called; what cannot be removed stays for the next time.
void prune_checkpoints(const std::filesystem::path& folder, int64_t keep_last, std::optional<int64_t> spared);

/// Renames those of later steps to damaged_step_N: a run that goes on from an older one must not meet them again, and
/// whoever wants may still look at them.
void set_aside_checkpoints(const std::filesystem::path& folder, int64_t last_good);

/// "cannot be read" of "[io] cannot be read", for a message that has a tag of its own.
std::string without_tag(std::string_view message);

/// Makes folder/best name the checkpoint of a step.
void name_best(const std::filesystem::path& folder, int64_t step);
/// The step that it names, if there is one.
std::optional<int64_t> best_step(const std::filesystem::path& folder);

}  // namespace tenon::train
