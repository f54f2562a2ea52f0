// Link by link, and not by realpath(): the last one may lead to a file that is still to be written.

#include "tenon/io/links.h"

#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "tenon/io/input.h"

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

// In a folder that everybody may write to, such as /tmp, a link of another user's may be a trap. Its owner may be the
// folder's.
bool is_a_strangers(const struct stat& link, const struct stat& folder) {
  const bool is_everybodys = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return is_everybodys && link.st_uid != geteuid() && link.st_uid != folder.st_uid;
}

// Links there lead to the descriptors of this process, and from there anywhere: the writer refuses them by their names.
bool is_no_place_for_files(const fs::path& path) {
  std::error_code ignored;
  const std::string plain = fs::absolute(path, ignored).lexically_normal().string();
  return (plain.starts_with("/dev/") && !plain.starts_with("/dev/shm/")) || plain.starts_with("/proc/");
}

}  // namespace

fs::path behind_links(std::string_view format, const fs::path& path) {
  constexpr int kMost = 40;  // as Linux has it
  const Input shown{format, path.string(), {}};
  fs::path at = path;
  for (int links = 0;; ++links) {
    struct stat link {};
    if (is_no_place_for_files(at) || lstat(at.c_str(), &link) < 0 || !S_ISLNK(link.st_mode)) return at;
    if (links == kMost) fail(shown, "cannot be written: its links lead in a circle, or there are too many");
    const fs::path folder = at.has_parent_path() ? at.parent_path() : fs::path(".");
    struct stat around {};
    if (stat(folder.c_str(), &around) < 0 || is_a_strangers(link, around))
      fail(shown, "cannot be written: it is a link that another user has put into {}", folder.string());
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) fail(shown, "cannot be written: {}", error.message());
    at = next.is_absolute() ? next : folder / next;
  }
}

}  // namespace tenon::io
