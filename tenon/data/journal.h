// The journal of a prepare run: what the run is, and how much of it is safely on disk.
//
// It is replaced as a whole, after what it speaks of has been synced, so it is never ahead of the file. It begins with
// what it is: a file of that name that does not is somebody else's and stays.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tenon/data/documents.h"
#include "tenon/data/token_file.h"

namespace tenon::data {

/// How far a run is: the next piece comes from this place of this file.
struct Progress {
  int64_t file = 0;
  ReadPosition position;
  Written written;
  bool is_cut = false;  // the part for validation is in its own file already; `written` is what remains
  Written uncut;        // the whole, while is_cut
};

struct Journal {
  std::string run;  // JSON that describes inputs and options; a run continues only a run of the same description
  Progress progress;
};

std::string to_json(const Journal& journal);
/// Fails with one line that names the file where the text is no journal.
Journal journal_from_json(std::string_view text, const std::string& name);

std::filesystem::path journal_path(const std::filesystem::path& out);
/// Fails with one line where the file is damaged, or none of ours.
std::optional<Journal> read_journal(const std::filesystem::path& out);
/// Removes it, damaged or not; fails where the file is none of ours.
void remove_journal(const std::filesystem::path& out);
void write_journal(const std::filesystem::path& out, const Journal& journal);

}  // namespace tenon::data
