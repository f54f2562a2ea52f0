#include "tenon/data/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "tenon/base/error.h"

namespace tenon::data {
namespace {

class FileStream : public ByteStream {
 public:
  // A pipe would block in open for ever without O_NONBLOCK; a regular file does not care.
  FileStream(const std::filesystem::path& path, std::string_view format)
      : FileStream(path.string(), format, open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) < 0) fail_reading();
    if (!S_ISREG(status.st_mode)) base::fail(format_, "{}: is not a regular file", name_);
  }
  ~FileStream() override {
    if (file_ >= 0) close(file_);
  }
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  size_t read(std::span<char> into) override {
    ssize_t count;
    do count = ::read(file_, into.data(), into.size());
    while (count < 0 && errno == EINTR);
    if (count < 0) fail_reading();
    consumed_ += count;
    return static_cast<size_t>(count);
  }
  int64_t skip(int64_t bytes) override {
    struct stat status {};
    if (fstat(file_, &status) < 0) fail_reading();
    const int64_t skipped = std::clamp<int64_t>(bytes, 0, status.st_size - consumed_);
    if (lseek(file_, skipped, SEEK_CUR) < 0) fail_reading();
    consumed_ += skipped;
    return skipped;
  }
  int64_t consumed() const override { return consumed_; }
  const std::string& name() const override { return name_; }

 private:
  FileStream(std::string name, std::string_view format, int file)
      : name_(std::move(name)), format_(format), file_(file) {}
  [[noreturn]] void fail_reading() const {
    base::fail(format_, "{}: cannot be read: {}", name_, std::generic_category().message(errno));
  }

  std::string name_, format_;
  int file_ = -1;
  int64_t consumed_ = 0;
};

class MemoryStream : public ByteStream {
 public:
  MemoryStream(std::string_view text, std::string name) : rest_(text), size_(text.size()), name_(std::move(name)) {}
  size_t read(std::span<char> into) override {
    const size_t count = rest_.copy(into.data(), into.size());
    rest_.remove_prefix(count);
    return count;
  }
  int64_t consumed() const override { return static_cast<int64_t>(size_ - rest_.size()); }
  const std::string& name() const override { return name_; }

 private:
  std::string_view rest_;
  size_t size_;
  std::string name_;
};

}  // namespace

int64_t ByteStream::skip(int64_t bytes) {
  std::array<char, 1 << 14> ignored;
  int64_t skipped = 0;
  while (skipped < bytes) {
    const auto step = static_cast<size_t>(std::min<int64_t>(bytes - skipped, ignored.size()));
    const size_t count = read(std::span(ignored).first(step));
    if (count == 0) break;
    skipped += static_cast<int64_t>(count);
  }
  return skipped;
}

size_t read_fully(ByteStream& stream, std::span<char> into) {
  size_t held = 0;
  while (held < into.size()) {
    const size_t count = stream.read(into.subspan(held));
    if (count == 0) break;
    held += count;
  }
  return held;
}

std::unique_ptr<ByteStream> open_file(const std::filesystem::path& path, std::string_view format) {
  return std::make_unique<FileStream>(path, format);
}

std::unique_ptr<ByteStream> open_memory(std::string_view text, std::string name) {
  return std::make_unique<MemoryStream>(text, std::move(name));
}

}  // namespace tenon::data
