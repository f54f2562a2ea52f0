// A corpus: files and folders, what is in each of them, and how it is read.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/data/documents.h"

namespace tenon::data {

/// How a file is read: as its name says, as text, as JSON lines, or as a MediaWiki dump.
enum class Format { kAuto, kText, kJsonl, kWiki };

/// "auto", "text", "jsonl", "wiki".
///   data::name(data::Format::kJsonl);  // jsonl
std::string_view name(Format format);
/// Fails with one line where there is no such format.
///   data::format_named("wiki") == data::Format::kWiki;  // true
Format format_named(std::string_view name);

/// A file of a corpus.
struct CorpusFile {
  std::filesystem::path path;     // where it lies
  Format format = Format::kText;  // how it is read
  int64_t bytes = 0;              // its length on disk
  int64_t modified = 0;  // nanoseconds, of the clock of the file system: tells a changed file from the same one
};

/// The files in the order given; of a folder all that are in it and below, sorted by path, hidden ones left out. With
/// kAuto the name decides: .jsonl and .ndjson, .xml is a MediaWiki dump, all else is text, each with or without .gz,
/// .bz2 or .zst behind it. Fails with one line where a file or folder cannot be read or nothing is found.
///   const std::vector<std::filesystem::path> inputs = {"articles.xml.bz2", "notes/"};
///   for (const data::CorpusFile& file : data::list_corpus(inputs)) std::cout << file.path << "\n";
std::vector<CorpusFile> list_corpus(std::span<const std::filesystem::path> inputs, Format format = Format::kAuto);

/// The documents of a file from a place on, which must be one that a reader of this file has been at.
std::unique_ptr<DocumentReader> open_documents(const CorpusFile& file, const std::string& field,
                                               const ReadPosition& from = {});

/// What a model shall see of a piece.
std::string shown_text(Piece piece);

}  // namespace tenon::data
