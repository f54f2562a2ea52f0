// Event files that TensorBoard shows: `tensorboard --logdir RUN/tensorboard`.
//
// The format is a sequence of TFRecords, each a protobuf message `Event`. A few fields are all we need of it, so they
// are encoded by hand and Tenon depends on neither protobuf nor TensorFlow. docs/training.md says how this was checked.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tenon::watch {

/// Seconds since 1970, as event files have them.
///   const double now = watch::wall_time_now();
double wall_time_now();

/// Writes one event file. Events reach the file within two seconds of the next call, on flush and at the end. Every
/// failure is one line that starts with `[tensorboard] path`.
///   watch::TensorBoardWriter writer("board");
///   writer.scalar("loss/train", 1, 2.5);
class TensorBoardWriter {
 public:
  /// Makes the folder where it is missing. A run that is taken up again after `last_step` says so: TensorBoard then
  /// forgets what an earlier file has of later steps.
  explicit TensorBoardWriter(const std::filesystem::path& folder, std::optional<int64_t> last_step = {});
  ~TensorBoardWriter();
  TensorBoardWriter(TensorBoardWriter&& other) noexcept;
  TensorBoardWriter& operator=(TensorBoardWriter&&) = delete;

  /// A point of a curve; a `/` in the tag groups curves.
  void scalar(std::string_view tag, int64_t step, double value, double wall_time = wall_time_now());
  /// A text of the Text tab, which shows it as Markdown.
  void text(std::string_view tag, int64_t step, std::string_view text, double wall_time = wall_time_now());
  /// A picture of the Images tab: the bytes of a PNG file.
  void picture(std::string_view tag, int64_t step, std::string_view png, double wall_time = wall_time_now());
  /// Writes what is waiting; the file it goes to.
  void flush();

  /// The event file.
  const std::filesystem::path& path() const { return path_; }

 private:
  void add(std::string_view event);

  std::filesystem::path path_;
  int file_ = -1;
  std::string waiting_;
  std::chrono::steady_clock::time_point flushed_;
};

}  // namespace tenon::watch
