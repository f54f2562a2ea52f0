// Files of tokenizers, and what tokenizers say of numbers that are not theirs.

#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "tenon/io/file.h"
#include "tenon/io/open_folder.h"

namespace tenon::text {

inline constexpr std::string_view kFormat = "tokenizer";

/// A file to be parsed, mapped; failures start with `[tokenizer] path`.
class TextFile {
 public:
  explicit TextFile(const std::filesystem::path& path)
      : file_(io::MappedFile::open(kFormat, path)), input_{kFormat, path.string(), file_->bytes()} {}
  TextFile(const io::OpenFolder& folder, const std::string& name)
      : file_(folder.open(kFormat, name)), input_{kFormat, (folder.path() / name).string(), file_->bytes()} {}

  const io::Input& input() const { return input_; }

 private:
  std::shared_ptr<const io::MappedFile> file_;
  io::Input input_;
};

/// Writes tokenizer.json into a folder, which is made if need be: whole or not at all.
void save_tokenizer_json(const std::filesystem::path& folder, std::string_view json);

/// Fails with one line unless 0 <= id < vocabulary.
void check_id(int32_t id, int64_t vocabulary);

}  // namespace tenon::text
