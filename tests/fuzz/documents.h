// What every reader of documents must keep to: pieces that a second reader, opened where the first has been, gives too.

#pragma once

#include <cstdlib>
#include <vector>

#include "tenon/data/byte_stream.h"
#include "tenon/data/documents.h"

namespace tenon::fuzz {

/// `open` makes a reader of the same bytes from a position on.
void read_twice(auto&& open) {
  const auto reader = open(data::ReadPosition{});
  data::Piece first, again;
  while (true) {
    const data::ReadPosition before = reader->position();
    if (!reader->next(first)) return;
    const bool is_same = open(before)->next(again) && first.text == again.text && first.title == again.title &&
                         first.ends_document == again.ends_document;
    if (!is_same) std::abort();
    if (first.text.size() > 64) return;  // the next pieces only take time: each reads the rest of the bytes
  }
}

/// The stream at a position.
inline std::unique_ptr<data::ByteStream> stream_at(const uint8_t* data, size_t size,
                                                   const data::ReadPosition& position) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return data::open_memory(text.substr(std::min(size, static_cast<size_t>(position.offset))), "file");
}

}  // namespace tenon::fuzz
