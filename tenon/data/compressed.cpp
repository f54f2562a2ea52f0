// The three libraries have the same shape: a decoder that turns some input into some output. What differs sits in three
// small classes; Decompressor feeds them and sees that a stream is followed by another or by nothing.

#include "tenon/data/compressed.h"

#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tenon/base/error.h"

namespace tenon::data {
namespace {

/// Plays back the bytes that were read to recognise a stream.
class Replayed : public ByteStream {
 public:
  Replayed(std::string first, std::unique_ptr<ByteStream> rest) : first_(std::move(first)), rest_(std::move(rest)) {}
  size_t read(std::span<char> into) override {
    if (at_ == first_.size()) return rest_->read(into);
    const size_t count = first_.copy(into.data(), into.size(), at_);
    at_ += count;
    return count;
  }
  int64_t skip(int64_t bytes) override {
    const int64_t replayed = std::min(bytes, static_cast<int64_t>(first_.size() - at_));
    at_ += static_cast<size_t>(replayed);
    return replayed + rest_->skip(bytes - replayed);
  }
  int64_t consumed() const override { return rest_->consumed(); }
  const std::string& name() const override { return rest_->name(); }

 private:
  std::string first_;
  size_t at_ = 0;
  std::unique_ptr<ByteStream> rest_;
};

/// What one call of a decoder has done.
struct Decoded {
  size_t taken, given;
  bool ended;  // a member, frame or stream; another may follow
};

class Gzip {
 public:
  static constexpr std::string_view kName = "gzip", kMagic = "\x1f\x8b";
  Gzip() { inflateInit2(&state_, 15 + 16); }  // 16: with the header and checksum of gzip
  ~Gzip() { inflateEnd(&state_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  bool begin() { return inflateReset(&state_) == Z_OK; }
  bool decode(std::span<char> in, std::span<char> out, Decoded& done) {
    state_.next_in = reinterpret_cast<Bytef*>(in.data());
    state_.avail_in = static_cast<uInt>(in.size());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&state_, Z_NO_FLUSH);
    done = {in.size() - state_.avail_in, out.size() - state_.avail_out, result == Z_STREAM_END};
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
  }

 private:
  z_stream state_{};
};

class Bzip2 {
 public:
  static constexpr std::string_view kName = "bzip2", kMagic = "BZh";
  ~Bzip2() { BZ2_bzDecompressEnd(&state_); }
  Bzip2() = default;
  Bzip2(const Bzip2&) = delete;
  Bzip2& operator=(const Bzip2&) = delete;
  bool begin() {
    BZ2_bzDecompressEnd(&state_);
    state_ = {};
    return BZ2_bzDecompressInit(&state_, 0, 0) == BZ_OK;
  }
  bool decode(std::span<char> in, std::span<char> out, Decoded& done) {
    state_.next_in = in.data();
    state_.avail_in = static_cast<unsigned>(in.size());
    state_.next_out = out.data();
    state_.avail_out = static_cast<unsigned>(out.size());
    const int result = BZ2_bzDecompress(&state_);
    done = {in.size() - state_.avail_in, out.size() - state_.avail_out, result == BZ_STREAM_END};
    return result == BZ_OK || result == BZ_STREAM_END;
  }

 private:
  bz_stream state_{};
};

class Zstd {
 public:
  static constexpr std::string_view kName = "zstd", kMagic = "\x28\xb5\x2f\xfd";
  explicit Zstd(int largest_window) : state_(ZSTD_createDCtx()) {
    ZSTD_DCtx_setParameter(state_, ZSTD_d_windowLogMax, largest_window);
  }
  ~Zstd() { ZSTD_freeDCtx(state_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  bool begin() { return !ZSTD_isError(ZSTD_DCtx_reset(state_, ZSTD_reset_session_only)); }
  bool decode(std::span<char> in, std::span<char> out, Decoded& done) {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(state_, &to, &from);
    done = {from.pos, to.pos, result == 0};
    return !ZSTD_isError(result);
  }

 private:
  ZSTD_DCtx* state_;
};

template <typename Decoder>
class Decompressor : public ByteStream {
 public:
  template <typename... Args>
  Decompressor(std::unique_ptr<ByteStream> inner, std::string_view format, Args... args)
      : inner_(std::move(inner)), format_(format), decoder_(args...), buffer_(1 << 16) {}

  size_t read(std::span<char> into) override {
    if (into.empty()) return 0;
    while (true) {
      if (waiting_.empty()) refill();
      if (!in_stream_) {
        if (waiting_.empty()) return 0;
        begin_stream();
      }
      Decoded done{};
      const bool is_valid = decoder_.decode(waiting_, into, done);
      if (!is_valid) fail("is damaged");
      waiting_ = waiting_.subspan(done.taken);
      in_stream_ = !done.ended;
      if (done.given > 0) return done.given;
      if (in_stream_ && waiting_.empty() && ended_) fail("is cut off");
      if (in_stream_ && done.taken == 0 && !waiting_.empty()) fail("is damaged");
    }
  }
  int64_t consumed() const override { return inner_->consumed(); }
  const std::string& name() const override { return inner_->name(); }

 private:
  void refill() {
    const size_t count = inner_->read(buffer_);
    waiting_ = std::span(buffer_).first(count);
    ended_ = count == 0;
  }
  void begin_stream() {
    // The magic may be torn by the end of the buffer.
    std::move(waiting_.begin(), waiting_.end(), buffer_.begin());
    size_t held = waiting_.size();
    while (held < Decoder::kMagic.size()) {
      const size_t count = inner_->read(std::span(buffer_).subspan(held));
      if (count == 0) break;
      held += count;
    }
    waiting_ = std::span(buffer_).first(held);
    if (!std::string_view(buffer_.data(), held).starts_with(Decoder::kMagic)) {
      fail("is followed by something else");
    }
    if (!decoder_.begin()) fail("cannot be read");
    in_stream_ = true;
  }
  [[noreturn]] void fail(std::string_view what) const {
    base::fail(format_, "{}: its {} stream {}, near byte {}: fetch the file again", name(), Decoder::kName, what,
               consumed());
  }

  std::unique_ptr<ByteStream> inner_;
  std::string format_;
  Decoder decoder_;
  std::vector<char> buffer_;
  std::span<char> waiting_;  // read but not decoded
  bool in_stream_ = false, ended_ = false;
};

/// "BZh" could begin a text; with the size of blocks and the magic of a block or of the end it does not.
bool is_bzip2(std::string_view first) {
  return first.starts_with(Bzip2::kMagic) && first.size() >= 10 && first[3] >= '1' && first[3] <= '9' &&
         (first.substr(4, 6) == "\x31\x41\x59\x26\x53\x59" || first.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
}

}  // namespace

std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> stream, int largest_zstd_window,
                                         std::string_view format) {
  std::string first(10, '\0');
  first.resize(read_fully(*stream, first));
  auto whole = std::make_unique<Replayed>(first, std::move(stream));
  if (first.starts_with(Gzip::kMagic)) return std::make_unique<Decompressor<Gzip>>(std::move(whole), format);
  if (first.starts_with(Zstd::kMagic))
    return std::make_unique<Decompressor<Zstd>>(std::move(whole), format, largest_zstd_window);
  if (is_bzip2(first)) return std::make_unique<Decompressor<Bzip2>>(std::move(whole), format);
  return whole;
}

}  // namespace tenon::data
