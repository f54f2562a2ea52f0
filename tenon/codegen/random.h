// The Philox stream of a generator, as instructions of a kernel: the same words at the same positions on every device.

#pragma once

#include <vector>

#include "tenon/codegen/builder.h"

namespace tenon::codegen {

struct RandomStream {
  Id key_low, key_high;  // u32
  Id start;              // u64: the word of the stream that position 0 is
};

/// Of a generator whose state is `seed` and `counter` (i64), `further` (u64) words behind its counter.
RandomStream random_stream(Builder& b, Id seed, Id counter, Id further);

/// Word `position` (u64) of the stream and those that follow it, as u32. Four together share a block of four where the
/// first of them begins one.
std::vector<Id> random_words(Builder& b, const RandomStream& stream, Id position, uint32_t count);

}  // namespace tenon::codegen
