// The IDX format, in which MNIST and its relatives come: a type, a shape and the elements, big-endian. No tensor is
// made here.

#pragma once

#include <vector>

#include "tenon/data/byte_stream.h"
#include "tenon/io/element.h"

namespace tenon::data {

struct IdxArray {
  io::Element element = io::Element::u8;
  std::vector<uint64_t> shape;
  std::vector<std::byte> bytes;  // in row-major order and in this machine's byte order, as held_as() stores them
};

/// Fails with one line that starts with `[idx] file` unless the stream is exactly one array of at most so many bytes.
IdxArray read_idx(ByteStream& stream, uint64_t most_bytes);

}  // namespace tenon::data
