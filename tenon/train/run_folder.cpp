// The lock is flock's, on a file of its own: the system drops it with the process, however that ends, so that there are
// no stale locks to explain. The number in the file only serves the message; that it is there at all marks the folder.

#include "tenon/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/io/file.h"
#include "tenon/rl/dqn_config.h"
#include "tenon/train/checkpoint.h"
#include "tenon/train/config.h"

namespace tenon::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "run";

[[noreturn]] void fail_writing(const fs::path& path, int error_number) {
  base::fail(kFormat, "{}: cannot be written: {}; choose a folder that can", path.string(),
             std::generic_category().message(error_number));
}

// All that a run replaces, and what is taken away again of one that could not begin.
constexpr std::string_view kParts[] = {"config.json",  "tokenizer.json", "metrics.jsonl", "report.html",
                                       "profile.json", "samples",        "checkpoints",   "tensorboard",
                                       "model",        "adapter",        ".lock"};
constexpr std::string_view kLockMark = " tenon train";

std::string start_of(const fs::path& path) {
  std::string text(32, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), std::ssize(text));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_writing(path, error.value());
}

/// The process that wrote the lock file, if it can be read.
std::string holder_of(int lock) {
  char text[32];
  const ssize_t bytes = pread(lock, text, sizeof text, 0);
  int64_t pid = 0;
  if (bytes > 0) std::from_chars(text, text + bytes, pid);
  return pid > 0 ? fmt::format("process {}", pid) : "another process";
}

int lock_folder(const fs::path& path) {
  const int lock = ::open((path / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (lock < 0 && errno == ELOOP)
    base::fail(kFormat, "{}: its .lock is a link, which is not followed; remove it", path.string());
  if (lock < 0) fail_writing(path, errno);
  struct stat status {};
  if (fstat(lock, &status) < 0 || !S_ISREG(status.st_mode)) {
    close(lock);
    base::fail(kFormat, "{}: its .lock is no file; remove it", path.string());
  }
  if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
    const int error_number = errno;
    const std::string holder = holder_of(lock);
    close(lock);
    if (error_number != EWOULDBLOCK) fail_writing(path, error_number);
    base::fail(kFormat, "{}: {} is training in this folder; wait for it or choose another", path.string(), holder);
  }
  // In this order, so that the mark of a folder is there at every moment.
  const std::string holder = fmt::format("{}{}\n", getpid(), kLockMark);
  const bool is_new = lseek(lock, 0, SEEK_END) == 0;
  if (pwrite(lock, holder.data(), holder.size(), 0) < 0 || ftruncate(lock, std::ssize(holder)) < 0) {
    const int error_number = errno;
    if (is_new) unlink((path / ".lock").c_str());
    close(lock);
    fail_writing(path, error_number);
  }
  return lock;
}

/// Whether the .lock is one that lock_folder writes. One that was killed in between leaves it empty, and has written
/// nothing else by then.
bool has_own_lock(const fs::path& folder) {
  std::error_code ignored;
  const fs::path path = folder / ".lock";
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return false;
  const std::string text = start_of(path);
  if (!text.empty()) return text.find(kLockMark) != text.npos;
  int entries = 0;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored))
    ++entries;
  return entries == 1;
}

bool has_metrics(const fs::path& path) {
  const fs::path metrics = path / "metrics.jsonl";
  if (!io::is_there(kFormat, metrics)) return false;
  std::error_code error;
  const auto bytes = fs::file_size(metrics, error);
  if (error) base::fail(kFormat, "{}: cannot be read: {}", metrics.string(), error.message());
  return bytes > 0;
}

bool has_model(const fs::path& path) { return !io::names_in_folder(kFormat, path / "model").empty(); }

/// Without steps, checkpoints, a model or a report there was never a run: the folder's owner tried something that
/// failed at once. A model or a report alone may be anybody's.
bool holds_run(const fs::path& path) {
  return !io::names_in_folder(kFormat, path / "checkpoints").empty() || has_metrics(path) ||
         (is_run(path) && (has_model(path) || io::is_there(kFormat, path / "report.html")));
}

/// A run makes the folder of its checkpoints before it takes a step.
void require_checkpoints(const fs::path& path) {
  if (holds_run(path) && !io::is_there(kFormat, path / "checkpoints"))
    base::fail(kFormat,
               "{}: its {}, and its folder checkpoints is missing; put it back, or begin a new run in another folder",
               path.string(),
               has_metrics(path) ? "metrics.jsonl has steps"
               : has_model(path) ? "model was saved"
                                 : "report was written");
}

/// Whether a ReplacingFile writes under this name: "report.html.4711-0.tmp".
bool is_unfinished(std::string_view name) {
  if (!name.ends_with(".tmp")) return false;
  name.remove_suffix(4);
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return false;
  const std::string_view numbers = name.substr(dot + 1);
  return numbers.find('-') != numbers.npos && numbers.find_first_not_of("0123456789-") == numbers.npos;
}

/// The folder is locked: whoever began these files is gone.
void remove_unfinished(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (const char* part : {"", "samples", "model", "adapter"}) {
    for (const auto& entry : fs::directory_iterator(folder / part, ignored)) {
      if (is_unfinished(entry.path().filename().string())) unfinished.push_back(entry.path());
    }
  }
  for (const fs::path& path : unfinished) fs::remove(path, ignored);
}

/// Whether a file is a config that a run has written, of a model or of a game.
bool is_config(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  const auto is_read = [&](const auto& parse) {
    try {
      const auto file = io::MappedFile::open(kFormat, path);
      parse(io::as_text(file->bytes()), path.string());
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  return is_read([](auto text, const auto& name) { parse_config(text, name); }) ||
         is_read([](auto text, const auto& name) { rl::parse_dqn_config(text, name); });
}

}  // namespace

bool is_run(const fs::path& folder) {
  if (has_own_lock(folder)) return true;
  // A copy may have lost its .lock, as hidden files are. Names alone, which many programs use, prove nothing.
  return holds_checkpoint(folder / "checkpoints") && is_config(folder / "config.json");
}

namespace {

/// A folder above may hold anybody's checkpoints, which need not let us look.
bool is_run_above(const fs::path& folder) {
  try {
    return is_run(folder);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::optional<fs::path> run_owning(const fs::path& path) {
  std::error_code ignored;
  fs::path part;  // of the folder that is looked at, behind its name
  for (fs::path place = fs::weakly_canonical(fs::absolute(path, ignored), ignored); !place.empty();
       part = place.filename(), place = place.parent_path()) {
    const bool is_part = part.empty() || std::ranges::find(kParts, part.string()) != std::end(kParts);
    if (is_part && fs::is_directory(place, ignored) && is_run_above(place)) return place;
    if (place == place.parent_path()) break;
  }
  return std::nullopt;
}

namespace {

/// A run replaces files by their names, so nobody else's may be there.
void require_own_place(const fs::path& path) {
  std::error_code ignored;
  const auto entry = fs::directory_iterator(path, ignored);
  if (!ignored && entry != fs::directory_iterator() && !is_run(path))
    base::fail(kFormat, "{}: is not empty and no run of tenon: {} lies in it; choose a folder that is new or empty",
               path.string(), io::as_one_line(entry->path().filename().string()));
  const auto owner = run_owning(path);
  if (owner && !fs::equivalent(*owner, path, ignored))
    base::fail(kFormat, "{}: belongs to another run, {}; choose a folder outside of it", path.string(),
               owner->string());
}

}  // namespace

RunFolder RunFolder::open(const fs::path& path, Start start) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_directory(path, ignored))
    base::fail(kFormat, "{}: is not a folder", path.string());
  if (start == Start::resume && !holds_run(path)) {
    base::fail(kFormat, "{}: there is no run to resume; start a new one or name the folder of a run", path.string());
  }
  if (start != Start::fresh) require_checkpoints(path);
  const auto require_no_run = [&] {
    if (start == Start::fresh && holds_run(path))
      base::fail(kFormat, "{}: holds a run already; resume it or choose another folder", path.string());
  };
  require_no_run();  // before anything is made, and again when nobody else can begin one
  if (start != Start::fresh || !holds_run(path)) require_own_place(path);
  std::vector<fs::path> missing;
  for (fs::path part = fs::absolute(path, ignored).lexically_normal(); !fs::exists(part, ignored);
       part = part.parent_path()) {
    if (part.has_filename()) missing.push_back(part);
    if (part == part.parent_path()) break;
  }
  std::set<std::string> before;
  for (auto entry = fs::directory_iterator(path, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored))
    before.insert(entry->path().filename().string());
  make_folder(path);
  RunFolder folder(path, -1, false);
  folder.made_ = std::move(missing);
  folder.before_ = std::move(before);
  try {
    folder.lock_ = lock_folder(path);
    folder.resumes_ = holds_run(path);
    require_no_run();
    remove_unfinished(path);
    for (const fs::path& part : {folder.samples(), folder.checkpoints(), folder.tensorboard()}) make_folder(part);
  } catch (...) {
    folder.abandon();
    throw;
  }
  return folder;
}

RunFolder::RunFolder(fs::path path, int lock, bool resumes) : path_(std::move(path)), lock_(lock), resumes_(resumes) {}

namespace {

std::atomic<RunFolder*> abandoned_at_exit{nullptr};

}  // namespace

RunFolder::~RunFolder() {
  keep();
  if (lock_ >= 0) close(lock_);
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      resumes_(other.resumes_),
      before_(std::move(other.before_)),
      made_(std::move(other.made_)) {}

void RunFolder::abandon_at_exit() {
  static const int registered = std::atexit([] {
    if (RunFolder* folder = abandoned_at_exit.exchange(nullptr)) folder->abandon();
  });
  if (registered == 0) abandoned_at_exit = this;
}

void RunFolder::keep() {
  is_kept_ = true;
  RunFolder* own = this;
  abandoned_at_exit.compare_exchange_strong(own, nullptr);
}

void RunFolder::abandon() {
  if (resumes_ || is_kept_) return;
  std::error_code ignored;
  // Without the lock, what lies there is another process's.
  const bool is_ours = lock_ >= 0;
  for (const std::string_view part : kParts) {
    if (is_ours && !before_.contains(std::string(part))) fs::remove_all(path_ / part, ignored);
  }
  for (const fs::path& folder : made_) fs::remove(folder, ignored);  // only what is empty
}

}  // namespace tenon::train
