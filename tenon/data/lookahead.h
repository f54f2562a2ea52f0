// What a reader of documents has in view: the next bytes of a stream, as many as it asked for.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/data/byte_stream.h"

namespace tenon::data {

class Lookahead {
 public:
  /// The stream stands at this offset of what it holds.
  explicit Lookahead(std::unique_ptr<ByteStream> stream, int64_t offset = 0)
      : stream_(std::move(stream)), offset_(offset) {}

  std::string_view view() const { return std::string_view(buffer_).substr(begin_); }
  /// Of the first byte in view.
  int64_t offset() const { return offset_; }
  const ByteStream& stream() const { return *stream_; }

  /// Brings more into view; false at the end.
  bool more() {
    if (begin_ > buffer_.size() / 2) {
      buffer_.erase(0, begin_);
      begin_ = 0;
    }
    const size_t held = buffer_.size();
    buffer_.resize(held + kStep);
    const size_t count = stream_->read({buffer_.data() + held, kStep});
    buffer_.resize(held + count);
    return count > 0;
  }
  /// Brings at least so many bytes into view, or all there are.
  void fill(size_t bytes) {
    while (view().size() < bytes && more()) {
    }
  }
  void drop(size_t bytes) {
    begin_ += bytes;
    offset_ += static_cast<int64_t>(bytes);
  }

 private:
  static constexpr size_t kStep = size_t{1} << 16;
  std::unique_ptr<ByteStream> stream_;
  std::string buffer_;
  size_t begin_ = 0;
  int64_t offset_;
};

}  // namespace tenon::data
