// Through openat and fstatat, which take names in an open folder.

#include "tenon/io/open_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace tenon::io {

namespace fs = std::filesystem;

/// What tells one file from another, and from itself after somebody wrote into it.
struct OpenFolder::FileState {
  dev_t device = 0;
  ino_t number = 0;
  off_t bytes = 0;
  time_t seconds = 0;
  int64_t nanoseconds = 0;

  explicit FileState(const struct stat& status)
      : device(status.st_dev),
        number(status.st_ino),
        bytes(status.st_size),
        seconds(status.st_mtim.tv_sec),
        nanoseconds(status.st_mtim.tv_nsec) {}
  bool operator==(const FileState&) const = default;
};

OpenFolder::OpenFolder(std::string_view format, const fs::path& path) : format_(format), path_(path) {
  const fs::path place = path.empty() ? fs::path(".") : path;
  folder_ = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) fail(Input{format, path.string(), {}}, "cannot be read: {}", std::generic_category().message(errno));
}

OpenFolder::~OpenFolder() { close(folder_); }

bool OpenFolder::has(const std::string& name) const {
  struct stat status {};
  if (fstatat(folder_, name.c_str(), &status, 0) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR)
    fail(Input{format_, (path_ / name).string(), {}}, "cannot be read: {}", std::generic_category().message(errno));
  return false;
}

std::vector<std::string> OpenFolder::names() const {
  struct Close {
    void operator()(DIR* listing) const { closedir(listing); }
  };
  const int own = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a position of its own
  const std::unique_ptr<DIR, Close> listing(own < 0 ? nullptr : fdopendir(own));
  if (!listing && own >= 0) close(own);
  std::vector<std::string> names;
  errno = listing ? 0 : errno;
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0)
    fail(Input{format_, path_.string(), {}}, "cannot be listed: {}", std::generic_category().message(errno));
  std::ranges::sort(names);
  return names;
}

std::shared_ptr<const MappedFile> OpenFolder::open(std::string_view format, const std::string& name) const {
  struct stat status {};
  auto file = MappedFile::open_in(format, folder_, path_ / name, name, status);
  const auto [known, is_new] = opened_.emplace(name, FileState(status));
  if (!is_new && !(known->second == FileState(status))) refuse(name);
  return file;
}

void OpenFolder::require_unchanged(std::string_view last) const {
  // In this order: a file that is not being replaced any more has been by now.
  for (const std::string& name : names()) {
    if (is_being_written(name, last)) refuse(std::string(last));
  }
  for (const auto& [name, before] : opened_) {
    struct stat status {};
    if (fstatat(folder_, name.c_str(), &status, 0) < 0 || !(FileState(status) == before)) refuse(name);
  }
}

void OpenFolder::refuse(const std::string& name) const {
  fail(Input{format_, path_.string(), {}}, "its {} was replaced while the folder was read; read it again", name);
}

}  // namespace tenon::io
