// Temporary memory of kernels: tile registers, packed panels, sums, copies of operands that no strides describe.
//
// A kernel needs the same few blocks on every run, and fresh pages cost more than the work on them (0.25 µs per KiB),
// so every thread keeps the blocks it has used, up to a bound.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

/// A block of at least `bytes` bytes on a 64-byte boundary, borrowed from this thread's cache until the end of scope.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* data() const { return data_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_;
  size_t bytes_;
};

/// Bytes that idle blocks of all threads hold at the moment.
size_t idle_scratch_bytes();

/// Cuts one block into aligned pieces. Carving from nothing measures how large the block must be.
class Carver {
 public:
  explicit Carver(std::byte* base = nullptr) : base_(reinterpret_cast<uintptr_t>(base)) {}
  template <typename T>
  T* take(int64_t count) {
    const uintptr_t piece = base_ + used_;
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  size_t used() const { return used_; }

 private:
  uintptr_t base_;
  size_t used_ = 0;
};

}  // namespace tenon::backends::cpu
