// Linux exchanges two folders in one step. Where a file system cannot, the old one goes aside for a moment, and a kill
// within it is repaired by whoever writes there next.

#include "tenon/io/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".tmp", kAside = ".aside";

/// The folder itself, of a link the one it leads to, without the slash that a name may end in.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (!error) return real;
  real = fs::absolute(path, error).lexically_normal();
  return real.has_filename() ? real : real.parent_path();
}

fs::path beside(const fs::path& target, int attempt, std::string_view ending) {
  const std::string name = target.filename().string();
  return target.parent_path() / fmt::format("{}.{}-{}{}", start_of_name_beside(name), getpid(), attempt, ending);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored))
    found.push_back(entry->path());
  return found;
}

/// We put nothing but files into a folder; one that holds more is somebody else's, whatever it is called.
void remove_left(const fs::path& folder) {
  std::error_code ignored;
  const std::vector<fs::path> entries = entries_of(folder);
  const bool is_plain = std::ranges::none_of(
      entries, [&](const fs::path& entry) { return fs::is_directory(fs::symlink_status(entry, ignored)); });
  if (is_plain) fs::remove_all(folder, ignored);
}

void sweep(const fs::path& target) {
  std::error_code ignored;
  const std::string name = target.filename().string();
  for (const fs::path& entry : entries_of(target.parent_path())) {
    if (!fs::is_directory(fs::symlink_status(entry, ignored))) continue;
    const bool is_aside = is_left_behind(entry.filename().string(), name, kAside);
    if (!is_aside && !is_left_behind(entry.filename().string(), name, kUnfinished)) continue;
    const int lock = open(entry.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const bool is_ours = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (is_ours && is_aside && !fs::exists(fs::symlink_status(target, ignored)))
      fs::rename(entry, target, ignored);
    else if (is_ours)
      remove_left(entry);
    if (lock >= 0) close(lock);
  }
}

/// 0, or the reason why not.
int exchange([[maybe_unused]] const fs::path& one, [[maybe_unused]] const fs::path& other) {
#ifdef SYS_renameat2
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE, which not every libc names
  return syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), kExchange) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

}  // namespace

ReplacingFolder::ReplacingFolder(std::string_view format, const fs::path& path)
    : shown_{format, path.string(), {}}, target_(real_path(path)), above_(format, target_.parent_path()) {
  sweep(target_);
  std::error_code error;
  const bool is_there = fs::exists(target_, error);
  if (is_there && !fs::is_directory(target_, error)) fail(shown_, "cannot be written: it is no folder");
  if (is_there && fs::equivalent(target_, ".", error) && !entries_of(target_).empty())
    fail(shown_, "is the folder that this command runs in, which cannot be replaced; run it from another");
  for (int attempt = 0; place_.empty(); ++attempt) {
    const fs::path place = beside(target_, attempt, kUnfinished);
    if (mkdir(place.c_str(), 0777) == 0)
      place_ = place;
    else if (errno != EEXIST)
      fail(shown_, "cannot be written: {}", std::generic_category().message(errno));
  }
  lock_ = open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0) flock(lock_, LOCK_EX | LOCK_NB);
}

ReplacingFolder::~ReplacingFolder() {
  if (!place_.empty()) remove_left(place_);
  if (lock_ >= 0) close(lock_);
}

std::string ReplacingFolder::with_target(std::string text) const {
  const std::string from = place_.string();
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + shown_.name.size()))
    text.replace(at, from.size(), shown_.name);
  return text;
}

void ReplacingFolder::fail_replacing(int error_number) const {
  fail(shown_, "cannot be replaced: {}", std::generic_category().message(error_number));
}

void ReplacingFolder::commit(std::string_view last) {
  sync_folder_of(shown_, place_ / last);
  std::error_code error;
  if (!fs::exists(target_, error)) {
    if (rename(place_.c_str(), target_.c_str()) < 0) fail_replacing(errno);
  } else if (entries_of(target_).empty()) {
    move_into_target(last);
  } else {
    swap_with_target();
  }
  above_.keep();
  sync_folder_of(shown_, target_);
}

void ReplacingFolder::move_into_target(std::string_view last) const {
  const auto move = [&](const fs::path& name) {
    if (rename((place_ / name).c_str(), (target_ / name).c_str()) < 0) fail_replacing(errno);
  };
  for (const fs::path& entry : entries_of(place_)) {
    if (entry.filename() != last) move(entry.filename());
  }
  move(last);
  sync_folder_of(shown_, target_ / last);
}

void ReplacingFolder::swap_with_target() const {
  struct stat before {};
  if (stat(target_.c_str(), &before) == 0) chmod(place_.c_str(), before.st_mode & 07777);
  const int why_not = exchange(place_, target_);
  if (why_not == 0) return;  // the old one goes with this object
  if (why_not != ENOSYS && why_not != EINVAL && why_not != ENOTSUP) fail_replacing(why_not);
  const fs::path aside = beside(target_, 0, kAside);
  if (rename(target_.c_str(), aside.c_str()) < 0) fail_replacing(errno);
  if (rename(place_.c_str(), target_.c_str()) < 0) {
    const int error_number = errno;
    rename(aside.c_str(), target_.c_str());
    fail_replacing(error_number);
  }
  remove_left(aside);
}

}  // namespace tenon::io
