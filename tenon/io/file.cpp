// Mapping and replacing files through the system's own calls: std::fstream can neither map nor sync, and loses errno.

#include "tenon/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(std::string_view format, const fs::path& path) {
  const Input shown{format, path.string(), {}};
  // A pipe would block here for ever without O_NONBLOCK; a regular file does not care.
  const Handle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (handle.file < 0 || fstat(handle.file, &status) < 0) fail(shown, "cannot be read: {}", reason(errno));
  if (!S_ISREG(status.st_mode)) fail(shown, "is not a regular file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile({}));
  // Without MAP_NORESERVE a file larger than the memory could not be mapped, though few of its pages are ever written.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, handle.file, 0);
  if (memory == MAP_FAILED) fail(shown, "cannot be mapped: {}", reason(errno));
  return std::shared_ptr<MappedFile>(new MappedFile({static_cast<std::byte*>(memory), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

ReplacingFile::ReplacingFile(std::string_view format, const fs::path& path) : shown_{format, path.string(), {}} {
  std::error_code ignored;
  target_ = fs::weakly_canonical(path, ignored);  // the file behind a link is replaced, not the link
  if (target_.empty()) target_ = path;
  for (int attempt = 0; file_ < 0; ++attempt) {
    temporary_ = target_;
    temporary_ += fmt::format(".{}-{}.tmp", getpid(), attempt);
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail(shown_, "cannot be written: {}", reason(errno));
  }
}

ReplacingFile::~ReplacingFile() {
  if (file_ >= 0) close(file_);
  if (!committed_) unlink(temporary_.c_str());
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

void ReplacingFile::sync() { check(fsync(file_)); }

void ReplacingFile::commit() {
  sync();
  check(close(std::exchange(file_, -1)));
  check(rename(temporary_.c_str(), target_.c_str()));
  committed_ = true;
  sync_folder_of(shown_, target_);
}

void ReplacingFile::check(int64_t result) const {
  if (result < 0) fail(shown_, "cannot be written: {}", reason(errno));
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
