// scatter and scatter_add: rows of values written or added to picked rows of the base, every row in the order of its
// indices, whatever the threads do. Where the result lies in the base's memory, other rows are not touched.
//
// scatter: each thread owns a range of targets and walks through all indices. scatter_add: 16-bit dtypes add in f32 and
// round once. Wide rows: the picks are sorted by target, and each target row, with all that is added to it, belongs to
// one thread. Narrow rows: sorting would cost more than adding, so each thread owns a range of targets and walks
// through all indices.

#include <algorithm>
#include <cstring>
#include <limits>

#include "tenon/backends/cpu/calls/convert.h"
#include "tenon/backends/cpu/calls/indices.h"
#include "tenon/backends/cpu/calls/kernels.h"
#include "tenon/backends/cpu/calls/radix.h"
#include "tenon/base/parallel.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kWideRow = 16;          // elements from which sorting the picks pays
constexpr int64_t kWalkGrain = 16 << 10;  // picks from which a second thread pays, though it walks through all
constexpr int64_t kGrainElements = 16 << 10;

template <typename T>
class Scatter : public CallKernel {
 public:
  explicit Scatter(const ir::Call& call)
      : base_(call.inputs[0].map, sizeof(T)),
        base_in_place_(call.inputs[0].map.is_contiguous()),
        value_(call.inputs[2], Input::Wanted::contiguous),
        indices_(call, std::get<ir::AxisAttrs>(call.attrs).axis),
        lines_(call.outputs[0].shape, std::get<ir::AxisAttrs>(call.attrs).axis),
        picks_(indices_.count()) {}

  void run(const Arguments& args) const override {
    const Indices::Checked index(indices_, args[1]);
    if (args[3] != args[0] || !base_in_place_) base_.run(args[0], args[3]);
    if (value_.count() == 0) return;
    const Input::Bound value(value_, args[2]);
    T* out = reinterpret_cast<T*>(args[3]);
    const int64_t threads = base::num_threads(), each = picks_ * lines_.inner;  // elements of an outer line
    const int64_t ranges = lines_.outer < threads && each >= 2 * kWalkGrain ? std::min(threads, lines_.length) : 1;
    const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, each / ranges));
    base::parallel_for(lines_.outer * ranges, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / ranges, range = i % ranges;
        const int64_t from = lines_.length * range / ranges, to = lines_.length * (range + 1) / ranges;
        const T* rows = value.as<T>() + outer * each;
        for (int64_t p = 0; p < picks_; ++p) {
          const int64_t row = index[p];
          if (row < from || row >= to) continue;
          std::copy_n(rows + p * lines_.inner, lines_.inner, out + (outer * lines_.length + row) * lines_.inner);
        }
      }
    });
  }

 private:
  Packer base_;
  bool base_in_place_;
  Input value_;
  Indices indices_;
  Lines lines_;
  int64_t picks_;
};

template <typename T>
class ScatterAdd : public CallKernel {
 public:
  explicit ScatterAdd(const ir::Call& call)
      : base_(call.inputs[0].map, sizeof(T)),
        base_in_place_(call.inputs[0].map.is_contiguous()),
        value_(call.inputs[2], Input::Wanted::contiguous),
        indices_(call, std::get<ir::AxisAttrs>(call.attrs).axis),
        lines_(call.outputs[0].shape, std::get<ir::AxisAttrs>(call.attrs).axis),
        picks_(indices_.count()) {}

  // Words and their spare half, then where each run of them starts.
  size_t scratch_bytes() const override { return sorts() ? static_cast<size_t>(3 * picks_ + 1) * sizeof(uint64_t) : 0; }

  void run(const Arguments& args) const override {
    const Indices::Checked index(indices_, args[1]);
    if (args[3] != args[0] || !base_in_place_) base_.run(args[0], args[3]);
    if (value_.count() == 0) return;
    const Input::Bound value(value_, args[2]);
    T* out = reinterpret_cast<T*>(args[3]);
    if (sorts())
      add_sorted(index, value.as<T>(), out, args[4]);
    else
      add_walking(index, value.as<T>(), out);
  }

 private:
  static constexpr bool k16Bit = std::is_same_v<T, base::Half> || std::is_same_v<T, base::BFloat16>;
  // Signed overflow wraps, as on every device.
  using Sum = std::conditional_t<k16Bit, float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;

  bool sorts() const {
    constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
    return lines_.inner >= kWideRow && picks_ <= kMost && lines_.length <= kMost && value_.count() > 0;
  }

  // Adds in the type that holds the sums: floats in place of 16-bit elements, the elements themselves otherwise.
  using Held = std::conditional_t<k16Bit, float, T>;
  static void add(Held& sum, T x) {
    if constexpr (std::is_integral_v<T>)
      sum = static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(x));
    else
      sum += convert<Held>(x);
  }
  static void add_row(Held* sums, const T* row, int64_t n) {
    for (int64_t i = 0; i < n; ++i) add(sums[i], row[i]);
  }

  // Calls f(held rows) for rows of the output, widening them before and narrowing them after where needed.
  template <typename F>
  static void with_held(T* rows, int64_t n, F&& f) {
    if constexpr (k16Bit) {
      const Scratch scratch(static_cast<size_t>(n) * sizeof(float));
      float* held = scratch.as<float>();
      for (int64_t i = 0; i < n; ++i) held[i] = to_float(rows[i]);
      f(held);
      for (int64_t i = 0; i < n; ++i) rows[i] = from_float<T>(held[i]);
    } else {
      f(rows);
    }
  }

  void add_sorted(const Indices::Checked& index, const T* value, T* out, std::byte* scratch) const {
    const auto n = static_cast<size_t>(picks_);
    auto* memory = reinterpret_cast<uint64_t*>(scratch);
    const std::span<uint64_t> words(memory, n), spare(memory + n, n);
    for (size_t p = 0; p < n; ++p) words[p] = static_cast<uint64_t>(index[static_cast<int64_t>(p)]) << 32 | p;
    int key_bits = 8;
    while (key_bits < 32 && lines_.length >> key_bits != 0) key_bits += 8;
    sort_words(words, spare, key_bits);

    auto* starts = reinterpret_cast<int64_t*>(memory + 2 * n);  // of the runs of picks with one target
    int64_t targets = 0;
    for (size_t p = 0; p < n; ++p) {
      if (p == 0 || words[p] >> 32 != words[p - 1] >> 32) starts[targets++] = static_cast<int64_t>(p);
    }
    starts[targets] = picks_;

    const int64_t per_target = std::max<int64_t>(1, picks_ / targets) * lines_.inner;
    const int64_t grain = std::max<int64_t>(1, kGrainElements / per_target);
    base::parallel_for(lines_.outer * targets, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / targets, target = i % targets;
        const auto picked = words.subspan(static_cast<size_t>(starts[target]),
                                          static_cast<size_t>(starts[target + 1] - starts[target]));
        const auto row = static_cast<int64_t>(picked[0] >> 32);
        with_held(out + (outer * lines_.length + row) * lines_.inner, lines_.inner, [&](Held* held) {
          for (uint64_t word : picked) {
            const auto pick = static_cast<int64_t>(static_cast<uint32_t>(word));
            add_row(held, value + (outer * picks_ + pick) * lines_.inner, lines_.inner);
          }
        });
      }
    });
  }

  void add_walking(const Indices::Checked& index, const T* value, T* out) const {
    const int64_t threads = base::num_threads();
    const bool splits = lines_.outer < threads && picks_ * lines_.inner >= 2 * kWalkGrain;
    const int64_t ranges = splits ? std::min(threads, lines_.length) : 1;
    const int64_t grain = std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, picks_ * lines_.inner / ranges));
    base::parallel_for(lines_.outer * ranges, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / ranges, range = i % ranges;
        const int64_t from = lines_.length * range / ranges, to = lines_.length * (range + 1) / ranges;
        const T* rows = value + outer * picks_ * lines_.inner;
        with_held(out + (outer * lines_.length + from) * lines_.inner, (to - from) * lines_.inner, [&](Held* held) {
          for (int64_t p = 0; p < picks_; ++p) {
            const int64_t row = index[p];
            if (row < from || row >= to) continue;
            add_row(held + (row - from) * lines_.inner, rows + p * lines_.inner, lines_.inner);
          }
        });
      }
    });
  }

  Packer base_;
  bool base_in_place_;
  Input value_;
  Indices indices_;
  Lines lines_;
  int64_t picks_;
};

}  // namespace

std::unique_ptr<CallKernel> compile_scatter(const ir::Call& call) {
  return dispatch(call.outputs[0].dtype,
                  [&]<typename T>() -> std::unique_ptr<CallKernel> { return std::make_unique<Scatter<T>>(call); });
}
std::unique_ptr<CallKernel> compile_scatter_add(const ir::Call& call) {
  return dispatch(call.outputs[0].dtype,
                  [&]<typename T>() -> std::unique_ptr<CallKernel> { return std::make_unique<ScatterAdd<T>>(call); });
}

}  // namespace tenon::backends::cpu
