// What the fuzz targets share: a reader may refuse with one line or succeed, and nothing else; and it may not ask for
// more memory than the bytes it was given justify.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tenon/io/input.h"

namespace tenon::fuzz {

/// Runs a reader. Aborts when it throws other than tenon::Error, when the message is not one line, or when its memory
/// ever exceeds `factor` bytes for each of `honest_bytes` and a constant.
void run(size_t honest_bytes, size_t factor, const std::function<void()>& reader);

inline io::Input input_of(std::string_view format, const uint8_t* data, size_t size) {
  return {format, "file", std::as_bytes(std::span(data, size))};
}

}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
