// Every tile instruction against the reference device, on every instruction set that this machine has.
//
// The reference computes in f64 and i64, so its result is the true value of an op, up to rounding to the dtype. How far
// an instruction may be from it stands in one table, in units in the last place.

#include "tenon/backends/cpu/tile/tile.h"

#include <limits>
#include <random>

#include "tenon/backends/reference/ops.h"
#include "tenon/codegen/functions.h"
#include "tenon/ir/philox.h"
#include "tests/cpu/tile_support.h"

namespace tenon::backends::cpu {
namespace {

using ir::Kind;
using ir::Op;
using reference::Array;

/// The most an f32 instruction may be off, in units in the last place; 0.5 is correct rounding.
double ulp_limit(Op op) { return codegen::is_function(op) && op != Op::mod ? 2 : 0.5; }

/// 16-bit dtypes round an f32 result, f64 uses libm like the reference (but for the form of sigmoid).
double ulp_limit(Op op, DType dtype) {
  if (dtype == DType::f64) return op == Op::sigmoid ? 2 : 0.5;
  if (dtype == DType::f32 || ulp_limit(op) == 0.5) return ulp_limit(op);
  return dtype == DType::f16 ? 0.5 + 4.0 / 8192 : 0.5 + 4.0 / 65536;
}

bool takes(Op op, DType dtype) {
  switch (ir::info(op).dtype_rule) {
    case ir::DTypeRule::number: return dtype != DType::boolean;
    case ir::DTypeRule::real: return is_float(dtype);
    case ir::DTypeRule::integer: return is_integer(dtype);
    case ir::DTypeRule::bits: return !is_float(dtype);
    default: return true;
  }
}

/// An element in tile form as a number.
struct Number {
  double real = 0;
  int64_t whole = 0;
};

Number get(const Tile& tile, DType dtype, size_t i) {
  switch (dtype) {
    case DType::f64: return {element<double>(tile, i), 0};
    case DType::i32: return {0, element<int32_t>(tile, i)};
    case DType::i64: return {0, element<int64_t>(tile, i)};
    case DType::u8:
    case DType::boolean: return {0, element<uint8_t>(tile, i)};
    default: return {element<float>(tile, i), 0};
  }
}

/// The tile of an array, rounded to its dtype by the reference's own rounding.
Tile tile_of(const Array& array) {
  Tile tile;
  dispatch(array.type.dtype, [&]<typename T>() {
    for (size_t i = 0; i < static_cast<size_t>(array.size()); ++i) {
      if constexpr (std::is_integral_v<T>) {
        const T value = static_cast<T>(array.whole[i]);
        std::memcpy(tile.bytes + i * sizeof(T), &value, sizeof(T));
      } else {
        using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
        const Wide value = static_cast<Wide>(static_cast<double>(static_cast<T>(array.real[i])));
        std::memcpy(tile.bytes + i * sizeof(Wide), &value, sizeof(Wide));
      }
    }
  });
  return tile;
}

const double kReals[] = {0.0,
                         -0.0,
                         1,
                         -1,
                         0.5,
                         2,
                         -2.5,
                         3,
                         7.75,
                         -100.25,
                         1e-3,
                         -1e-5,
                         6e-8,
                         -1e-38,
                         1.4e-45,
                         65504,
                         -65519,
                         65520,
                         1e20,
                         -3e38,
                         2147483647.0,
                         -2147483648.0,
                         1e-20,
                         88.7,
                         -103.9,
                         std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()};
const int64_t kWholes[] = {0,        1,         -1,        2,         -3,         7,         8,
                           31,       32,        33,        63,        64,         127,       -128,
                           255,      256,       INT32_MAX, INT32_MIN, -INT32_MAX, INT64_MAX, INT64_MIN,
                           16777217, 1LL << 53, -1000003,  123456789, 40,         -40};

/// kTile numbers of the dtype: special values in an order that pairs those of even and odd `salt`, then random ones.
Array numbers(DType dtype, unsigned salt) {
  Array array({dtype, {static_cast<int64_t>(kTile)}});
  std::mt19937_64 random(1234 + salt);
  const auto pick = [&](size_t count, size_t i) { return (salt % 2 ? i / count + 7 * salt : i) % count; };
  for (size_t i = 0; i < kTile; ++i) {
    const bool is_special = i < 400;
    if (array.is_real()) {
      const double magnitude = std::ldexp(1 + std::ldexp(static_cast<double>(random() >> 12), -52),
                                          static_cast<int>(random() % 24) - (salt % 3 ? 12 : 20));
      array.real[i] = is_special ? kReals[pick(std::size(kReals), i)] : random() % 2 ? magnitude : -magnitude;
    } else {
      array.whole[i] =
          is_special ? kWholes[pick(std::size(kWholes), i)] : static_cast<int64_t>(random() >> random() % 64);
    }
  }
  // The numbers the reference sees are those the dtype holds.
  std::vector<std::byte> bytes(kTile * 8);
  if (dtype == DType::boolean)
    for (int64_t& x : array.whole) x &= 1;
  reference::save(array, bytes.data());
  return reference::load({dtype, ir::IndexMap(array.type.shape)}, bytes.data());
}

struct Case {
  Op op;
  DType dtype, result;
  std::vector<Array> in;
  std::vector<Tile> tiles;
  TileFn function;

  Case(Op o, DType t, unsigned salt) : op(o), dtype(t), result(t), function(tile_function(o, t)) {
    if (op == Op::less || op == Op::equal) result = DType::boolean;
    if (op == Op::where) in.push_back(numbers(DType::boolean, salt + 7));
    while (in.size() < static_cast<size_t>(ir::info(op).arity)) in.push_back(numbers(dtype, salt + in.size() % 2));
    for (const Array& array : in) tiles.push_back(tile_of(array));
  }

  Array expected() const {
    ir::Call call{op, ir::NoAttrs{}, {}, {}};
    Array out({result, {static_cast<int64_t>(kTile)}});
    reference::run_elementwise(call, in, out);
    return out;
  }

  Tile run(size_t n = kTile, size_t start = 0) const {
    Tile out;
    std::vector<const void*> from;
    for (size_t i = 0; i < in.size(); ++i) from.push_back(tiles[i].bytes + start * tile_element_size(in[i].type.dtype));
    function(out.bytes, from.data(), n);
    return out;
  }

  std::string name() const { return text(op, dtype); }
};

/// Calls f(Case) for every elementwise op and every dtype it takes.
template <typename F>
void for_each_case(unsigned salt, F f) {
  for (const ir::OpInfo& info : ir::op_table()) {
    const auto op = static_cast<Op>(&info - ir::op_table().data());
    if (info.kind != Kind::unary && info.kind != Kind::binary && info.kind != Kind::ternary) continue;
    if (op == Op::cast || op == Op::bitcast) continue;
    for (DType dtype : kAllDTypes) {
      if (takes(op, dtype)) f(Case(op, dtype, salt));
    }
  }
}

class TileOps : public OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, TileOps, testing::ValuesIn(target_names()), target_of);

void expect_close(const Tile& got, const Array& want, DType dtype, double limit, const std::string& name) {
  for (size_t i = 0; i < static_cast<size_t>(want.size()); ++i) {
    const Number number = get(got, dtype, i);
    if (want.is_real()) {
      ASSERT_LE(ulps(dtype, number.real, want.real[i]), limit)
          << name << ", element " << i << ": got " << number.real << ", want " << want.real[i];
    } else {
      ASSERT_EQ(number.whole, get(tile_of(want), dtype, i).whole) << name << ", element " << i;
    }
  }
}

TEST(TileTable, HasEveryElementwiseOpForTheDtypesItTakesAndNoOther) {
  for (const ir::OpInfo& info : ir::op_table()) {
    const auto op = static_cast<Op>(&info - ir::op_table().data());
    if (info.kind != Kind::unary && info.kind != Kind::binary && info.kind != Kind::ternary) continue;
    if (op == Op::cast || op == Op::bitcast) continue;
    for (DType dtype : kAllDTypes) {
      EXPECT_EQ(tile_function(op, dtype) != nullptr, takes(op, dtype)) << info.name << " " << name(dtype);
    }
  }
  EXPECT_EQ(tile_function(Op::sum, DType::f32), nullptr);
}

TEST_P(TileOps, EveryOpGivesTheReferencesValue) {
  for (unsigned salt : {0u, 1u, 2u, 5u}) {
    for_each_case(
        salt, [](const Case& c) { expect_close(c.run(), c.expected(), c.result, ulp_limit(c.op, c.dtype), c.name()); });
  }
}

TEST_P(TileOps, ResultsOf16BitDtypesAreRoundedToThem) {
  for_each_case(2, [](const Case& c) {
    if (size_of(c.result) != 2) return;
    const Tile out = c.run();
    for (size_t i = 0; i < kTile; ++i) {
      const auto x = static_cast<double>(element<float>(out, i));
      const double kept = c.result == DType::f16 ? double{base::Half(x)} : double{base::BFloat16(x)};
      ASSERT_TRUE(x == kept || std::isnan(x)) << c.name() << ": " << x;
    }
  });
}

TEST_P(TileOps, AnElementDependsNeitherOnLengthNorOnPositionAndNothingBehindIsWritten) {
  for_each_case(3, [](const Case& c) {
    const Tile whole = c.run();
    const size_t size = tile_element_size(c.result);
    for (size_t n = 0; n <= 40; ++n) {
      for (size_t start : {size_t{0}, size_t{3}, size_t{401}}) {
        const Tile part = c.run(n, start);
        ASSERT_EQ(std::memcmp(part.bytes, whole.bytes + start * size, n * size), 0)
            << c.name() << ", " << n << " at " << start;
        ASSERT_EQ(part.bytes[n * size], std::byte{0xAB}) << c.name() << " wrote behind " << n;
      }
    }
  });
}

TEST_P(TileOps, AResultMayReplaceAnOperandOfItsSize) {
  for_each_case(4, [](Case c) {
    for (size_t n : {size_t{5}, size_t{37}, kTile}) {
      const Tile whole = c.run(n);
      for (size_t i = 0; i < c.in.size(); ++i) {
        if (tile_element_size(c.in[i].type.dtype) != tile_element_size(c.result)) continue;
        std::vector<Tile> tiles = c.tiles;
        std::vector<const void*> from;
        for (const Tile& tile : tiles) from.push_back(tile.bytes);
        c.function(tiles[i].bytes, from.data(), n);
        ASSERT_EQ(std::memcmp(tiles[i].bytes, whole.bytes, n * tile_element_size(c.result)), 0) << c.name();
      }
    }
  });
}

TEST_P(TileOps, CastsGiveTheReferencesBits) {
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      for (unsigned salt : {0u, 1u, 2u, 5u}) {
        const Array in = numbers(from, salt);
        Array want({to, in.type.shape});
        reference::run_elementwise({Op::cast, ir::CastAttrs{to}, {}, {}}, {in}, want);
        const Tile tile = tile_of(in);
        const void* operand = tile.bytes;
        Tile got;
        tile_cast(from, to)(got.bytes, &operand, kTile);
        const Tile rounded = tile_of(want);
        for (size_t i = 0; i < kTile; ++i) {
          const Number a = get(got, to, i), b = get(rounded, to, i);
          ASSERT_TRUE(ulps(to, a.real, b.real) == 0 && a.whole == b.whole)
              << name(from) << " to " << name(to) << " of " << in.number(static_cast<int64_t>(i)) << ": " << a.real
              << " " << a.whole << ", want " << b.real << " " << b.whole;
        }
        Tile part;
        tile_cast(from, to)(part.bytes, &operand, 37);
        EXPECT_EQ(std::memcmp(part.bytes, got.bytes, 37 * tile_element_size(to)), 0)
            << name(from) << " to " << name(to);
        EXPECT_EQ(part.bytes[37 * tile_element_size(to)], std::byte{0xAB}) << name(from) << " to " << name(to);
      }
    }
  }
}

TEST_P(TileOps, RoundingTo16BitsIsRightForFloatsOfAllSizes) {
  for (DType to : {DType::f16, DType::bf16}) {
    uint64_t bits = 0;
    while (bits < uint64_t{1} << 32) {
      Tile in, out;
      for (size_t i = 0; i < kTile; ++i, bits += 6007) {
        const auto pattern = static_cast<uint32_t>(bits);
        std::memcpy(in.bytes + 4 * i, &pattern, 4);
      }
      const void* from = in.bytes;
      tile_cast(DType::f32, to)(out.bytes, &from, kTile);
      for (size_t i = 0; i < kTile; ++i) {
        const auto x = static_cast<double>(element<float>(in, i));
        const double want = to == DType::f16 ? double{base::Half(x)} : double{base::BFloat16(x)};
        ASSERT_EQ(ulps(DType::f64, element<float>(out, i), want), 0) << name(to) << " of " << x;
      }
    }
  }
}

// Each lies just above the middle between two 16-bit numbers, and on it once rounded to f32.
TEST_P(TileOps, DoublesAndIntegersAreRoundedTo16BitsOnce) {
  const double above_half = 1 + 0x1p-11 + 0x1p-40;
  const int32_t above_middle = (1 << 24) + (1 << 16) + 1;
  const void *real = &above_half, *whole = &above_middle;
  float out;
  tile_cast(DType::f64, DType::f16)(&out, &real, 1);
  EXPECT_EQ(out, 1 + 0x1p-10f);
  tile_cast(DType::i32, DType::bf16)(&out, &whole, 1);
  EXPECT_EQ(out, 0x1p24f + 0x1p17f);
}

TEST_P(TileOps, All16BitPatternsSurviveLoadAndStore) {
  for (DType dtype : {DType::f16, DType::bf16}) {
    for (uint32_t base = 0; base < 65536; base += kTile) {
      uint16_t memory[kTile], back[kTile];
      for (size_t i = 0; i < kTile; ++i) memory[i] = static_cast<uint16_t>(base + i);
      Tile tile;
      tile_load(dtype)(tile.bytes, reinterpret_cast<const std::byte*>(memory), 1, kTile);
      tile_store(dtype)(reinterpret_cast<std::byte*>(back), 1, tile.bytes, kTile);
      for (size_t i = 0; i < kTile; ++i) {
        const double want = dtype == DType::f16 ? base::f16_to_double(memory[i]) : base::bf16_to_double(memory[i]);
        ASSERT_EQ(ulps(DType::f64, element<float>(tile, i), want), 0) << name(dtype) << " " << memory[i];
        ASSERT_TRUE(back[i] == memory[i] || std::isnan(want)) << name(dtype) << " " << memory[i];
      }
    }
  }
}

TEST_P(TileOps, LoadsAndStoresFollowAnyStride) {
  for (DType dtype : kAllDTypes) {
    const Array array = numbers(dtype, 2);
    const size_t size = size_of(dtype), wide = tile_element_size(dtype);
    std::vector<std::byte> memory(kTile * size);
    reference::save(array, memory.data());
    const Tile whole = tile_of(array);
    for (int64_t stride : {1, 0, 2, 5, -1, -3}) {
      for (size_t n : {1, 2, 3, 17, 40, 90}) {
        const size_t first = 300;
        const auto at = [&](size_t i) {
          return static_cast<size_t>(static_cast<int64_t>(first) + static_cast<int64_t>(i) * stride);
        };
        Tile tile;
        if (stride > 1 && at(n - 1) >= kTile) continue;
        tile_load(dtype)(tile.bytes, memory.data() + first * size, stride, n);
        for (size_t i = 0; i < n; ++i)
          ASSERT_EQ(std::memcmp(tile.bytes + i * wide, whole.bytes + at(i) * wide, wide), 0)
              << name(dtype) << " by " << stride;
        EXPECT_EQ(tile.bytes[n * wide], std::byte{0xAB});
        if (stride == 0) continue;
        std::vector<std::byte> target(kTile * size, std::byte{0xCD}), want = target;
        tile_store(dtype)(target.data() + first * size, stride, tile.bytes, n);
        for (size_t i = 0; i < n; ++i) std::memcpy(want.data() + at(i) * size, memory.data() + at(i) * size, size);
        EXPECT_EQ(target, want) << name(dtype) << " by " << stride;
      }
    }
  }
}

TEST_P(TileOps, BitcastKeepsTheBitsInMemory) {
  for (DType from : kAllDTypes) {
    for (DType to : kAllDTypes) {
      if (size_of(from) != size_of(to) || (from == DType::boolean) != (to == DType::boolean)) continue;
      const Array in = numbers(from, 5);
      const Tile tile = tile_of(in);
      const void* operand = tile.bytes;
      Tile out;
      tile_bitcast(from, to)(out.bytes, &operand, kTile);
      std::vector<std::byte> before(kTile * size_of(from)), after(before.size());
      tile_store(from)(before.data(), 1, tile.bytes, kTile);
      tile_store(to)(after.data(), 1, out.bytes, kTile);
      if (from != DType::bf16 || to != DType::f16) {  // a bf16 may be a signalling NaN of f16, which a load makes quiet
        EXPECT_EQ(before, after) << name(from) << " to " << name(to);
      }
    }
  }
  EXPECT_EQ(tile_bitcast(DType::f32, DType::i64), nullptr);
}

TEST_P(TileOps, FillAndRampWriteNumbersOfEveryDtype) {
  for (DType dtype : kAllDTypes) {
    Tile fill, ramp;
    tile_fill(fill.bytes, dtype, 2.7, 3, 19);
    tile_ramp(ramp.bytes, dtype, 5, -3, 19);
    Array fills({dtype, {19}}), ramps({dtype, {19}});
    for (size_t i = 0; i < 19; ++i) {
      const int64_t x = 5 - 3 * static_cast<int64_t>(i);
      if (is_float(dtype)) {
        fills.real[i] = 2.7;
        ramps.real[i] = static_cast<double>(x);
      } else {
        fills.whole[i] = 3;
        ramps.whole[i] = x;
      }
    }
    const size_t bytes = 20 * tile_element_size(dtype);
    EXPECT_EQ(std::memcmp(fill.bytes, tile_of(fills).bytes, bytes), 0) << name(dtype);
    EXPECT_EQ(std::memcmp(ramp.bytes, tile_of(ramps).bytes, bytes), 0) << name(dtype);
  }
}

TEST_P(TileOps, PhiloxGivesTheWordsOfTheStream) {
  const uint64_t seed = 0x9876543210ABCDEF;
  for (uint64_t position : {uint64_t{0}, uint64_t{1}, uint64_t{4 * 0xFFFFFFFFull - 7}, uint64_t{1} << 63}) {
    for (size_t n : {size_t{1}, size_t{2}, size_t{30}, kTile}) {
      Tile tile;
      tile_philox(tile.bytes, seed, position, n);
      for (size_t i = 0; i < n; ++i)
        ASSERT_EQ(element<uint32_t>(tile, i), ir::philox_word(seed, position + i)) << position << " + " << i;
      EXPECT_EQ(tile.bytes[4 * n], std::byte{0xAB});
    }
  }
}

TEST_P(TileOps, AllInstructionSetsGiveTheSameBitsButForMath) {
  for_each_case(6, [](const Case& c) {
    if (ulp_limit(c.op) > 0.5) return;
    use_tile_target(GetParam());
    const Tile here = Case(c.op, c.dtype, 6).run();
    use_tile_target("");
    const Tile best = Case(c.op, c.dtype, 6).run();
    for (size_t i = 0; i < kTile; ++i) {
      const Number a = get(here, c.result, i), b = get(best, c.result, i);
      ASSERT_TRUE(ulps(c.result, a.real, b.real) == 0 && a.whole == b.whole)
          << c.name() << ": " << a.real << " and " << b.real;
    }
  });
}

}  // namespace
}  // namespace tenon::backends::cpu
