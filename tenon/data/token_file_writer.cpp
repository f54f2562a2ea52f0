// Writing token files. Until commit, the place of the header holds a mark: a run that is killed leaves FILE.partial,
// which no reader takes for a token file, and the target as it was. By the mark the next run knows that the rest is its
// own to take; whatever else has that name is somebody's and stays.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "tenon/data/token_file.h"
#include "tenon/io/file.h"

namespace tenon::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr std::string_view kMark = "TENONPRT", kFinishedMark = "TENONTOK";
constexpr size_t kVocabularyAt = 24, kTokenizerAt = 40;  // in the header

template <typename T>
void put(std::span<std::byte> bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof(T));
}

template <typename T>
void append_as(std::span<const int32_t> tokens, std::vector<std::byte>& bytes) {
  const size_t before = bytes.size();
  bytes.resize(before + tokens.size() * sizeof(T));
  std::byte* to = bytes.data() + before;
  for (const int32_t token : tokens) {
    const T narrow = static_cast<T>(token);
    std::memcpy(to, &narrow, sizeof(T));
    to += sizeof(T);
  }
}

}  // namespace

fs::path TokenFileWriter::partial_path(const fs::path& path) {
  fs::path partial = path;
  partial += ".partial";
  return partial;
}

// The constructors that follow delegate to this one, so that the destructor cleans up when the rest of them fails.
TokenFileWriter::TokenFileWriter(const fs::path& path, const TokenFileOptions& options, Open how)
    : shown_{"tokens", path.string(), {}},
      target_(path),
      partial_(partial_path(path)),
      options_(options),
      token_bytes_(token_bytes_for(options.vocabulary)) {
  io::require_place_for_file(shown_, path);
  if (options.vocabulary < 1 || options.vocabulary > kMostVocabulary) {
    io::fail(shown_, "a vocabulary of {} cannot be written", options.vocabulary);
  }
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  if (how == Open::anew) file_ = open(partial_.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  const bool is_new = file_ >= 0;
  if (!is_new && (how == Open::to_continue || errno == EEXIST)) file_ = open(partial_.c_str(), kFlags);
  if (file_ < 0 && errno == ENOENT && how == Open::to_continue) {
    io::fail(shown_, "cannot be continued: {} is gone; begin anew with --restart", partial_.string());
  }
  if (file_ < 0 && errno == ELOOP) refuse_foreign();
  check(file_);
  if (!is_new && how == Open::anew && !is_own_rest()) {
    close(file_);
    refuse_foreign();
  }
  // One that was opened while its writer put it in place is the finished file, whose name is no longer this one.
  if (flock(file_, LOCK_EX | LOCK_NB) == 0 && is_still_there()) return;
  close(file_);
  io::fail(shown_, "another process is writing it");
}

bool TokenFileWriter::is_still_there() const {
  struct stat opened {
  }, named{};
  return fstat(file_, &opened) == 0 && lstat(partial_.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

// What a run has left that was killed before its first checkpoint, before it could even write the mark, or when the
// header of the finished file stood there already.
bool TokenFileWriter::is_own_rest() const {
  struct stat status {};
  if (fstat(file_, &status) < 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size == 0) return true;
  std::array<std::byte, kTokenFileHeaderBytes> start{};
  const ssize_t bytes = pread(file_, start.data(), start.size(), 0);
  const std::string_view mark = io::as_text(std::span(start)).substr(0, kMark.size());
  const bool is_finished = bytes == std::ssize(start) && mark == kFinishedMark &&
                           io::number_at<int64_t>(start, kVocabularyAt) == options_.vocabulary &&
                           io::number_at<uint64_t>(start, kTokenizerAt) == options_.tokenizer;
  return is_finished || (bytes >= std::ssize(kMark) && mark == kMark);
}

void TokenFileWriter::refuse_foreign() const {
  io::fail(shown_,
           "cannot be written: {}, which is needed meanwhile, is somebody else's; move it away or name another file",
           partial_.string());
}

TokenFileWriter::TokenFileWriter(const fs::path& path, const TokenFileOptions& options)
    : TokenFileWriter(path, options, Open::anew) {
  check(ftruncate(file_, 0));
  write_at(0, std::as_bytes(std::span(kMark)));
  check(ftruncate(file_, kTokenFileHeaderBytes));
}

TokenFileWriter::TokenFileWriter(const fs::path& path, const TokenFileOptions& options, const Written& written)
    : TokenFileWriter(path, options, Open::to_continue) {
  struct stat status {};
  check(fstat(file_, &status));
  const int64_t bytes = kTokenFileHeaderBytes + written.tokens * token_bytes_;
  if (status.st_size < bytes) {
    io::fail(shown_, "cannot be continued: {} has lost bytes; begin anew with --restart", partial_.string());
  }
  checksum_ = reread(written.tokens);
  if (checksum_.value() != written.checksum) {
    io::fail(shown_, "cannot be continued: {} is damaged; begin anew with --restart", partial_.string());
  }
  check(ftruncate(file_, bytes));
  written_ = written;
}

TokenFileWriter::~TokenFileWriter() {
  if (file_ >= 0) close(file_);
  if (!committed_ && !options_.keep_unfinished) unlink(partial_.c_str());
}

void TokenFileWriter::append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    if (token < 0 || token >= options_.vocabulary) {
      io::fail(shown_, "token {} is not in a vocabulary of {}", token, options_.vocabulary);
    }
  }
  if (token_bytes_ == 2) {
    append_as<uint16_t>(tokens, waiting_);
  } else {
    append_as<uint32_t>(tokens, waiting_);
  }
  written_.tokens += static_cast<int64_t>(tokens.size());
  if (waiting_.size() >= kWriteBytes) flush();
}

void TokenFileWriter::flush() {
  const int64_t end = kTokenFileHeaderBytes + written_.tokens * token_bytes_;
  write_at(end - static_cast<int64_t>(waiting_.size()), waiting_);
  checksum_.add(waiting_);
  waiting_.clear();
}

Written TokenFileWriter::sync() {
  flush();
  check(fdatasync(file_));
  written_.checksum = checksum_.value();
  return written_;
}

void TokenFileWriter::copy(int64_t from, std::span<int32_t> to) {
  flush();
  std::vector<std::byte> bytes(to.size() * static_cast<size_t>(token_bytes_));
  read_at(kTokenFileHeaderBytes + from * token_bytes_, bytes);
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = token_bytes_ == 2 ? io::number_at<uint16_t>(bytes, 2 * i)
                              : static_cast<int32_t>(io::number_at<uint32_t>(bytes, 4 * i));
  }
}

uint64_t TokenFileWriter::checksum_of_first(int64_t tokens) {
  flush();
  return reread(tokens).value();
}

void TokenFileWriter::cut(const Written& kept) {
  flush();
  checksum_ = reread(kept.tokens);
  check(ftruncate(file_, kTokenFileHeaderBytes + kept.tokens * token_bytes_));
  written_ = kept;
}

void TokenFileWriter::commit() {
  sync();
  std::array<std::byte, kTokenFileHeaderBytes> header{};
  std::memcpy(header.data(), kFinishedMark.data(), kFinishedMark.size());
  put<uint32_t>(header, 8, 1);
  put<uint32_t>(header, 12, static_cast<uint32_t>(token_bytes_));
  put<int64_t>(header, 16, written_.tokens);
  put<int64_t>(header, kVocabularyAt, options_.vocabulary);
  put<int64_t>(header, 32, written_.documents);
  put<uint64_t>(header, kTokenizerAt, options_.tokenizer);
  put<uint64_t>(header, 48, written_.checksum);
  put<uint64_t>(header, 56, checksum_of(std::span(header).first(56)));
  write_at(0, header);
  check(fsync(file_));
  check(rename(partial_.c_str(), target_.c_str()));
  committed_ = true;
  check(close(std::exchange(file_, -1)));
  io::sync_folder_of(shown_, target_);
}

void TokenFileWriter::check(int64_t result) const {
  if (result < 0) io::fail(shown_, "cannot be written: {}", std::generic_category().message(errno));
}

void TokenFileWriter::write_at(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    check(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

void TokenFileWriter::read_at(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = pread(file_, bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) io::fail(shown_, "what was written to {} cannot be read back", partial_.string());
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
}

Checksum TokenFileWriter::reread(int64_t tokens) const {
  Checksum checksum;
  std::vector<std::byte> bytes(kWriteBytes);
  const int64_t end = kTokenFileHeaderBytes + tokens * token_bytes_;
  for (int64_t at = kTokenFileHeaderBytes; at < end;) {
    const auto step = std::span(bytes).first(std::min(bytes.size(), static_cast<size_t>(end - at)));
    read_at(at, step);
    checksum.add(step);
    at += static_cast<int64_t>(step.size());
  }
  return checksum;
}

}  // namespace tenon::data
