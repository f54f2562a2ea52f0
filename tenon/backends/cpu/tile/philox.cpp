// Philox by vectors. Every 32-bit word of a block stands in a 64-bit lane, as the product that it goes into needs it;
// what lies above it is ignored until the words are joined in pairs and stored.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/philox.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/vector-inl.h"
#include "tenon/ir/philox.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
namespace {

using Words = hn::ScalableTag<uint64_t>;
using V = hn::Vec<Words>;
constexpr size_t kStep = kLanesOf<Words>;

HWY_INLINE void one_round(V& x0, V& x1, V& x2, V& x3, V key0, V key1) {
  const hn::Repartition<uint32_t, Words> halves;
  const V a = hn::MulEven(hn::BitCast(halves, x0), hn::Set(halves, 0xD2511F53u));
  const V b = hn::MulEven(hn::BitCast(halves, x2), hn::Set(halves, 0xCD9E8D57u));
  x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), x1), key0);
  x1 = b;
  x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), x3), key1);
  x3 = a;
}

HWY_INLINE void store_blocks(V x0, V x1, V x2, V x3, uint32_t* out) {
  const Words d;
  const V low = hn::Set(d, uint64_t{0xFFFFFFFF});
  const V first = hn::Or(hn::And(x0, low), hn::ShiftLeft<32>(x1));
  const V second = hn::Or(hn::And(x2, low), hn::ShiftLeft<32>(x3));
  hn::StoreInterleaved2(first, second, d, reinterpret_cast<uint64_t*>(out));
}

}  // namespace
#endif

/// Writes the words of the blocks counter, counter + 1, ... Two vectors go side by side, because a round is a long
/// chain of dependent instructions.
void philox_blocks_here(uint32_t* out, uint64_t seed, uint64_t counter, size_t blocks) {
  size_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  const Words d;
  for (; done + 2 * kStep <= blocks; done += 2 * kStep) {
    V x0 = hn::Iota(d, counter + done), x1 = hn::ShiftRight<32>(x0), x2 = hn::Zero(d), x3 = hn::Zero(d);
    V y0 = hn::Iota(d, counter + done + kStep), y1 = hn::ShiftRight<32>(y0), y2 = hn::Zero(d), y3 = hn::Zero(d);
    auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const V keys0 = hn::Set(d, uint64_t{key0}), keys1 = hn::Set(d, uint64_t{key1});
      one_round(x0, x1, x2, x3, keys0, keys1);
      one_round(y0, y1, y2, y3, keys0, keys1);
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    store_blocks(x0, x1, x2, x3, out + 4 * done);
    store_blocks(y0, y1, y2, y3, out + 4 * (done + kStep));
  }
#endif
  for (; done < blocks; ++done) {
    const auto words = ir::philox(seed, counter + done);
    std::memcpy(out + 4 * done, words.data(), sizeof words);
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(philox_blocks_here);

void tile_philox(void* tile, uint64_t seed, uint64_t position, size_t n) {
  auto* out = static_cast<uint32_t*>(tile);
  size_t i = 0;
  for (; i < n && (position + i) % 4 != 0; ++i) out[i] = ir::philox_word(seed, position + i);
  const size_t blocks = (n - i) / 4;
  HWY_DYNAMIC_DISPATCH(philox_blocks_here)(out + i, seed, (position + i) / 4, blocks);
  for (i += 4 * blocks; i < n; ++i) out[i] = ir::philox_word(seed, position + i);
}

}  // namespace tenon::backends::cpu
#endif
