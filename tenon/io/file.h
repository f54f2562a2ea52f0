// Files as this room reads and writes them: mapped whole, and replaced whole.

#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/mapped.h"
#include "tenon/io/input.h"

namespace tenon::io {

/// A file in memory. Writing to the memory never reaches the file; a tensor may therefore lie in it and be trained.
///
/// The file must not be written in place while the map lives: the system would show the new bytes. Where it is cut, the
/// missing bytes read as zeros, and reading a tensor that lies in it fails (base/mapped.h). Tenon itself only ever puts
/// a new file in the old one's place, which leaves maps of the old one alone.
class MappedFile {
 public:
  /// Fails with one line that starts with `[format] path`.
  static std::shared_ptr<const MappedFile> open(std::string_view format, const std::filesystem::path& path);
  /// The same of a name in an open folder, and what the system says of the file; messages show `path`.
  static std::shared_ptr<const MappedFile> open_in(std::string_view format, int folder,
                                                   const std::filesystem::path& path, const std::string& name,
                                                   struct stat& status);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Fails with one line where the file has been cut since: what was read from it cannot be relied on.
  void require_whole() const;

 private:
  MappedFile(int file, std::span<std::byte> bytes, const std::string& name);
  int file_;
  std::span<std::byte> bytes_;
  std::optional<base::MappedRange> range_;
};

/// What becomes of an output whose name is that of a device or a pipe.
enum class Devices {
  refused,
  written_through,  // they get the bytes, and nothing takes their place
};

/// A new file beside the target: takes its place on commit, and is removed if that never comes. Until then the old file
/// is there, whole. A link is replaced like a file: what it leads to may be anybody's and stays as it is. Every failure
/// is one line that starts with `[format] path`.
class ReplacingFile {
 public:
  /// Fails where something other than a file stands there: a folder, and unless `devices` says otherwise a device or a
  /// pipe.
  ReplacingFile(std::string_view format, const std::filesystem::path& path, Devices devices = Devices::refused);
  ~ReplacingFile();
  ReplacingFile(ReplacingFile&& other) noexcept;
  ReplacingFile& operator=(ReplacingFile&&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Everything written is on disk. Files that belong together are all synced before the first of them commits.
  void sync();
  void commit();

 private:
  void check(int64_t result) const;

  Input shown_;                               // as the caller spelled it, for messages
  std::filesystem::path target_, temporary_;  // no temporary one where a device is written
  int file_ = -1;
  bool committed_ = false;
};

/// A folder for files that are about to be written: made where it is missing, with those above it. What was made goes
/// again, as far as it is empty, unless keep() is called. Failing is one line that starts with `[format] path`.
class MadeFolder {
 public:
  MadeFolder(std::string_view format, const std::filesystem::path& path);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

  void keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

/// What the name of a file that is written beside another begins with: that one's name, or as much of it as leaves room
/// for the rest.
std::string_view start_of_name_beside(std::string_view target);

/// Whether a process that is gone wrote under this name: "report.html.4711-0.tmp" for "report.html".
bool is_left_behind(std::string_view name, std::string_view target, std::string_view ending);

/// Whether a process that lives writes a new file for `target` under this name.
bool is_being_written(std::string_view name, std::string_view target);

/// Fails with one line where no file can be put: where something else stands, or a link to it, a device, a pipe, a
/// folder; and anywhere under /dev and /proc.
void require_place_for_file(const Input& shown, const std::filesystem::path& path);

/// Fails with one line where an output is something that is read, lies in it or holds it, by whatever name, through
/// links. `out` and what is read may be files or folders, there or not; empty names are passed over.
void require_apart(std::string_view format, const std::filesystem::path& out,
                   std::span<const std::filesystem::path> read);

/// What a name leads to; fails with one line where it leads nowhere, or where nobody may look: neither at the path nor,
/// where it is a folder, at what lies in it.
std::filesystem::file_type type_of(std::string_view format, const std::filesystem::path& path);

/// Whether something stands under a name, of a link: what it leads to. Fails with one line where that cannot be told.
bool is_there(std::string_view format, const std::filesystem::path& path);

/// The names in a folder, in order; none where there is no folder. Fails with one line where it cannot be listed: what
/// is not seen must not be taken for what is not there.
std::vector<std::string> names_in_folder(std::string_view format, const std::filesystem::path& folder);

/// Until its folder is on disk, a renamed file can still be lost with the power. Messages name the file as `shown`
/// does.
void sync_folder_of(const Input& shown, const std::filesystem::path& file);

/// Removes a file that a newer one has made stale; that there is none is fine.
void remove_stale(std::string_view format, const std::filesystem::path& path);

}  // namespace tenon::io
