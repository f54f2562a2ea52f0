// One call of Philox gives four words: a block.

#include "tenon/codegen/random.h"

namespace tenon::codegen {
namespace {

using ir::Op;

std::array<Id, 4> block_at(Builder& b, const RandomStream& stream, Id block) {
  const Id high = b.math(Op::shr, Scalar::u64, {block, b.whole(Scalar::u64, 32)});
  return b.philox(stream.key_low, stream.key_high, b.convert(block, Scalar::u32), b.convert(high, Scalar::u32));
}

// Which block a word is in, and its place there.
struct InBlock {
  Id block, place;
};
InBlock find(Builder& b, Id word) {
  return {b.math(Op::shr, Scalar::u64, {word, b.whole(Scalar::u64, 2)}),
          b.math(Op::bit_and, Scalar::u32, {b.convert(word, Scalar::u32), b.u32(3)})};
}

Id one_word(Builder& b, const RandomStream& stream, Id word) {
  const InBlock at = find(b, word);
  const std::array<Id, 4> all = block_at(b, stream, at.block);
  const Id low = b.select(b.equal(at.place, b.u32(0)), all[0], all[1]);
  const Id high = b.select(b.equal(at.place, b.u32(2)), all[2], all[3]);
  return b.select(b.less(at.place, b.u32(2)), low, high);
}

}  // namespace

RandomStream random_stream(Builder& b, Id seed, Id counter, Id further) {
  const Id key = b.bitcast(seed, Scalar::u64);
  return {b.convert(key, Scalar::u32),
          b.convert(b.math(Op::shr, Scalar::u64, {key, b.whole(Scalar::u64, 32)}), Scalar::u32),
          b.add(b.bitcast(counter, Scalar::u64), further)};
}

// Where threads begin at multiples of four, where the stream begins decides for all of them alike whether one block
// holds all four words.
std::vector<Id> random_words(Builder& b, const RandomStream& stream, Id position, uint32_t count) {
  const Id first = b.add(stream.start, position);
  std::vector<Id> made;
  if (count != 4) {
    for (uint32_t i = 0; i < count; ++i) made.push_back(one_word(b, stream, b.add(first, b.whole(Scalar::u64, i))));
    return made;
  }
  const InBlock at = find(b, first);
  const std::array<Id, 4> now = block_at(b, stream, at.block);
  for (const Id word : now) made.push_back(b.variable(word));
  b.branch(b.is_not(b.equal(at.place, b.u32(0))), [&] {
    const std::array<Id, 4> next = block_at(b, stream, b.add(at.block, b.whole(Scalar::u64, 1)));
    const Id all[] = {now[0], now[1], now[2], now[3], next[0], next[1], next[2]};
    for (uint32_t i = 0; i < 4; ++i) {
      const Id late = b.select(b.equal(at.place, b.u32(2)), all[i + 2], all[i + 3]);
      b.set(made[i], b.select(b.equal(at.place, b.u32(1)), all[i + 1], late));
    }
  });
  for (Id& each : made) each = b.get(each);
  return made;
}

}  // namespace tenon::codegen
