#include "tenon/data/corpus.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "tenon/base/error.h"
#include "tenon/data/compressed.h"
#include "tenon/data/wiki_markup.h"
#include "tenon/io/input.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kNames = {"auto", "text", "jsonl", "wiki"};

[[noreturn]] void fail_reading(const fs::path& path, const std::error_code& error) {
  base::fail("corpus", "{}: cannot be read: {}", path.string(), error.message());
}

Format format_of(const fs::path& path) {
  fs::path name = path.filename();
  for (const char* packed : {".gz", ".bz2", ".zst"}) {
    if (name.extension() == packed) name.replace_extension();
  }
  const fs::path extension = name.extension();
  if (extension == ".jsonl" || extension == ".ndjson") return Format::kJsonl;
  return extension == ".xml" ? Format::kWiki : Format::kText;
}

CorpusFile describe(const fs::path& path, Format format) {
  std::error_code error;
  CorpusFile file{path, format == Format::kAuto ? format_of(path) : format};
  file.bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error) fail_reading(path, error);
  const auto modified = fs::last_write_time(path, error);
  if (error) fail_reading(path, error);
  file.modified = std::chrono::duration_cast<std::chrono::nanoseconds>(modified.time_since_epoch()).count();
  return file;
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// Depth first, each folder's entries sorted. Links to folders are not followed: they may lead back.
void list_folder(const fs::path& folder, Format format, std::vector<CorpusFile>& files) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (!is_hidden(entry->path())) entries.push_back(entry->path());
  }
  if (error) fail_reading(folder, error);
  std::sort(entries.begin(), entries.end());
  for (const fs::path& path : entries) {
    if (fs::is_directory(fs::symlink_status(path, error))) {
      list_folder(path, format, files);
    } else if (fs::is_regular_file(path, error)) {
      files.push_back(describe(path, format));
    }
  }
}

}  // namespace

std::string_view name(Format format) { return kNames.at(static_cast<size_t>(format)); }

Format format_named(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Format>(i);
  }
  base::fail("corpus", "no format {}; there are auto, text, jsonl and wiki", io::in_quotes(name));
}

std::vector<CorpusFile> list_corpus(std::span<const fs::path> inputs, Format format) {
  std::vector<CorpusFile> files;
  for (const fs::path& input : inputs) {
    std::error_code error;
    const fs::file_status status = fs::status(input, error);
    if (error) fail_reading(input, error);
    const size_t before = files.size();
    if (fs::is_directory(status)) {
      list_folder(input, format, files);
      if (files.size() == before) base::fail("corpus", "{}: there are no files in this folder", input.string());
    } else if (fs::is_regular_file(status)) {
      files.push_back(describe(input, format));
    } else {
      base::fail("corpus", "{}: is neither a file nor a folder", input.string());
    }
  }
  // Better now than after an hour of other files.
  for (const CorpusFile& file : files) {
    if (faccessat(AT_FDCWD, file.path.c_str(), R_OK, AT_EACCESS) != 0)
      fail_reading(file.path, {errno, std::generic_category()});
  }
  return files;
}

std::unique_ptr<DocumentReader> open_documents(const CorpusFile& file, const std::string& field,
                                               const ReadPosition& from) {
  auto stream = decompressed(open_file(file.path));
  if (stream->skip(from.offset) != from.offset) {
    base::fail("corpus", "{}: is shorter than when it was read before: begin anew with --restart", file.path.string());
  }
  switch (file.format) {
    case Format::kJsonl: return read_jsonl(std::move(stream), field, from);
    case Format::kWiki: return read_wiki(std::move(stream), from);
    default: return read_text(std::move(stream), from);
  }
}

std::string shown_text(Piece piece) {
  if (!piece.has_markup) return std::move(piece.text);
  const std::string text = plain_text(piece.text);
  return text.empty() ? text : piece.title + "\n\n" + text;
}

}  // namespace tenon::data
