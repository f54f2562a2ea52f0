// sort: every line on its own, stable, NaN above everything.
//
// Values become unsigned keys in the same order, so that one sort of integers serves every dtype: narrow dtypes as
// words of key and position for the radix sort, wide ones by the 32 bits that tell most of them apart, and then among
// those that agree in them.

#include <algorithm>
#include <bit>
#include <limits>

#include "tenon/backends/cpu/calls/convert.h"
#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/calls/radix.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

// The bits of a float in the order of its values: negative ones reversed, below the positive; zeros equal; NaN on top.
template <typename Bits>
Bits float_key(Bits bits, Bits infinity) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits magnitude = bits & static_cast<Bits>(~kSign);
  if (magnitude > infinity) return std::numeric_limits<Bits>::max();
  if (magnitude == 0) return kSign;
  return bits & kSign ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | kSign);
}

uint16_t key_of(base::Half x) { return float_key<uint16_t>(x.bits, 0x7c00); }
uint16_t key_of(base::BFloat16 x) { return float_key<uint16_t>(x.bits, 0x7f80); }
uint32_t key_of(float x) { return float_key<uint32_t>(std::bit_cast<uint32_t>(x), 0x7f800000); }
uint64_t key_of(double x) { return float_key<uint64_t>(std::bit_cast<uint64_t>(x), uint64_t{0x7ff} << 52); }
uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000; }
uint64_t key_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
uint8_t key_of(uint8_t x) { return x; }
uint8_t key_of(bool x) { return x ? 1 : 0; }

struct Keyed {
  uint64_t key;
  int64_t position;
  bool operator<(const Keyed& other) const { return key != other.key ? key < other.key : position < other.position; }
};

constexpr uint64_t key_in(uint64_t word) { return word >> 32; }

template <typename T>
class Sort : public CallKernel {
 public:
  explicit Sort(const ir::Call& call)
      : input_(call.inputs[0], Input::Wanted::contiguous),
        lines_(input_.shape(), std::get<ir::SortAttrs>(call.attrs).axis),
        descending_(std::get<ir::SortAttrs>(call.attrs).descending) {}

  void run(const Arguments& args) const override {
    if (input_.count() == 0) return;
    const Input::Bound input(input_, args[0]);
    T* values = reinterpret_cast<T*>(args[1]);
    int64_t* indices = reinterpret_cast<int64_t*>(args[2]);
    const int64_t grain = std::max<int64_t>(1, 2048 / lines_.length);
    base::parallel_for(lines_.outer * lines_.inner, grain, [&](int64_t begin, int64_t end) {
      const Scratch scratch(static_cast<size_t>(2 * lines_.length) * sizeof(Keyed));
      for (int64_t line = begin; line < end; ++line) {
        const int64_t start = line / lines_.inner * lines_.length * lines_.inner + line % lines_.inner;
        const bool fits_words = lines_.length <= std::numeric_limits<uint32_t>::max();
        if (sizeof(Key) < 8 && fits_words)
          sort_by_words(input.as<T>() + start, values + start, indices + start, scratch);
        else if (fits_words)
          sort_by_upper_bits(input.as<T>() + start, values + start, indices + start, scratch);
        else
          sort_by_pairs(input.as<T>() + start, values + start, indices + start, scratch);
      }
    });
  }

 private:
  using Key = decltype(key_of(T()));

  // Descending is ascending by the complement; equal elements keep their order in both.
  Key key_at(const T* line, int64_t i) const {
    const Key key = key_of(line[i * lines_.inner]);
    return descending_ ? static_cast<Key>(~key) : key;
  }

  void sort_by_words(const T* line, T* values, int64_t* indices, const Scratch& scratch) const {
    const auto n = static_cast<size_t>(lines_.length);
    const std::span<uint64_t> words(scratch.as<uint64_t>(), n), spare(scratch.as<uint64_t>() + n, n);
    for (size_t i = 0; i < n; ++i) words[i] = uint64_t{key_at(line, static_cast<int64_t>(i))} << 32 | i;
    sort_words(words, spare, 8 * static_cast<int>(std::min<size_t>(sizeof(Key), 4)));
    for (size_t i = 0; i < n; ++i) put(line, static_cast<uint32_t>(words[i]), values, indices, static_cast<int64_t>(i));
  }

  static constexpr size_t kFewForBits = size_t{1} << 17;

  // 100,000 random numbers of 62 bits, for a permutation: an eighth of the time that comparing whole keys takes.
  void sort_by_upper_bits(const T* line, T* values, int64_t* indices, const Scratch& scratch) const {
    const auto n = static_cast<size_t>(lines_.length);
    const std::span<uint64_t> words(scratch.as<uint64_t>(), n), spare(scratch.as<uint64_t>() + n, n);
    const auto key = [&](uint64_t i) -> uint64_t { return key_at(line, static_cast<int64_t>(i)); };
    uint64_t lowest = std::numeric_limits<uint64_t>::max(), highest = 0;
    for (size_t i = 0; i < n; ++i) {
      lowest = std::min(lowest, key(i));
      highest = std::max(highest, key(i));
    }
    // Few keys are told apart by 24 bits, in two passes; those that agree in them are compared below.
    const int most = n <= kFewForBits ? 24 : 32;
    const int differing = std::bit_width(highest - lowest), left_out = std::max(0, differing - most);
    for (size_t i = 0; i < n; ++i) words[i] = (key(i) - lowest) >> left_out << 32 | i;
    sort_words(words, spare, std::min(differing, most));
    for (size_t begin = 0, end = 0; left_out > 0 && begin < n; begin = end) {
      for (end = begin + 1; end < n && key_in(words[end]) == key_in(words[begin]);) ++end;
      if (end - begin == 1) continue;
      std::sort(words.begin() + static_cast<std::ptrdiff_t>(begin), words.begin() + static_cast<std::ptrdiff_t>(end),
                [&](uint64_t a, uint64_t b) {
                  const uint64_t x = key(static_cast<uint32_t>(a)), y = key(static_cast<uint32_t>(b));
                  return x != y ? x < y : a < b;
                });
    }
    for (size_t i = 0; i < n; ++i) put(line, static_cast<uint32_t>(words[i]), values, indices, static_cast<int64_t>(i));
  }

  void sort_by_pairs(const T* line, T* values, int64_t* indices, const Scratch& scratch) const {
    Keyed* pairs = scratch.as<Keyed>();
    for (int64_t i = 0; i < lines_.length; ++i) pairs[i] = {key_at(line, i), i};
    std::sort(pairs, pairs + lines_.length);
    for (int64_t i = 0; i < lines_.length; ++i) put(line, pairs[i].position, values, indices, i);
  }

  void put(const T* line, int64_t from, T* values, int64_t* indices, int64_t to) const {
    values[to * lines_.inner] = line[from * lines_.inner];
    indices[to * lines_.inner] = from;
  }

  Input input_;
  Lines lines_;
  bool descending_;
};

// Positions in the order of pairs of random words, whose lowest bits do not count: what randperm() sorts. Nobody reads
// the sorted keys, and the upper bits of the first words tell nearly all pairs apart. 100,000 of them take two thirds
// of the time that making keys and sorting these takes.
class RandomOrder : public CallKernel {
 public:
  explicit RandomOrder(const ir::Call& call) : bits_(call.inputs[0], Input::Wanted::contiguous) {}

  size_t scratch_bytes() const override { return 2 * count() * sizeof(uint64_t); }

  void run(const Arguments& args) const override {
    const Input::Bound bits(bits_, args[0]);
    const auto* pairs = bits.as<uint32_t>();
    auto* to = reinterpret_cast<int64_t*>(args[1]);
    const size_t n = count();
    auto* memory = reinterpret_cast<uint64_t*>(args[2]);
    const std::span<uint64_t> words(memory, n), spare(memory + n, n);
    const int left_out = n <= kFewForBits ? 8 : 0;
    for (size_t i = 0; i < n; ++i) words[i] = uint64_t{(pairs[2 * i] & ~1U) >> left_out} << 32 | i;
    sort_words(words, spare, 32 - left_out);
    const auto key = [&](uint64_t word) {
      const uint64_t i = static_cast<uint32_t>(word);
      return uint64_t{pairs[2 * i] & ~1U} << 32 | (pairs[2 * i + 1] & ~1U);
    };
    for (size_t begin = 0, end = 0; begin < n; begin = end) {
      for (end = begin + 1; end < n && key_in(words[end]) == key_in(words[begin]);) ++end;
      if (end - begin > 1) {
        std::sort(memory + begin, memory + end, [&](uint64_t a, uint64_t b) {
          const uint64_t x = key(a), y = key(b);
          return x != y ? x < y : a < b;
        });
      }
      for (size_t i = begin; i < end; ++i) to[i] = static_cast<uint32_t>(words[i]);
    }
  }

 private:
  static constexpr size_t kFewForBits = size_t{1} << 17;  // as in Sort
  size_t count() const { return static_cast<size_t>(bits_.count() / 2); }

  Input bits_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_random_order(const ir::Call& call) { return std::make_unique<RandomOrder>(call); }

std::unique_ptr<CallKernel> compile_sort(const ir::Call& call) {
  return dispatch(call.inputs[0].dtype,
                  [&]<typename T>() -> std::unique_ptr<CallKernel> { return std::make_unique<Sort<T>>(call); });
}

}  // namespace tenon::backends::cpu
