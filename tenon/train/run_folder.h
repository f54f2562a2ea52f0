// The folder of a training run: where everything lies, and that one process at a time trains in it.
//
// A run has a folder of its own: one that is new, empty, or a run's already, which shows in its .lock, the first file
// it gets, or in a config and a checkpoint. What lies in any other folder is not ours to replace.
//
//   config.json  metrics.jsonl  report.html  samples/  checkpoints/  tensorboard/  .lock

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::train {

/// What a folder must hold beforehand.
enum class Start {
  fresh,            // no run
  resume,           // a run
  resume_or_fresh,  // either
};

/// Every failure is one line that starts with `[run] path`.
///   train::RunFolder run = train::RunFolder::open("mine", train::Start::fresh);
///   run.keep();
class RunFolder {
 public:
  /// Makes the folder where it is missing and locks it until this object goes; a process that died holds no lock. What
  /// a killed process was writing is removed. Fails where other things lie in it, inside of another run, and where a
  /// run cannot be looked at or has lost the folder of its checkpoints.
  static RunFolder open(const std::filesystem::path& path, Start start);
  ~RunFolder();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  /// Takes everything away again that was made for a run which could not begin, until keep() says that it has. What was
  /// there before stays.
  void abandon();
  /// The same where the process ends meanwhile: a library may call exit where it cannot go on. One folder at a time.
  void abandon_at_exit();
  /// The run has begun: nothing is taken away any more.
  void keep();

  /// Whether a run was here before.
  bool resumes() const { return resumes_; }

  /// Where the run lies, and everything in it.
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  std::filesystem::path profile() const { return path_ / "profile.json"; }
  std::filesystem::path samples() const { return path_ / "samples"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }

 private:
  RunFolder(std::filesystem::path path, int lock, bool resumes);

  std::filesystem::path path_;
  int lock_ = -1;
  bool resumes_ = false, is_kept_ = false;
  std::set<std::string> before_;             // what was in it
  std::vector<std::filesystem::path> made_;  // the folders that were missing, the innermost first
};

/// Whether a folder is a run's: it has the .lock of one, or a config and a checkpoint of ours. Fails where its
/// checkpoints cannot be listed.
///   train::is_run("nothing_there");  // false
bool is_run(const std::filesystem::path& folder);
/// The run that a path is or that it is a part of, whether the part is there yet or not. What is only kept in the
/// folder of a run is not.
std::optional<std::filesystem::path> run_owning(const std::filesystem::path& path);

}  // namespace tenon::train
