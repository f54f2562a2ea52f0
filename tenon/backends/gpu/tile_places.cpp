// Number n of a tile, counted row by row, stands for its place. Whole numbers below 256 are exact in both dtypes.

#include "tenon/backends/gpu/tile_places.h"

#include <array>
#include <cmath>

#include "tenon/base/error.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/numbers.h"

namespace tenon::backends::gpu {
namespace {

using codegen::Builder;
using codegen::Id;
using codegen::kTileSize;
using codegen::Scalar;
using codegen::TileBits;
using codegen::TilePlace;
using ir::Op;

constexpr uint32_t kNumbers = kTileSize * kTileSize, kWords = kNumbers / 2;

// A quarter of what neighbours above 1 differ by.
double quarter_step(DType dtype) { return dtype == DType::bf16 ? 0x1p-9 : 0x1p-12; }

class Probe {
 public:
  explicit Probe(DType dtype)
      : dtype_(dtype),
        bits_(dtype == DType::bf16 ? TileBits::kBf16 : 0),
        b_(fmt::format("tile_places_{}", name(dtype)), TilePlace::kThreads),
        out_(b_.add_buffer(Scalar::f32, true)) {}

  codegen::Dispatch run() {
    b_.use_tiles(TilePlace::kThreads);
    shared_ = b_.add_shared(Scalar::u32, kNumbers);
    fill([&](Id row, Id column) { return b_.select(b_.equal(row, column), b_.f32(1), b_.f32(0)); });
    const Id one = load(0), one_right = load(TileBits::kRight);
    fill([&](Id row, Id column) { return b_.convert(number(row, column), Scalar::f32); });
    const Id numbers = load(0), turned = load(TileBits::kTransposed), numbers_right = load(TileBits::kRight);

    const Id product = b_.tile_zero();
    b_.tile_mma(product, one, numbers_right);
    for (uint32_t i = 0; i < TilePlace::kCount; ++i) {
      const Id at = b_.add(b_.mul(b_.thread(), b_.u32(TilePlace::kCount)), b_.u32(i));
      b_.store(out_, at, b_.tile_get(product, i));
    }
    written_ = kNumbers;
    const Id both = b_.tile_zero();  // loaded as it lies, and turned
    b_.tile_mma(both, numbers, one_right);
    b_.tile_mma(both, turned, one_right);
    write(both);
    const Id set = b_.tile_zero();
    for (uint32_t i = 0; i < TilePlace::kCount; ++i) b_.tile_set(set, i, own_number(i));
    write(set);
    write(packed(one_right, [](Id own) { return own; }));
    write(packed(one_right, [&](Id own) { return b_.add(b_.f32(1), b_.mul(own, b_.f32(quarter_step(dtype_)))); }));
    return {b_.finish(), {1, 1, 1}, {{0, 0}}};
  }

 private:
  Id number(Id row, Id column) { return b_.add(b_.mul(row, b_.u32(kTileSize)), column); }
  /// What number i of this thread is to be.
  Id own_number(uint32_t i) {
    const Id row = b_.add(b_.div(b_.thread(), b_.u32(4)), b_.u32(TilePlace::row(i)));
    const Id pair = b_.mul(b_.mod(b_.thread(), b_.u32(4)), b_.u32(2));
    return b_.convert(number(row, b_.add(pair, b_.u32(TilePlace::column(i)))), Scalar::f32);
  }

  void fill(const std::function<Id(Id row, Id column)>& value) {
    b_.barrier();
    for (uint32_t first = 0; first < kWords; first += TilePlace::kThreads) {
      const Id word = b_.add(b_.u32(first), b_.thread());
      const Id row = b_.div(word, b_.u32(kTileSize / 2));
      const Id column = b_.mul(b_.mod(word, b_.u32(kTileSize / 2)), b_.u32(2));
      const Id low = half_of(value(row, column)), high = half_of(value(row, b_.add(column, b_.u32(1))));
      const Id upper = b_.math(Op::shl, Scalar::u32, {high, b_.u32(16)});
      b_.shared_store(shared_, word, b_.math(Op::bit_or, Scalar::u32, {low, upper}));
    }
    b_.barrier();
  }
  Id half_of(Id value) { return codegen::to_memory(b_, dtype_, value); }
  Id load(uint64_t bits) { return b_.tile_load(shared_, b_.u32(0), b_.u32(kTileSize), bits | bits_); }

  template <typename F>
  Id packed(Id one_right, F value) {
    std::array<Id, TilePlace::kCount> own;
    for (uint32_t i = 0; i < TilePlace::kCount; ++i) own[i] = value(own_number(i));
    const Id sum = b_.tile_zero();
    b_.tile_mma(sum, b_.tile_pack(own, bits_), one_right);
    return sum;
  }

  void write(Id sum) {
    b_.barrier();
    b_.tile_store(shared_, b_.u32(0), b_.u32(kTileSize), sum);
    b_.barrier();
    for (uint32_t first = 0; first < kNumbers; first += TilePlace::kThreads) {
      const Id at = b_.add(b_.u32(first), b_.thread());
      b_.store(out_, b_.add(b_.u32(written_), at), b_.bitcast(b_.shared_load(shared_, at), Scalar::f32));
    }
    written_ += kNumbers;
  }

  const DType dtype_;
  const uint64_t bits_;
  Builder b_;
  const uint32_t out_;
  uint32_t shared_ = 0, written_ = 0;
};

}  // namespace

codegen::Dispatch tile_place_kernel(DType dtype) { return Probe(dtype).run(); }

bool are_tile_places_kept(DType dtype, std::span<const float> written) {
  for (uint32_t n = 0; n < kNumbers; ++n) {
    const uint32_t thread = n / TilePlace::kCount, i = n % TilePlace::kCount;
    const uint32_t got = (thread / 4 + TilePlace::row(i)) * kTileSize + thread % 4 * 2 + TilePlace::column(i);
    const uint32_t turned = n % kTileSize * kTileSize + n / kTileSize;
    const auto rounded = static_cast<float>(1 + std::nearbyint(n / 4.0) * 4 * quarter_step(dtype));
    const std::array<float, 5> wanted{static_cast<float>(got), static_cast<float>(n + turned), static_cast<float>(n),
                                      static_cast<float>(n), rounded};
    for (size_t part = 0; part < wanted.size(); ++part) {
      if (written[part * kNumbers + n] != wanted[part]) return false;
    }
  }
  return true;
}

bool keeps_tile_places(Driver& driver, Compiler& compiler, uint64_t fault_words, const ir::Limits& limits) {
  constexpr size_t kBytes = kTilePlaceNumbers * sizeof(float);
  const uint64_t memory = driver.allocate(kBytes);
  if (!memory) return false;
  bool all = true;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    if (!limits.tile_dtypes.contains(dtype) || !all) continue;
    try {
      const Step step = compiler.step(tile_place_kernel(dtype));
      device::Launch launch;
      launch.args.push_back({{memory, kBytes}, 0, kBytes});
      driver.launch(step, launch, fault_words);
      std::array<float, kTilePlaceNumbers> written{};
      driver.download({memory, 0}, reinterpret_cast<std::byte*>(written.data()), kBytes);
      all = driver.finish() && are_tile_places_kept(dtype, written);
    } catch (const Error&) {
      all = false;
    }
  }
  driver.release(memory);
  return all;
}

}  // namespace tenon::backends::gpu
