// How often each word occurs: a table without an allocation for each word, because counting is most of the time that
// training a tokenizer takes.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::text {

class WordCounts {
 public:
  void add(std::string_view word, int64_t count = 1);
  void add_all(const WordCounts& other);
  size_t size() const { return entries_.size(); }

  /// Calls f(word, count) for every word, in the order in which they first came.
  template <typename F>
  void for_each(F&& f) const {
    for (const Entry& entry : entries_) f(word_of(entry), entry.count);
  }

 private:
  struct Entry {
    uint64_t hash;
    size_t begin;  // in letters_
    uint32_t length;
    int64_t count;
  };

  std::string_view word_of(const Entry& entry) const {
    return std::string_view(letters_).substr(entry.begin, entry.length);
  }
  void add(std::string_view word, uint64_t hash, int64_t count);
  void grow();

  std::vector<Entry> entries_;
  std::vector<uint32_t> table_;  // indices into entries_ plus one; at least half are zero
  std::string letters_;
};

}  // namespace tenon::text
