// What vmap() notes of the thread while a function is recorded for one example; for the files of the library only.

#pragma once

#include <cstdint>

namespace tenon {

/// Alive while the function records. Tensors know in which one they were made.
class Mapping {
 public:
  Mapping();
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  /// The innermost one of this thread, or null.
  static const Mapping* current();

  const uint64_t id;

 private:
  const Mapping* outer_;
};

/// Who records without values that could be looked at: "a captured function", "a function that vmap() maps", or null.
const char* without_values();

}  // namespace tenon
