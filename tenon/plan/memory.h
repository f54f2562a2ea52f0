// Lays the temporaries of a plan into one arena.
//
// Every temporary is live from the launch that writes it to the last launch that reads it. Laying intervals out before
// anything runs is what makes a step free of allocation. What is put together from pieces is live piece by piece: the
// gradient of all weights is one value, and until the backward pass has come to a layer, what the layers and the loss
// keep lies where that layer's gradient will.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::plan {

/// A piece of a value.
struct Stretch {
  size_t begin = 0, bytes = 0;
  uint32_t first = 0;  // the launch that writes it
};

struct Interval {
  uint32_t first = 0;  // the launch that writes it, or the first piece of it
  uint32_t last = 0;   // the last launch that reads it
  size_t bytes = 0;
  std::vector<Stretch> later = {};  // pieces that are written later, in the order of memory
};

struct Arena {
  std::vector<size_t> offsets;  // one per interval
  size_t bytes = 0;             // the whole arena
  size_t peak_live_bytes = 0;   // the lower bound: most bytes alive at once
};

/// Best-fit placement; intervals come in order of their first launch. An arena larger than `slab` bytes is made of
/// buffers of that size: no interval lies across two of them, and one that is larger is an error.
Arena lay_out(std::span<const Interval> intervals, size_t alignment, size_t slab = ~size_t{0});

}  // namespace tenon::plan
