// gzip, bzip2 and zstd streams, recognised by their first bytes rather than by the name of the file.

#pragma once

#include <memory>

#include "tenon/data/byte_stream.h"

namespace tenon::data {

/// What `zstd -22 --ultra` writes needs windows of 128 MiB; more is refused.
inline constexpr int kLargestZstdWindow = 27;

/// The stream itself where it is not compressed, else what is in it: all members, frames or streams, one after another
/// (Wikipedia's multi-stream dumps have a hundred thousand). Reading fails with one line where the stream is damaged,
/// cut off, or followed by something else; the line starts with `[format]`.
std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> stream,
                                         int largest_zstd_window = kLargestZstdWindow,
                                         std::string_view format = "corpus");

}  // namespace tenon::data
