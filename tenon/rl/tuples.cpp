#include "tenon/rl/tuples.h"

#include <cmath>

#include "tenon/base/error.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"

namespace tenon::rl {
namespace {

constexpr uint64_t kRowOf3 = 0xFFF;

// The groups are a row and the next row's first two cells, and blocks of two rows by three columns, each from the first
// row on and from the second; the others are symmetric to these. With cells in nibbles most of it is a shift.
void look_up_one(uint64_t cells, int32_t* places) {
  constexpr uint64_t kSix = (uint64_t{1} << TupleNetwork::kBits) - 1;
  const auto block = [](uint64_t x) { return (x & kRowOf3) | ((x >> 16) & kRowOf3) << 12; };
  const uint64_t groups[] = {cells & kSix, (cells >> 16) & kSix, block(cells), block(cells >> 16)};
  for (int g = 0; g < TupleNetwork::kGroups; ++g)
    places[g] = static_cast<int32_t>(g << TupleNetwork::kBits) | static_cast<int32_t>(groups[g]);
}

}  // namespace

TupleNetwork::TupleNetwork(double first_value, Device device) {
  if (!std::isfinite(static_cast<float>(first_value)))
    base::fail("2048", "boards cannot be worth {} at first; give a number", first_value);
  table = full({kEntries}, first_value / kLookups, Options(device)).clone().eval();
  register_buffer("table", table);
}

Tensor TupleNetwork::forward(const Tensor& places) const {
  if (places.dim() < 1 || places.size(-1) != kLookups)
    base::fail("2048", "places are (..., {}), not {}", kLookups, ir::to_string(places.shape()));
  return index_select(table, 0, places.flatten()).reshape(places.shape()).sum(-1);
}

void TupleNetwork::look_up(const Board& board, std::span<int32_t> places) {
  if (places.size() != kLookups)
    base::fail("2048", "a board has {} places in the table, not {}", kLookups, places.size());
  int32_t* to = places.data();
  Board now = board;
  for (int turn = 0; turn < kSymmetries / 2; ++turn) {
    look_up_one(now.cells, to);
    now = mirrored(now);
    look_up_one(now.cells, to + kGroups);
    to += 2 * kGroups;
    now = transposed(now);  // mirrored and transposed: turned by a quarter
  }
}

}  // namespace tenon::rl
