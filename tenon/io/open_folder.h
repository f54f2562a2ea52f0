// A folder that is read as a whole: files that belong together are opened in the folder that was opened first, and
// looked at again when all are read, so that the config of one model is never taken with the weights of another.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/io/file.h"

namespace tenon::io {

/// Stays the folder that it was when it was opened, whatever its name leads to since. Every failure is one line that
/// starts with `[format] path`.
///
///   const OpenFolder folder("hugging_face", "distilgpt2");
///   const auto config = folder.open("config.json"), weights = folder.open("model.safetensors");
///   folder.require_unchanged("config.json");
class OpenFolder {
 public:
  OpenFolder(std::string_view format, const std::filesystem::path& path);
  ~OpenFolder();
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool has(const std::string& name) const;
  /// In order.
  std::vector<std::string> names() const;
  /// A file in it, which failures name with the folder.
  std::shared_ptr<const MappedFile> open(const std::string& name) const { return open(format_, name); }
  std::shared_ptr<const MappedFile> open(std::string_view format, const std::string& name) const;

  /// Fails where one of the files that were opened is another by now, or is being replaced: `last` is the file that
  /// writers put in place as the last one.
  void require_unchanged(std::string_view last) const;

 private:
  struct FileState;
  [[noreturn]] void refuse(const std::string& name) const;

  std::string_view format_;
  std::filesystem::path path_;
  int folder_ = -1;
  mutable std::map<std::string, FileState> opened_;
};

}  // namespace tenon::io
