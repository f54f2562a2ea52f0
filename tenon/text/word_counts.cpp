// Open addressing over words that lie behind each other in one string.

#include "tenon/text/word_counts.h"

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon::text {

void WordCounts::add(std::string_view word, int64_t count) { add(word, base::hash_bytes(word), count); }

void WordCounts::add_all(const WordCounts& other) {
  for (const Entry& entry : other.entries_) add(other.word_of(entry), entry.hash, entry.count);
}

void WordCounts::add(std::string_view word, uint64_t hash, int64_t count) {
  if (2 * (entries_.size() + 1) > table_.size()) grow();
  const size_t mask = table_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    if (table_[slot] == 0) {
      entries_.push_back({hash, letters_.size(), static_cast<uint32_t>(word.size()), count});
      letters_ += word;
      table_[slot] = static_cast<uint32_t>(entries_.size());
      return;
    }
    Entry& entry = entries_[table_[slot] - 1];
    if (entry.hash == hash && word_of(entry) == word) {
      entry.count += count;
      return;
    }
  }
}

void WordCounts::grow() {
  constexpr size_t kSmallest = 1024, kMost = size_t{1} << 32;
  const size_t size = table_.empty() ? kSmallest : 2 * table_.size();
  if (size > kMost) base::fail("tokenizer", "the texts have more than {} different words", entries_.size());
  table_.assign(size, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = entries_[i].hash & (size - 1);
    while (table_[slot] != 0) slot = (slot + 1) & (size - 1);
    table_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace tenon::text
