// TokenFile: a corpus as token numbers on disk, mapped into memory; TokenFileWriter: how one is made.
//
//   auto corpus = data::TokenFile::open("train.tokens");
//   std::vector<int32_t> first(64);
//   corpus->copy(0, first);
//
// A header of 64 bytes and the tokens, all little-endian:
//
//   at  bytes  what
//    0      8  the letters TENONTOK
//    8      4  version, 1
//   12      4  bytes of a token: 2 or 4
//   16      8  tokens
//   24      8  vocabulary: every token is below it
//   32      8  documents; 0 where nobody counted them
//   40      8  fingerprint of the tokenizer (tokenizer_fingerprint.h); 0 where there was none
//   48      8  XXH64 of the tokens
//   56      8  XXH64 of the 56 bytes before
//   64         the tokens, to the end of the file
//
// Two checksums, because the header alone is checked where a file of many gigabytes has to open at once.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/data/checksum.h"
#include "tenon/io/input.h"

namespace tenon::io {
class MappedFile;
}

namespace tenon::data {

/// What the header of a token file says.
struct TokenFileHeader {
  int64_t token_bytes = 2;  // 2 or 4
  int64_t tokens = 0;       // in the file
  int64_t vocabulary = 0;   // every token is below it
  int64_t documents = 0;    // 0 where nobody counted them
  uint64_t tokenizer = 0;   // fingerprint of the tokenizer; 0 where there was none
  uint64_t checksum = 0;    // XXH64 of the tokens
};

inline constexpr int64_t kTokenFileHeaderBytes = 64;
/// Token numbers travel as int32.
inline constexpr int64_t kMostVocabulary = int64_t{1} << 31;

/// 2 where every token of the vocabulary fits, else 4.
///   data::token_bytes_for(50257);  // 2
inline int64_t token_bytes_for(int64_t vocabulary) { return vocabulary <= 65536 ? 2 : 4; }

/// How much of a file is checked when it is opened: all of it (several GB/s), or its header and size.
enum class Verify { kEverything, kHeader };

/// The header of a file; fails with one line where anything about the file is wrong.
TokenFileHeader parse_token_file(const io::Input& input, Verify verify);

/// A token file that is open for reading.
class TokenFile {
 public:
  /// Maps a file; fails with one line where anything about it is wrong.
  static std::shared_ptr<const TokenFile> open(const std::filesystem::path& path, Verify verify = Verify::kEverything);

  /// What its header says: all of it, the tokens there are, and what they are below. The token at a place.
  const TokenFileHeader& header() const { return header_; }
  int64_t size() const { return header_.tokens; }
  int64_t vocabulary() const { return header_.vocabulary; }
  int32_t at(int64_t i) const;
  /// The tokens from a place on, as many as fit; all must lie inside.
  void copy(int64_t from, std::span<int32_t> to) const;

 private:
  TokenFile(std::shared_ptr<const io::MappedFile> file, const TokenFileHeader& header);
  std::shared_ptr<const io::MappedFile> file_;
  const std::byte* tokens_;
  TokenFileHeader header_;
};

/// What the header of a new token file says.
struct TokenFileOptions {
  int64_t vocabulary = 0;        // every token is below it
  uint64_t tokenizer = 0;        // fingerprint of the tokenizer; 0: none
  bool keep_unfinished = false;  // FILE.partial outlives a writer that never committed, to be continued
};

/// What has been written so far.
struct Written {
  int64_t tokens = 0;     // in all
  int64_t documents = 0;  // that have ended
  uint64_t checksum = 0;  // of the tokens
};

/// Writes beside the target, to FILE.partial, which has no valid header until commit puts it in the target's place. A
/// FILE.partial that is there is taken over where a writer left it, and refused where it is anything else.
/// Every failure is one line that starts with `[tokens] FILE`.
///   data::TokenFileWriter writer("saved.tokens", {.vocabulary = 256});
///   writer.append(std::vector<int32_t>{1, 2, 3});
///   writer.end_document();
///   writer.commit();
class TokenFileWriter {
 public:
  TokenFileWriter(const std::filesystem::path& path, const TokenFileOptions& options);
  /// Continues FILE.partial after what was written by then; fails where the file holds anything else.
  TokenFileWriter(const std::filesystem::path& path, const TokenFileOptions& options, const Written& written);
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;

  /// Appends tokens; ends a document; how many of both there are.
  void append(std::span<const int32_t> tokens);
  void end_document() { ++written_.documents; }
  int64_t tokens() const { return written_.tokens; }
  int64_t documents() const { return written_.documents; }
  /// Everything appended is on disk when this returns.
  Written sync();
  /// Reads back what was appended.
  void copy(int64_t from, std::span<int32_t> to);
  /// Of so many tokens from the beginning.
  uint64_t checksum_of_first(int64_t tokens);
  /// Forgets the tokens after the first so many.
  void cut(const Written& kept);
  /// Writes the header and gives the file its name.
  void commit();

  /// What the file is called until then.
  static std::filesystem::path partial_path(const std::filesystem::path& path);

 private:
  enum class Open : uint8_t { anew, to_continue };
  TokenFileWriter(const std::filesystem::path& path, const TokenFileOptions& options, Open how);
  bool is_own_rest() const;
  bool is_still_there() const;
  [[noreturn]] void refuse_foreign() const;
  void check(int64_t result) const;
  void flush();
  void write_at(int64_t offset, std::span<const std::byte> bytes);
  void read_at(int64_t offset, std::span<std::byte> bytes) const;
  /// Checksum of the first tokens, read back.
  Checksum reread(int64_t tokens) const;

  io::Input shown_;  // as the caller spelled it, for messages
  std::filesystem::path target_, partial_;
  TokenFileOptions options_;
  int64_t token_bytes_;
  int file_ = -1;
  bool committed_ = false;
  std::vector<std::byte> waiting_;  // not written yet
  Checksum checksum_;
  Written written_;
};

}  // namespace tenon::data
