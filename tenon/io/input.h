// What a parser is given: the bytes of a file, and what to call it when they are refused.
//
// The parsers of this room know bytes and no tensors, so that each can be fuzzed from a handful of files. Nothing in a
// file is believed; every refusal is one line: `[format] file: what is wrong`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/base/error.h"

namespace tenon::io {

struct Input {
  std::string_view format;  // "safetensors", "npy", ...
  std::string name;         // of the file, as the caller spelled it
  std::span<const std::byte> bytes;
};

/// Throws Error("[format] file: message").
template <typename... Args>
[[noreturn]] void fail(const Input& input, fmt::format_string<Args...> format, Args&&... args) {
  base::fail(input.format, "{}: {}", input.name, fmt::format(format, std::forward<Args>(args)...));
}

/// A name from a file as one short line, whatever the file put into it.
std::string in_quotes(std::string_view text);
/// The same without quotes, for what need not be a name: a value, a path inside of a file.
std::string as_one_line(std::string_view text);
/// A text of any length as one line: what a terminal would obey, and what is no UTF-8, is written as \\x1b.
std::string escaped(std::string_view text);
/// A text to be read on a terminal: lines and tabs stay, whatever else it would obey, and what is no UTF-8, becomes
/// "?".
std::string harmless(std::string_view text);

bool is_utf8(std::string_view text);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// More than PyTorch's and numpy's arrays have; keeps a list of sizes from outgrowing the file.
inline constexpr size_t kMaxRank = 64;

/// "(8, 1024)", "(3,)", "()".
std::string shape_text(std::span<const uint64_t> shape);

/// The bytes of an array, or nothing where no tensor may have its shape.
std::optional<uint64_t> bytes_of(std::span<const uint64_t> shape, size_t element_bytes);

/// A little-endian number at a place that is known to lie inside.
template <typename T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof(T));
  return number;
}

}  // namespace tenon::io
