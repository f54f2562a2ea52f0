// Encoding with a cache of words: an English text repeats itself so much that nine words in ten need no merging.
//
// Each thread that encodes borrows its own scratch memory from the tokenizer, so threads share nothing they write.

#include "tenon/text/bpe.h"

#include <cstring>
#include <mutex>

#include "tenon/text/bpe_merge.h"
#include "tenon/text/file.h"
#include "tenon/text/pieces.h"

namespace tenon::text {
namespace {

/// A piece of up to 23 bytes as three numbers; the last byte is its length.
struct Key {
  static constexpr size_t kLongest = 23;
  uint64_t words[3] = {0, 0, 0};

  /// Reads past the piece but not past the text.
  Key(std::string_view piece, const char* text_end) {
    if (static_cast<size_t>(text_end - piece.data()) >= sizeof(words)) {
      std::memcpy(words, piece.data(), sizeof(words));
      keep(piece.size());
    } else {
      std::memcpy(words, piece.data(), piece.size());
    }
    words[2] |= static_cast<uint64_t>(piece.size()) << 56;
  }
  Key() = default;
  bool operator==(const Key&) const = default;

  uint64_t hash() const {
    uint64_t hash =
        words[0] * 0x9E3779B97F4A7C15ull ^ words[1] * 0xC2B2AE3D27D4EB4Full ^ words[2] * 0x165667B19E3779F9ull;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93ull;
  }

 private:
  void keep(size_t bytes) {
    const auto first = [](uint64_t word, size_t count) {
      return count >= 8 ? word : count == 0 ? 0 : word & (~uint64_t{0} >> (64 - 8 * count));
    };
    words[0] = first(words[0], bytes);
    words[1] = first(words[1], bytes > 8 ? bytes - 8 : 0);
    words[2] = first(words[2], bytes > 16 ? bytes - 16 : 0);
  }
};

/// A word that was merged before, in one cache line.
struct CachedWord {
  static constexpr uint32_t kMostIds = 9;
  Key key;  // of length 0 where there is none yet
  uint32_t count = 0;
  int32_t ids[kMostIds] = {};
};

constexpr int kCacheBits =
    15;  // 2 MB a thread; 8 MB gained a quarter on small texts encoded again and again, 1 MB lost little

struct Scratch {
  PieceMatcher matcher;
  MergeScratch merge;
  std::vector<CachedWord> cache = std::vector<CachedWord>(size_t{1} << kCacheBits);
};

/// Scratch memory of the threads that encode; as many as ever did so at once.
class ScratchPool {
 public:
  std::unique_ptr<Scratch> borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(free_.back());
        free_.pop_back();
        return scratch;
      }
    }
    return std::make_unique<Scratch>();
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

/// The tokens of bytes, and how they are merged.
struct Merging {
  explicit Merging(const BpeModel& model) : byte_ids(model.byte_ids), merger(rules_of(model)) {}

  int32_t byte_id(char byte) const { return byte_ids[static_cast<unsigned char>(byte)]; }
  void merge(std::string_view piece, MergeScratch& scratch, std::vector<int32_t>& ids) const {
    scratch.parts.clear();
    for (const char byte : piece) scratch.parts.push_back(byte_id(byte));
    merger.merge(scratch, ids);
  }
  static std::vector<MergeRule> rules_of(const BpeModel& model) {
    std::vector<MergeRule> rules;
    for (const auto& [left, right, result] : model.merges) {
      rules.push_back({left, right, result, static_cast<uint32_t>(rules.size())});
    }
    return rules;
  }

  std::array<int32_t, 256> byte_ids;
  Merger merger;
};

void encode_piece(const Merging& merging, std::string_view piece, const char* text_end, Scratch& scratch,
                  std::vector<int32_t>& ids) {
  if (piece.size() == 1) {
    ids.push_back(merging.byte_id(piece[0]));
    return;
  }
  if (piece.size() > Key::kLongest) {
    merging.merge(piece, scratch.merge, ids);
    return;
  }
  const Key key(piece, text_end);
  CachedWord& cached = scratch.cache[key.hash() >> (64 - kCacheBits)];
  if (cached.key == key) {
    ids.insert(ids.end(), cached.ids, cached.ids + cached.count);
    return;
  }
  const size_t before = ids.size();
  merging.merge(piece, scratch.merge, ids);
  const size_t count = ids.size() - before;
  if (count > CachedWord::kMostIds) return;
  cached.key = key;
  cached.count = static_cast<uint32_t>(count);
  std::copy(ids.begin() + static_cast<ptrdiff_t>(before), ids.end(), cached.ids);
}

void encode_part(const Merging& merging, std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) {
  Pieces pieces(text, scratch.matcher);
  for (std::string_view piece; pieces.next(piece);) {
    encode_piece(merging, piece, text.data() + text.size(), scratch, ids);
  }
}

}  // namespace

struct Bpe::State {
  explicit State(BpeModel given) : model(std::move(given)), specials(model.specials), merging(model) {}

  BpeModel model;
  SpecialTokens specials;
  Merging merging;
  ScratchPool pool;
};

Bpe::Bpe(BpeModel model) : state_(std::make_unique<State>(std::move(model))) {}
Bpe::~Bpe() = default;
Bpe::Bpe(Bpe&&) noexcept = default;

void Bpe::encode(std::string_view text, std::vector<int32_t>& ids, Special special) const {
  std::unique_ptr<Scratch> scratch = state_->pool.borrow();
  const auto on_text = [&](std::string_view part) {
    if (state_->model.add_prefix_space && part[0] != ' ')
      encode_part(state_->merging, " " + std::string(part), *scratch, ids);
    else
      encode_part(state_->merging, part, *scratch, ids);
  };
  state_->specials.split(text, special, on_text, [&](int32_t id) { ids.push_back(id); });
  state_->pool.give_back(std::move(scratch));
}

std::string_view Bpe::token(int32_t id) const {
  check_id(id, vocabulary());
  return state_->model.tokens[static_cast<size_t>(id)];
}

int64_t Bpe::vocabulary() const { return static_cast<int64_t>(state_->model.tokens.size()); }
std::optional<int32_t> Bpe::end_of_text() const { return state_->specials.end_of_text(); }
const BpeModel& Bpe::model() const { return state_->model; }

size_t Bpe::cut(std::string_view text, size_t from) const {
  // A part that does not start with a blank would be given one.
  const bool at_blank_only = state_->model.add_prefix_space;
  size_t at = cut_between_pieces(text, from, at_blank_only);
  while (at < text.size() && state_->specials.is_cut(text, at)) at = cut_between_pieces(text, at + 1, at_blank_only);
  return at;
}

std::string Bpe::json() const { return hugging_face_json(model()); }

Bpe load_bpe(const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
  const TextFile vocabulary_file(vocabulary), merges_file(merges);
  return Bpe(parse_bpe_files(vocabulary_file.input(), merges_file.input()));
}

Bpe load_bpe(const io::OpenFolder& folder, const std::string& vocabulary, const std::string& merges) {
  const TextFile vocabulary_file(folder, vocabulary), merges_file(folder, merges);
  return Bpe(parse_bpe_files(vocabulary_file.input(), merges_file.input()));
}

}  // namespace tenon::text
