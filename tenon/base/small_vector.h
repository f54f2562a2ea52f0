// A vector that keeps its first N elements inside itself.
//
// Shapes, strides and operand lists are nearly always short, and recording an op makes several of them: keeping them
// off the heap is what lets a node cost one allocation.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace tenon::base {

template <typename T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t count, const T& value = T()) : SmallVector() {
    reserve(count);
    std::uninitialized_fill_n(data_, count, value);
    size_ = static_cast<uint32_t>(count);
  }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  explicit SmallVector(std::span<const T> values) : SmallVector(values.begin(), values.end()) {}
  template <std::input_iterator It>
  SmallVector(It first, It last) : SmallVector() {  // delegating: a throwing copy finds the destructor
    const auto count = static_cast<size_t>(std::distance(first, last));
    reserve(count);
    std::uninitialized_copy(first, last, data_);
    size_ = static_cast<uint32_t>(count);
  }
  SmallVector(const SmallVector& other) : SmallVector() {
    if (kCopiesWhole && other.is_inline()) {
      copy_inline(other);
      return;
    }
    reserve(other.size());
    std::uninitialized_copy(other.begin(), other.end(), data_);
    size_ = other.size_;
  }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (kCopiesWhole && other.size_ <= capacity_) {
      std::copy(other.begin(), other.end(), data_);
      size_ = other.size_;
    } else if (this != &other) {
      *this = SmallVector(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~SmallVector() {
    clear();
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T value(std::forward<Args>(args)...);  // the arguments may live in the storage that grow() moves
      grow(std::max<size_t>(2 * size_t{capacity_}, 4));
      std::construct_at(data_ + size_, std::move(value));
      return data_[size_++];
    }
    std::construct_at(data_ + size_, std::forward<Args>(args)...);
    return data_[size_++];
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() { std::destroy_at(data_ + --size_); }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void resize(size_t count, const T& value = T()) {
    while (size_ > count) pop_back();
    if (size_ == count) return;
    const T filler(value);  // it may be an element that growing moves
    reserve(count);
    while (size_ < count) push_back(filler);
  }
  T* insert(const T* where, T value) {
    const size_t at = static_cast<size_t>(where - data_);
    push_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(const T* where) {
    T* at = data_ + (where - data_);
    std::move(at + 1, end(), at);
    pop_back();
    return at;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // A few plain words are copied all together: a known number of bytes, whatever the size.
  static constexpr bool kCopiesWhole = std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64;
  void copy_inline(const SmallVector& other) {
    std::memcpy(inline_, other.inline_, sizeof(inline_));
    size_ = other.size_;
  }

  bool is_inline() const { return data_ == reinterpret_cast<const T*>(inline_); }

  void grow(size_t capacity) {
    T* bigger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), bigger);
    const uint32_t size = size_;
    release();
    data_ = bigger;
    size_ = size;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void release() {
    clear();
    if (!is_inline()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = reinterpret_cast<T*>(inline_);
    capacity_ = N;
  }
  void take(SmallVector& other) noexcept {
    if (kCopiesWhole && other.is_inline()) {
      copy_inline(other);
      other.size_ = 0;
      return;
    }
    if (other.is_inline()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, reinterpret_cast<T*>(other.inline_));
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, N);
  }

  T* data_ = reinterpret_cast<T*>(inline_);
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace tenon::base
