// A folder that is written as a whole: the files of a model only mean something together.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tenon/io/file.h"

namespace tenon::io {

/// A new folder beside the target, which is filled and then takes the target's place in one step, with all that the
/// target held; until then the old one stays as it is. Goes again if commit never comes. What killed processes left
/// beside the target is swept, and an old folder that one of them had set aside comes back. Every failure is one line
/// that starts with `[format] path`.
class ReplacingFolder {
 public:
  ReplacingFolder(std::string_view format, const std::filesystem::path& path);
  ~ReplacingFolder();
  ReplacingFolder(const ReplacingFolder&) = delete;
  ReplacingFolder& operator=(const ReplacingFolder&) = delete;

  /// Where to write meanwhile: plain files.
  const std::filesystem::path& place() const { return place_; }
  /// A text with the target's name in it instead of that place's.
  std::string with_target(std::string text) const;
  /// An empty target stays the folder it is and gets the files one by one, `last` as the last of them: it may be the
  /// working directory, and there is nothing to lose.
  void commit(std::string_view last);

 private:
  [[noreturn]] void fail_replacing(int error_number) const;
  void move_into_target(std::string_view last) const;
  void swap_with_target() const;

  Input shown_;
  std::filesystem::path target_, place_;
  MadeFolder above_;
  int lock_ = -1;  // a sign of life
};

}  // namespace tenon::io
