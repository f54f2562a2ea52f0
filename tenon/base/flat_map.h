// Maps and sets of pointers or numbers for walks over graphs: two allocations however many entries, and iterating gives
// the entries in the order in which they came, so that nothing depends on addresses.

#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenon::base {

template <typename Key, typename T>
class FlatMap {
 public:
  struct Entry {
    Key key;
    T value;
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

  void reserve(size_t count) {
    entries_.reserve(count);
    if (2 * count > table_.size()) rebuild(2 * count);
  }

  /// Null when there is none; valid until the next entry comes.
  const T* find(Key key) const {
    if (table_.empty()) return nullptr;
    const uint32_t at = table_[slot_of(key)];
    return at == kFree ? nullptr : &entries_[at].value;
  }
  T* find(Key key) { return const_cast<T*>(std::as_const(*this).find(key)); }
  bool contains(Key key) const { return find(key) != nullptr; }
  const T& at(Key key) const {
    const T* found = find(key);
    if (!found) throw std::out_of_range("FlatMap::at");
    return *found;
  }

  /// The value under the key, and whether it is new.
  std::pair<T&, bool> emplace(Key key, T value) {
    if (2 * (entries_.size() + 1) > table_.size()) rebuild(4 * table_.size());
    uint32_t& at = table_[slot_of(key)];
    const bool is_new = at == kFree;
    if (is_new) {
      at = static_cast<uint32_t>(entries_.size());
      entries_.push_back({key, std::move(value)});
    }
    return {entries_[at].value, is_new};
  }
  T& operator[](Key key) { return emplace(key, T()).first; }

 private:
  static constexpr uint32_t kFree = ~0u;
  static constexpr size_t kSmallest = 32;

  static uint64_t number_of(Key key) {
    if constexpr (std::is_pointer_v<Key>)
      return reinterpret_cast<uintptr_t>(key);
    else
      return static_cast<uint64_t>(key);
  }

  // Where the key stands, or would. At least half of the table is free, so the walk ends.
  size_t slot_of(Key key) const {
    const size_t mask = table_.size() - 1;
    size_t slot = static_cast<size_t>(number_of(key) * 0x9E3779B97F4A7C15ull >> 20) & mask;
    while (table_[slot] != kFree && entries_[table_[slot]].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  void rebuild(size_t least) {
    size_t size = kSmallest;
    while (size < least) size *= 2;
    table_.assign(size, kFree);
    if (entries_.empty()) entries_.reserve(size / 2);
    for (uint32_t i = 0; i < entries_.size(); ++i) table_[slot_of(entries_[i].key)] = i;
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> table_;
};

template <typename Key>
class FlatSet {
 public:
  size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }
  void reserve(size_t count) { keys_.reserve(count); }
  bool contains(Key key) const { return keys_.contains(key); }
  /// Whether it is new.
  bool insert(Key key) { return keys_.emplace(key, {}).second; }

  class Iterator {
   public:
    explicit Iterator(typename std::vector<typename FlatMap<Key, std::nullptr_t>::Entry>::const_iterator at)
        : at_(at) {}
    Key operator*() const { return at_->key; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    typename std::vector<typename FlatMap<Key, std::nullptr_t>::Entry>::const_iterator at_;
  };
  Iterator begin() const { return Iterator(keys_.begin()); }
  Iterator end() const { return Iterator(keys_.end()); }

 private:
  FlatMap<Key, std::nullptr_t> keys_;
};

}  // namespace tenon::base
