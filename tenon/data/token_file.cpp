// Reading token files: nothing in one is believed before its checksum has been seen.

#include "tenon/data/token_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tenon/io/file.h"

namespace tenon::data {
namespace {

constexpr std::string_view kFormat = "tokens", kMagic = "TENONTOK";
constexpr uint32_t kVersion = 1;
constexpr size_t kChecked = 56;  // bytes of the header under its checksum

/// In blocks of a fixed size, which the compiler turns into vector instructions; and the rest.
template <typename T>
int64_t largest(std::span<const std::byte> bytes) {
  constexpr size_t kBlock = 64;
  std::array<T, kBlock> most{}, block;
  for (; bytes.size() >= sizeof block; bytes = bytes.subspan(sizeof block)) {
    std::memcpy(block.data(), bytes.data(), sizeof block);
    for (size_t i = 0; i < kBlock; ++i) most[i] = std::max(most[i], block[i]);
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) most[0] = std::max(most[0], io::number_at<T>(bytes, at));
  return *std::max_element(most.begin(), most.end());
}

/// The checksum and the range of the tokens in one pass: memory is read once, in steps that stay in the cache.
void check_tokens(const io::Input& input, const TokenFileHeader& header) {
  constexpr size_t kStep = size_t{1} << 16;
  Checksum checksum;
  int64_t most = 0;
  auto rest = input.bytes.subspan(kTokenFileHeaderBytes);
  while (!rest.empty()) {
    const auto step = rest.first(std::min(kStep, rest.size()));
    checksum.add(step);
    most = std::max(most, header.token_bytes == 2 ? largest<uint16_t>(step) : largest<uint32_t>(step));
    rest = rest.subspan(step.size());
  }
  if (checksum.value() != header.checksum) {
    io::fail(input, "its tokens do not match their checksum: the file is damaged; prepare it again");
  }
  if (header.tokens > 0 && most >= header.vocabulary) {
    io::fail(input, "holds token {} but its vocabulary is {}: prepare it again", most, header.vocabulary);
  }
}

}  // namespace

TokenFileHeader parse_token_file(const io::Input& input, Verify verify) {
  const auto bytes = input.bytes;
  if (!io::as_text(bytes).starts_with(kMagic)) {
    io::fail(input, "is not a token file (it does not begin with {}); `tenon data prepare` makes one", kMagic);
  }
  if (bytes.size() < kTokenFileHeaderBytes)
    io::fail(input, "is cut off: {} bytes, its header alone has 64", bytes.size());
  if (checksum_of(bytes.first(kChecked)) != io::number_at<uint64_t>(bytes, kChecked)) {
    io::fail(input, "its header does not match its checksum: the file is damaged; prepare it again");
  }
  const auto version = io::number_at<uint32_t>(bytes, 8);
  if (version != kVersion)
    io::fail(input, "is of version {}, this program reads {}: prepare it again", version, kVersion);

  const auto token_bytes = io::number_at<uint32_t>(bytes, 12);
  const auto tokens = io::number_at<uint64_t>(bytes, 16), vocabulary = io::number_at<uint64_t>(bytes, 24);
  const auto documents = io::number_at<uint64_t>(bytes, 32);
  if (token_bytes != 2 && token_bytes != 4) io::fail(input, "has tokens of {} bytes; 2 and 4 are known", token_bytes);
  if (vocabulary > static_cast<uint64_t>(kMostVocabulary)) io::fail(input, "has a vocabulary of {}", vocabulary);
  const uint64_t held = (bytes.size() - kTokenFileHeaderBytes) / token_bytes;
  const bool is_whole = tokens == held && (bytes.size() - kTokenFileHeaderBytes) % token_bytes == 0;
  if (!is_whole) {
    io::fail(input, "should hold {} tokens and holds {}: the file is {}; prepare it again", tokens, held,
             tokens > held ? "cut off" : "damaged");
  }
  if (documents > tokens) io::fail(input, "has {} documents in {} tokens", documents, tokens);

  const TokenFileHeader header{token_bytes,
                               static_cast<int64_t>(tokens),
                               static_cast<int64_t>(vocabulary),
                               static_cast<int64_t>(documents),
                               io::number_at<uint64_t>(bytes, 40),
                               io::number_at<uint64_t>(bytes, 48)};
  if (verify == Verify::kEverything) check_tokens(input, header);
  return header;
}

TokenFile::TokenFile(std::shared_ptr<const io::MappedFile> file, const TokenFileHeader& header)
    : file_(std::move(file)), tokens_(file_->bytes().data() + kTokenFileHeaderBytes), header_(header) {}

std::shared_ptr<const TokenFile> TokenFile::open(const std::filesystem::path& path, Verify verify) {
  auto file = io::MappedFile::open(kFormat, path);
  const auto header = parse_token_file({kFormat, path.string(), file->bytes()}, verify);
  file->require_whole();
  return std::shared_ptr<const TokenFile>(new TokenFile(std::move(file), header));
}

int32_t TokenFile::at(int64_t i) const {
  int32_t token;
  copy(i, {&token, 1});
  return token;
}

void TokenFile::copy(int64_t from, std::span<int32_t> to) const {
  const auto count = static_cast<int64_t>(to.size());
  if (from < 0 || count > size() || from > size() - count) {
    base::fail(kFormat, "tokens {} to {} of a file of {}", from, from + count, size());
  }
  if (header_.token_bytes == 4) {
    std::memcpy(to.data(), tokens_ + 4 * from, 4 * to.size());
  } else {
    // The map begins at a page and the header is 64 bytes, so every token is aligned.
    const auto* tokens = reinterpret_cast<const uint16_t*>(tokens_) + from;
    std::copy_n(tokens, to.size(), to.begin());
  }
  file_->require_whole();  // behind the copy: what a file that was cut meanwhile gives is zeros
}

}  // namespace tenon::data
