// Mapping and replacing files through the system's own calls: std::fstream can neither map nor sync, and loses errno.

#include "tenon/io/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <system_error>
#include <vector>

namespace tenon::io {
namespace {

namespace fs = std::filesystem;

std::string reason(int error_number) { return std::generic_category().message(error_number); }

/// Closes itself.
struct Handle {
  explicit Handle(int number) : file(number) {}
  ~Handle() {
    if (file >= 0) close(file);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int file;
};

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "something else";
}

bool is_device_or_pipe(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
}

/// A file that is mostly holes says that it is large and holds next to nothing: a download that was never finished, or
/// a trap. Small ones cost nothing. Where a file system knows no holes, all of a file is data.
void refuse_holes(const Input& shown, int file, off_t size) {
  constexpr off_t kSmall = off_t{64} << 20, kLeastPart = 16;
  if (size <= kSmall) return;
  off_t held = 0;
  for (off_t at = 0; at < size;) {
    const off_t data = lseek(file, at, SEEK_DATA);
    if (data < 0 && errno != ENXIO) return;  // nobody knows
    if (data < 0) break;                     // nothing but holes from here on
    at = lseek(file, data, SEEK_HOLE);
    if (at < 0) return;
    held += at - data;
    if (held >= size / kLeastPart) return;
  }
  fail(shown, "says it has {} bytes, but only {} of them were ever written: the file is not complete", size, held);
}

/// The process that writes under this name, "report.html.4711-0.tmp" for "report.html"; 0 where none would.
pid_t writer_in(std::string_view name, std::string_view given_target, std::string_view ending) {
  const std::string_view target = start_of_name_beside(given_target);
  if (!name.starts_with(target) || !name.ends_with(ending)) return 0;
  name.remove_prefix(target.size());
  name.remove_suffix(std::min(ending.size(), name.size()));
  const size_t dash = name.find('-');
  if (name.size() < 4 || name[0] != '.' || dash == name.npos) return 0;
  pid_t process = 0;
  const char* end = name.data() + dash;
  const auto [stop, error] = std::from_chars(name.data() + 1, end, process);
  const bool is_counted = name.find_first_not_of("0123456789", dash + 1) == name.npos && dash + 1 < name.size();
  return error == std::errc() && stop == end && is_counted ? process : 0;
}

/// What writers that were killed have left beside a file. Theirs are locked as long as they live, on this machine or,
/// where a folder is shared, on another.
void sweep_beside(const fs::path& target) {
  std::error_code ignored;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::vector<fs::path> left;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    if (is_left_behind(entry->path().filename().string(), target.filename().string(), ".tmp"))
      left.push_back(entry->path());
  }
  for (const fs::path& path : left) {
    const Handle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (handle.file >= 0 && flock(handle.file, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  }
}

using FileId = std::pair<dev_t, ino_t>;

/// What a name leads to, whatever it is called there.
std::optional<FileId> id_of(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) < 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino};
}

/// A place and the folders above it, that of the name itself and that of what it leads to.
class Surroundings {
 public:
  explicit Surroundings(const fs::path& path) {
    std::error_code ignored;
    const fs::path whole = fs::absolute(path, ignored).lexically_normal();
    const fs::path named = whole.has_filename() ? whole : whole.parent_path();
    if (const auto id = id_of(path)) own_.insert(*id);
    add_above(fs::weakly_canonical(named, ignored));
    add_above(fs::weakly_canonical(named.parent_path(), ignored) / named.filename());
  }
  bool is(const FileId& id) const { return own_.contains(id); }
  bool lies_in(const FileId& id) const { return above_.contains(id); }

 private:
  void add_above(const fs::path& place) {
    for (fs::path folder = place.parent_path(); !folder.empty(); folder = folder.parent_path()) {
      if (const auto id = id_of(folder)) above_.insert(*id);
      if (folder == folder.parent_path()) break;
    }
  }

  std::set<FileId> own_, above_;
};

/// The files of a folder, which may have other names elsewhere.
std::set<FileId> files_in(const fs::path& folder) {
  std::set<FileId> found;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const auto id = id_of(entry->path());
    if (id && fs::is_regular_file(entry->path(), ignored)) found.insert(*id);
  }
  return found;
}

bool share_some(const std::set<FileId>& one, const std::set<FileId>& other) {
  return std::ranges::any_of(one, [&](const FileId& id) { return other.contains(id); });
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(std::string_view format, const fs::path& path) {
  struct stat status {};
  return open_in(format, AT_FDCWD, path, path.string(), status);
}

std::shared_ptr<const MappedFile> MappedFile::open_in(std::string_view format, int folder, const fs::path& path,
                                                      const std::string& name, struct stat& status) {
  const Input shown{format, path.string(), {}};
  // A pipe would block here for ever without O_NONBLOCK; a regular file does not care.
  Handle handle(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (handle.file < 0 || fstat(handle.file, &status) < 0) fail(shown, "cannot be read: {}", reason(errno));
  if (S_ISDIR(status.st_mode)) fail(shown, "is not a regular file");
  if (!S_ISREG(status.st_mode))
    fail(shown, "is not a regular file but {}; write it to one first", kind_of(status.st_mode));
  const auto size = static_cast<size_t>(status.st_size);
  refuse_holes(shown, handle.file, status.st_size);
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(-1, {}, shown.name));
  // Without MAP_NORESERVE a file larger than the memory could not be mapped, though few of its pages are ever written.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, handle.file, 0);
  if (memory == MAP_FAILED) fail(shown, "cannot be mapped: {}", reason(errno));
  return std::shared_ptr<MappedFile>(
      new MappedFile(std::exchange(handle.file, -1), {static_cast<std::byte*>(memory), size}, shown.name));
}

MappedFile::MappedFile(int file, std::span<std::byte> bytes, const std::string& name) : file_(file), bytes_(bytes) {
  range_.emplace(bytes, name);
}

MappedFile::~MappedFile() {
  range_.reset();  // before the addresses are somebody else's
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (file_ >= 0) close(file_);
}

void MappedFile::require_whole() const {
  range_->require_whole();
  struct stat status {};
  const bool is_cut = file_ >= 0 && (fstat(file_, &status) < 0 || static_cast<size_t>(status.st_size) < bytes_.size());
  if (is_cut) range_->refuse();
}

ReplacingFile::ReplacingFile(std::string_view format, const fs::path& path, Devices devices)
    : shown_{format, path.string(), {}}, target_(path) {
  if (devices == Devices::written_through && is_device_or_pipe(path)) {
    file_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    check(file_);
    return;
  }
  require_place_for_file(shown_, path);
  sweep_beside(target_);
  struct stat before {};
  const bool replaces = lstat(target_.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  for (int attempt = 0; file_ < 0; ++attempt) {
    const std::string name = target_.filename().string();
    temporary_ = target_;
    temporary_.replace_filename(fmt::format("{}.{}-{}.tmp", start_of_name_beside(name), getpid(), attempt));
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
    if (file_ < 0 && errno != EEXIST) fail(shown_, "cannot be written: {}", reason(errno));
  }
  // A private file stays private, and its owner's, where the system and its file systems allow it.
  if (replaces) {
    [[maybe_unused]] const int owned = fchown(file_, before.st_uid, before.st_gid);
    [[maybe_unused]] const int allowed = fchmod(file_, before.st_mode & 0777);
  }
  flock(file_, LOCK_EX | LOCK_NB);  // only a sign of life: see sweep_beside
}

ReplacingFile::~ReplacingFile() {
  if (file_ >= 0) close(file_);
  if (!committed_ && !temporary_.empty()) unlink(temporary_.c_str());
}

ReplacingFile::ReplacingFile(ReplacingFile&& other) noexcept
    : shown_(std::move(other.shown_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      file_(std::exchange(other.file_, -1)),
      committed_(std::exchange(other.committed_, true)) {}

void ReplacingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    check(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void ReplacingFile::sync() {
  if (!temporary_.empty()) check(fsync(file_));
}

void ReplacingFile::commit() {
  sync();
  check(close(std::exchange(file_, -1)));
  committed_ = temporary_.empty();
  if (committed_) return;
  check(rename(temporary_.c_str(), target_.c_str()));
  committed_ = true;
  sync_folder_of(shown_, target_);
}

void ReplacingFile::check(int64_t result) const {
  if (result < 0) fail(shown_, "cannot be written: {}", reason(errno));
}

std::string_view start_of_name_beside(std::string_view target) {
  constexpr size_t kLongestName = 255, kEnding = 32;  // of most file systems; a number, a count and ".aside"
  return target.substr(0, kLongestName - kEnding);
}

bool is_left_behind(std::string_view name, std::string_view target, std::string_view ending) {
  const pid_t writer = writer_in(name, target, ending);
  return writer > 0 && kill(writer, 0) < 0 && errno == ESRCH;
}

bool is_being_written(std::string_view name, std::string_view target) {
  return writer_in(name, target, ".tmp") > 0 && !is_left_behind(name, target, ".tmp");
}

MadeFolder::MadeFolder(std::string_view format, const fs::path& path) {
  std::error_code error;
  for (fs::path part = fs::absolute(path, error).lexically_normal(); !fs::exists(part, error);
       part = part.parent_path()) {
    if (part.has_filename()) made_.push_back(part);
    if (part == part.parent_path()) break;
  }
  fs::create_directories(path, error);
  if (error) fail(Input{format, path.string(), {}}, "cannot be made: {}", error.message());
}

MadeFolder::~MadeFolder() {
  for (const fs::path& folder : made_) rmdir(folder.c_str());  // only what is empty
}

void require_place_for_file(const Input& shown, const fs::path& path) {
  std::error_code ignored;
  const std::string plain = fs::absolute(path, ignored).lexically_normal().string();
  // What stands there leads to the descriptors of this process, and from there anywhere.
  const bool is_memory = plain.starts_with("/dev/shm/");  // a file system like any other
  if ((plain.starts_with("/dev/") && !is_memory) || plain.starts_with("/proc/"))
    fail(shown, "cannot be written: it is no place for files; name a file elsewhere");
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  if (is_there && !S_ISREG(status.st_mode))
    fail(shown, "cannot be written: it is {}; name a file", kind_of(status.st_mode));
}

fs::file_type type_of(std::string_view format, const fs::path& path) {
  const Input shown{format, path.string(), {}};
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail(shown, "there is no such file or folder");
  if (error) fail(shown, "cannot be read: {}", error.message());
  if (fs::is_directory(status) && faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0)
    fail(shown, "cannot be read: {}", reason(errno));
  return status.type();
}

bool is_there(std::string_view format, const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none)
    fail(Input{format, path.string(), {}}, "cannot be read: {}", error.message());
  return fs::exists(status);
}

std::vector<std::string> names_in_folder(std::string_view format, const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  auto entry = fs::directory_iterator(folder, error);
  std::error_code ignored;
  const bool leads_nowhere = error == std::errc::not_a_directory && !fs::exists(fs::status(folder, ignored));
  if (error == std::errc::no_such_file_or_directory || leads_nowhere) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) fail(Input{format, folder.string(), {}}, "cannot be listed: {}", error.message());
  std::ranges::sort(names);
  return names;
}

void require_apart(std::string_view format, const fs::path& out, std::span<const fs::path> read) {
  const Input shown{format, out.string(), {}};
  const Surroundings around_out(out);
  const std::set<FileId> in_out = files_in(out);
  for (const fs::path& input : read) {
    const std::optional<FileId> id = id_of(input);
    if (input.empty() || !id) continue;
    if (around_out.is(*id)) fail(shown, "is what is read; write to another name");
    if (around_out.lies_in(*id)) fail(shown, "lies in {}, which is read; write elsewhere", input.string());
    const std::optional<FileId> out_id = id_of(out);
    if (out_id && Surroundings(input).lies_in(*out_id))
      fail(shown, "holds {}, which is read; write elsewhere", input.string());
    const std::set<FileId> in_input = files_in(input);
    const bool is_part = out_id && in_input.contains(*out_id);
    if (is_part || in_out.contains(*id) || share_some(in_out, in_input))
      fail(shown, "has a file under another name that belongs to {}, which is read; write elsewhere", input.string());
  }
}

void sync_folder_of(const Input& shown, const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const Handle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool failed = handle.file < 0 || fsync(handle.file) < 0;
  const bool cannot_sync_folders = errno == EINVAL;  // some network file systems
  if (failed && !cannot_sync_folders) fail(shown, "its folder cannot be synced: {}", reason(errno));
}

void remove_stale(std::string_view format, const fs::path& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return;
  fail(Input{format, path.string(), {}}, "cannot be removed: {}", reason(errno));
}

}  // namespace tenon::io
