// Protobuf by hand. Field numbers are those of tensorboard/compat/proto: event.proto, summary.proto, tensor.proto.

#include "tenon/watch/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/io/input.h"
#include "tenon/watch/crc32c.h"

namespace tenon::watch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kFormat = "tensorboard";
constexpr auto kLongestWait = std::chrono::seconds(2);
constexpr size_t kMostWaiting = size_t{1} << 16;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

template <typename T>
std::string raw(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

/// A protobuf message under construction. The wire type stands in the lowest three bits of each field's key.
class Message {
 public:
  Message& number(uint64_t field, uint64_t value) {
    varint(field << 3 | 0);
    varint(value);
    return *this;
  }
  Message& fixed(uint64_t field, double value) {
    varint(field << 3 | 1);
    bytes_ += raw(value);
    return *this;
  }
  Message& bytes(uint64_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint64_t field, const Message& value) { return bytes(field, value.bytes_); }
  Message& fixed(uint64_t field, float value) {
    varint(field << 3 | 5);
    bytes_ += raw(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message event(double wall_time, int64_t step) {
  return Message().fixed(1, wall_time).number(2, static_cast<uint64_t>(step));
}

/// An event with one value.
std::string summary_event(double wall_time, int64_t step, const Message& value) {
  return event(wall_time, step).message(5, Message().message(1, value)).bytes();
}

std::string file_name() {
  static std::atomic<int> files{0};  // two writers may begin within one second
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<int64_t>(wall_time_now()), host, getpid(),
                     files++);
}

[[noreturn]] void fail_writing(const fs::path& path, int error_number) {
  base::fail(kFormat, "{}: cannot be written: {}", path.string(), std::generic_category().message(error_number));
}

}  // namespace

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TensorBoardWriter::TensorBoardWriter(const fs::path& folder, std::optional<int64_t> last_step)
    : path_(folder / file_name()), flushed_(Clock::now()) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_writing(folder, error.value());
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) fail_writing(path_, errno);
  add(event(wall_time_now(), 0).bytes(3, "brain.Event:2").bytes());
  if (last_step) {
    constexpr uint64_t kSessionLog = 7, kStatus = 1, kStart = 1;
    add(event(wall_time_now(), *last_step + 1).message(kSessionLog, Message().number(kStatus, kStart)).bytes());
  }
}

TensorBoardWriter::~TensorBoardWriter() {
  if (file_ < 0) return;
  try {
    flush();
  } catch (const Error&) {
    // Nobody is left to tell; whoever must know calls flush.
  }
  close(file_);
}

TensorBoardWriter::TensorBoardWriter(TensorBoardWriter&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      waiting_(std::move(other.waiting_)),
      flushed_(other.flushed_) {}

void TensorBoardWriter::scalar(std::string_view tag, int64_t step, double value, double wall_time) {
  add(summary_event(wall_time, step, Message().bytes(1, tag).fixed(2, static_cast<float>(value))));
}

void TensorBoardWriter::text(std::string_view tag, int64_t step, std::string_view text, double wall_time) {
  std::string shown(text);  // TensorBoard shows nothing at all of a text that is not UTF-8
  if (!io::is_utf8(shown)) {
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  constexpr uint64_t kString = 7;  // of the enum DataType
  const Message shape = Message().message(2, Message().number(1, 1));
  const Message tensor = Message().number(1, kString).message(2, shape).bytes(8, shown);
  const Message metadata = Message().message(1, Message().bytes(1, "text"));
  add(summary_event(wall_time, step, Message().bytes(1, tag).message(8, tensor).message(9, metadata)));
}

void TensorBoardWriter::picture(std::string_view tag, int64_t step, std::string_view png, double wall_time) {
  constexpr size_t kWidth = 16, kHeight = 20;  // where a PNG file has them, four bytes each, the highest first
  if (png.size() < kHeight + 4) base::fail(kFormat, "{}: {} is no PNG file", path_.string(), tag);
  const auto number_at = [&](size_t at) {
    uint64_t number = 0;
    for (const char byte : png.substr(at, 4)) number = number << 8 | static_cast<unsigned char>(byte);
    return number;
  };
  constexpr uint64_t kRgb = 3;
  const Message image = Message().number(1, number_at(kHeight)).number(2, number_at(kWidth)).number(3, kRgb);
  add(summary_event(wall_time, step, Message().bytes(1, tag).message(4, Message(image).bytes(4, png))));
}

/// Appends a TFRecord: length, its checksum, the bytes, their checksum.
void TensorBoardWriter::add(std::string_view event) {
  const std::string length = raw(uint64_t{event.size()});
  waiting_ += length;
  waiting_ += raw(masked_crc32c(length));
  waiting_ += event;
  waiting_ += raw(masked_crc32c(event));
  if (waiting_.size() > kMostWaiting || Clock::now() - flushed_ > kLongestWait) flush();
}

void TensorBoardWriter::flush() {
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const ssize_t bytes = ::write(file_, rest.data(), rest.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      const int error_number = errno;
      waiting_.erase(0, waiting_.size() - rest.size());
      fail_writing(path_, error_number);
    }
    rest.remove_prefix(static_cast<size_t>(bytes));
  }
  waiting_.clear();
  flushed_ = Clock::now();
}

}  // namespace tenon::watch
