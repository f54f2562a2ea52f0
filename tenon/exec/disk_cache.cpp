// Files: magic, version, lengths of name and bytes, checksum of all that follows; then the name, then the bytes.

#include "tenon/exec/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "tenon/base/environment.h"
#include "tenon/base/hash.h"

namespace tenon::exec {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'P', 'R', 'G'};
constexpr uint64_t kMostOfOne = uint64_t{256} << 20;  // no program is larger; a length beyond is damage

struct Header {
  char magic[8];
  uint32_t version, reserved;
  uint64_t name_bytes, program_bytes, checksum;
};
static_assert(sizeof(Header) == 40);

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t checksum(std::string_view name, std::string_view program) {
  return base::hash_bytes(program, base::hash_bytes(name));
}

enum class Found { none, other, damaged, foreign, good };

bool read_all(int file, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

class OpenFile {
 public:
  // A pipe would wait for its writer, a link may lead anywhere.
  explicit OpenFile(const fs::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  const int number_;
};

// As ssh looks at its keys.
bool is_trusted(const struct stat& status) {
  const bool is_ours = status.st_uid == ::geteuid() || status.st_uid == 0;
  return is_ours && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// What a file holds under a name. Lengths are believed only when they add up to the file's own.
Found read(const fs::path& path, std::string_view name, std::vector<std::byte>& program) {
  const OpenFile file(path);
  struct stat status {};
  if (file.number() < 0) return errno == ELOOP ? Found::damaged : Found::none;
  if (::fstat(file.number(), &status) != 0) return Found::none;
  if (!S_ISREG(status.st_mode)) return Found::damaged;
  if (!is_trusted(status)) return Found::foreign;
  const auto size = static_cast<uint64_t>(status.st_size);
  Header header;
  if (size < sizeof header || !read_all(file.number(), &header, sizeof header)) return Found::damaged;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return Found::damaged;
  if (header.version != DiskCache::kVersion) return Found::damaged;
  const uint64_t rest = size - sizeof header;
  if (header.name_bytes > rest || header.program_bytes != rest - header.name_bytes || rest > kMostOfOne)
    return Found::damaged;
  std::string stated(header.name_bytes, '\0');
  program.resize(header.program_bytes);
  const bool is_whole =
      read_all(file.number(), stated.data(), stated.size()) && read_all(file.number(), program.data(), program.size());
  if (!is_whole || checksum(stated, text_of(program)) != header.checksum) return Found::damaged;
  return stated == name ? Found::good : Found::other;
}

// Says it once: whoever waits for compilers again should know why.
void warn_of_foreign(const fs::path& path) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  std::fprintf(stderr,
               "[tenon] %s: belongs to another user, or others may write it, and is not used. Set TENON_CACHE_DIR to a "
               "folder of your own.\n",
               path.c_str());
}

// A folder that cannot be written costs compile time in every process; whoever wonders why should know. Says false, as
// those do who have failed.
bool warn_once(const fs::path& folder, int error_number) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return false;
  std::fprintf(stderr, "[tenon] compiled programs cannot be kept in %s: %s. Set TENON_CACHE_DIR to another folder.\n",
               folder.c_str(), std::generic_category().message(error_number).c_str());
  return false;
}

// Held by one process at a time, for as long as a small file takes to be written. Nobody waits for one that was stopped
// with it, nor where the file system has no locks: then whoever writes last wins.
class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
    constexpr int kMostTries = 2000;
    for (int i = 0; file_ >= 0 && i < kMostTries && ::flock(file_, LOCK_EX | LOCK_NB) != 0; ++i) {
      if (errno != EWOULDBLOCK && errno != EINTR) return;
      ::usleep(1000);
    }
  }
  Lock(const Lock&) = delete;
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  const int file_;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

fs::path standard_folder() {
  if (base::env::is_set(base::env::kCacheDir)) return base::env::value(base::env::kCacheDir).value_or("");
  if (const auto shared = base::env::value(base::env::kXdgCacheHome)) return fs::path(*shared) / "tenon";
  if (const auto home = base::env::value(base::env::kHome)) return fs::path(*home) / ".cache" / "tenon";
  return {};
}

}  // namespace

DiskCache::DiskCache(fs::path folder, size_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

DiskCache* DiskCache::standard() {
  static const std::unique_ptr<DiskCache> cache = [] {
    const fs::path folder = standard_folder();
    return folder.empty() ? nullptr : std::make_unique<DiskCache>(folder);
  }();
  return cache.get();
}

std::string DiskCache::why_unusable() const {
  std::error_code missing;
  fs::path there = folder_;  // it, or what it will be made in
  while (!fs::exists(there, missing) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, missing)) return there.string() + " is no folder";
  if (::access(there.c_str(), W_OK | X_OK) == 0) return {};
  return fmt::format("{}: {}", there.string(), std::generic_category().message(errno));
}

fs::path DiskCache::file_of(std::string_view name) const {
  return folder_ / fmt::format("{:016x}{:016x}.program", base::hash_bytes(name, 1), base::hash_bytes(name, 2));
}

std::optional<std::vector<std::byte>> DiskCache::find(std::string_view name) {
  const fs::path path = file_of(name);
  std::vector<std::byte> program;
  switch (read(path, name, program)) {
    case Found::good: {
      ++hits_;
      std::error_code ignored;  // the time of use orders what goes first; a folder of somebody else keeps its own
      fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
      return program;
    }
    case Found::damaged: {
      ++damaged_;
      std::error_code ignored;
      fs::remove(path, ignored);
      break;
    }
    case Found::foreign:
      ++foreign_;
      warn_of_foreign(path);
      break;
    case Found::none:
    case Found::other: break;
  }
  ++misses_;
  return std::nullopt;
}

bool DiskCache::failed(int error_number) {
  last_error_ = error_number;
  return warn_once(folder_, error_number);
}

std::string DiskCache::why_not_kept() const {
  const int error_number = last_error_;
  return error_number == 0 ? ""
                           : fmt::format("{}: {}", folder_.string(), std::generic_category().message(error_number));
}

bool DiskCache::keep(std::string_view name, std::span<const std::byte> bytes) {
  if (bytes.empty() || name.size() + bytes.size() > kMostOfOne) return false;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return failed(error.value());
  make_room(sizeof(Header) + name.size() + bytes.size());

  std::string beside = (folder_ / ".writing-XXXXXX").string();
  const int file = ::mkstemp(beside.data());
  if (file < 0) return failed(errno);
  Header header{{}, kVersion, 0, name.size(), bytes.size(), checksum(name, text_of(bytes))};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const bool written = write_all(file, {reinterpret_cast<const char*>(&header), sizeof header}) &&
                       write_all(file, name) && write_all(file, text_of(bytes));
  const int reason = errno;
  const bool closed = ::close(file) == 0;
  if (written && closed && std::rename(beside.c_str(), file_of(name).c_str()) == 0) {
    ++kept_;
    return true;
  }
  const int last = written ? errno : reason;
  ::unlink(beside.c_str());
  return failed(last);
}

bool DiskCache::update(std::string_view name, const Change& change) {
  std::error_code error;
  fs::create_directories(folder_, error);
  const Lock lock(folder_ / ".changing");
  return keep(name, change(find(name)));
}

// Also removes what processes that died in the middle of writing left behind.
void DiskCache::make_room(size_t bytes) {
  struct File {
    fs::path path;
    fs::file_time_type used;
    size_t bytes;
  };
  std::vector<File> files;
  size_t total = bytes;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may remove files at the same time
    const fs::file_time_type used = at->last_write_time(gone);
    const auto size = gone ? 0 : at->file_size(gone);
    if (gone) continue;
    if (at->path().filename().string().starts_with(".writing-")) {
      if (now - used > std::chrono::hours(1)) fs::remove(at->path(), gone);
      continue;
    }
    if (at->path().extension() != ".program") continue;
    files.push_back({at->path(), used, size});
    total += size;
  }
  if (total <= most_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= most_bytes_) return;
    std::error_code gone;
    if (!fs::remove(file.path, gone)) continue;
    total -= file.bytes;
    ++removed_;
  }
}

DiskCache::Stats DiskCache::stats() const { return {hits_, misses_, damaged_, foreign_, kept_, removed_}; }

}  // namespace tenon::exec
