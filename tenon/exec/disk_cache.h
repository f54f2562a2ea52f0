// Compiled programs on disk, so that a second process starts without compiling.
//
// One file per program, named by a hash of what the program depends on; the file repeats that text, so a clash of
// hashes is a miss and not a wrong program. Files are written beside and renamed: several processes may use one folder,
// and a file is whole or not there. What a power cut leaves of one is told by its checksum. Losing a file costs a
// compilation, so nothing here is ever an error. What several processes add to is changed under a lock. A program runs
// with the rights of who loads it: files that another user owns (but root), or that others may write, are passed over.

#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::exec {

class DiskCache {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 30;
  /// Part of every file; files of another version are not looked at.
  static constexpr uint32_t kVersion = 1;

  /// The folder is made when the first program is kept in it.
  explicit DiskCache(std::filesystem::path folder, size_t most_bytes = kMostBytes);

  /// The cache of this user: TENON_CACHE_DIR, else tenon/ in XDG_CACHE_HOME or ~/.cache. None when TENON_CACHE_DIR is
  /// set to nothing, or there is no home.
  static DiskCache* standard();

  std::optional<std::vector<std::byte>> find(std::string_view name);
  /// Keeps the bytes; when the folder outgrows its bound, the files that were used least lately go. False where they
  /// could not be written.
  bool keep(std::string_view name, std::span<const std::byte> bytes);
  /// Keeps what `change` makes of the bytes that were there, if some were, while no other process does the same.
  using Change = std::function<std::vector<std::byte>(const std::optional<std::vector<std::byte>>& before)>;
  bool update(std::string_view name, const Change& change);

  const std::filesystem::path& folder() const { return folder_; }
  /// Why nothing can be kept in the folder, as far as can be told without writing; empty where it can.
  std::string why_unusable() const;
  /// Why bytes could not be written the last time they could not; empty where they always could.
  std::string why_not_kept() const;
  struct Stats {
    size_t hits = 0, misses = 0, damaged = 0, foreign = 0, kept = 0, removed = 0;
  };
  Stats stats() const;

 private:
  std::filesystem::path file_of(std::string_view name) const;
  void make_room(size_t bytes);
  bool failed(int error_number);

  std::filesystem::path folder_;
  size_t most_bytes_;
  std::atomic<size_t> hits_{0}, misses_{0}, damaged_{0}, foreign_{0}, kept_{0}, removed_{0};
  std::atomic<int> last_error_{0};
};

}  // namespace tenon::exec
