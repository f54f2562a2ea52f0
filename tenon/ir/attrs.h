// What an op carries besides its operands: one small struct per kind of op, in one variant.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tenon/ir/device_id.h"
#include "tenon/ir/dtype.h"
#include "tenon/ir/op.h"
#include "tenon/ir/look_up.h"
#include "tenon/ir/shape.h"

namespace tenon::ir {

struct Type {
  DType dtype = DType::f32;
  Dims shape;
  bool operator==(const Type&) const = default;
};

/// Bytes of a buffer that holds it, row by row.
inline size_t bytes_of(const Type& type) { return static_cast<size_t>(count(type.shape)) * size_of(type.dtype); }

struct Param;       // node.h: what a differentiable leaf collects
struct CustomRule;  // node.h: the gradient of a user-defined function
struct Composition;  // composition.h: a graph that many calls share

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
};
/// One version of one buffer.
struct BufferAttrs {
  uint64_t id = 0;
  uint64_t version = 0;
  DeviceId device;
  Type type;
  bool operator==(const BufferAttrs&) const = default;
};
/// A single number: the bits of a double for float dtypes, of an int64 otherwise.
struct ConstantAttrs {
  DType dtype = DType::f32;
  DeviceId device;
  uint64_t bits = 0;
  bool operator==(const ConstantAttrs&) const = default;

  double as_double() const;
  int64_t as_int() const { return static_cast<int64_t>(bits); }
};
/// 0, 1, ... size - 1.
struct IotaAttrs {
  int64_t size = 0;
  DType dtype = DType::i64;
  DeviceId device;
  bool operator==(const IotaAttrs&) const = default;
};
/// `size` 32-bit words of the Philox stream that starts `offset` words behind the state's counter.
struct RandomAttrs {
  int64_t size = 0;
  uint64_t offset = 0;
  bool operator==(const RandomAttrs&) const = default;
};
struct ShapeAttrs {
  Dims shape;
  bool operator==(const ShapeAttrs&) const = default;
};
struct AxesAttrs {
  Dims axes;
  bool operator==(const AxesAttrs&) const = default;
};
/// Zeros before and after, per axis.
struct PadAttrs {
  Dims before, after;
  bool operator==(const PadAttrs&) const = default;
};
/// Elements start, start + step, ... (size of them), per axis; step is positive.
struct ShrinkAttrs {
  Dims start, size, step;
  bool operator==(const ShrinkAttrs&) const = default;
};
struct CastAttrs {
  DType dtype = DType::f32;
  bool operator==(const CastAttrs&) const = default;
};
struct AxisAttrs {
  int64_t axis = 0;
  LookUp use = LookUp::of_op;
  bool operator==(const AxisAttrs&) const = default;
};
/// (..., M, K) x (..., K, N), accumulated and returned in `result`.
struct ContractAttrs {
  DType result = DType::f32;
  bool tf32 = false;  // operands, which are f32, may be rounded to 10 bits of mantissa; only where Limits say so
  bool operator==(const ContractAttrs&) const = default;
};
/// q (B, H, T, D), k and v (B, G, S, D) with G dividing H, optionally an additive mask (B, H, T, S).
struct AttentionAttrs {
  double scale = 1.0;
  bool causal = false;
  bool has_mask = false;
  double dropout = 0;   // of the weights; above 0 the state of random numbers is an operand, behind the mask
  uint64_t offset = 0;  // the weight of (b, h, t, s) is decided by word offset + ((b H + h) T + t) S + s
  bool joined =
      false;  // of the gradient: one result (B, T, H + 2 G, D), each token's queries, keys and values together

  size_t masks() const { return has_mask ? 1 : 0; }
  size_t states() const { return dropout > 0 ? 1 : 0; }
  bool operator==(const AttentionAttrs&) const = default;
};
/// One spatial axis of a convolution: element j of the result reads elements j * stride + k * dilation - padding of the
/// image, for every k of the kernel. Around the image there are zeros.
struct ConvAxis {
  int64_t image = 0, kernel = 0, out = 0;  // sizes
  int64_t stride = 1, padding = 0, dilation = 1;
  bool operator==(const ConvAxis&) const = default;
};
/// How images x (N, C, image...), weights w (O, C / groups, kernel...) and results y (N, O, out...) hang together: y[n,
/// o, j...] is the sum of w[o, c, k...] * x[n, c, ...] over the channels c of o's group and over k, axis by axis as
/// ConvAxis says.
///
/// `conv` makes y of (x, w), `conv_transpose` x of (y, w) and `conv_weight` w of (x, y): one sum seen from each of its
/// three sides, and so each other's gradients. Sums are taken, and returned, in `result`.
///
/// `channels_last`: the second axis of all three comes last instead, x (N, image..., C), w (O, kernel..., C / groups)
/// and y (N, out..., O). Only the planner records such ones, for devices that want them.
struct ConvAttrs {
  std::vector<ConvAxis> axes;  // one or two
  int64_t groups = 1;
  DType result = DType::f32;
  bool tf32 = false;  // operands, which are f32, may be rounded to 10 bits of mantissa; only where Limits say so
  bool channels_last = false;
  bool operator==(const ConvAttrs&) const = default;
};
/// Windows over the last axes of images (N, C, image...), as ConvAxis says; what lies outside is never the largest.
///
/// `max_pool` gives the largest element of every window (N, C, out...) and which of the window's elements it is,
/// counted row by row: the first of several, or the last NaN. `max_pool_backward` takes a number for every window and
/// that place, and gives images: every element is the sum, in the order of places, over the windows whose largest it
/// was. `channels_last` is as for convolutions.
struct PoolAttrs {
  std::vector<ConvAxis> axes;  // one or two
  bool channels_last = false;

  int64_t places() const {
    int64_t all = 1;
    for (const ConvAxis& axis : axes) all *= axis.kernel;
    return all;
  }
  DType place_dtype() const { return places() <= 255 ? DType::u8 : DType::i32; }
  bool operator==(const PoolAttrs&) const = default;
};
/// A layer of an RNN, LSTM or GRU over a whole sequence of T elements for a batch of B, with states of H numbers and G
/// gates. `recurrent` takes the inputs' share of every gate (G, T, B, H), the weights of the states' share (G, H, H),
/// whose rows are results, the state before the first element (B, H), of an LSTM its cells too, then the bias of the
/// states' share (G, H), if there is one, and which elements there are (T, B, 1), if not all. Gates are in PyTorch's
/// order, but of the inputs' share of a GRU the last one comes first.
///
/// It gives all states (T + 1, B, H), that before the first element included, and the last state (B, H), of an LSTM its
/// cells too. With `keeps` it also gives what the gradient reads: of a GRU and an LSTM the states' share of the gates
/// at all times (T, G, B, H), and of an LSTM the cells behind every element (T, B, H).
///
/// `recurrent_backward` takes the operands, all states and what was kept, then the gradients that have arrived of all
/// states, of the last one and of its cells. It gives the gradients of the gates' sums (G, T, B, H), of which a GRU has
/// four (of its last gate the inputs' share, two that both shares have in common, of the last gate the states' share),
/// and of the first state, of an LSTM of its cells too.
enum class Cell : uint8_t { tanh, relu, lstm, gru };
struct RecurrentAttrs {
  Cell cell = Cell::tanh;
  bool reverse = false;  // from the last element to the first
  bool has_bias = false, has_mask = false;
  bool keeps = false;
  bool from_states = false, from_last = false, from_cells = false;  // of the gradient: which of them have arrived
  DType product = DType::f32;  // what states and weights are multiplied in, and the dtype of the states' share
  bool tf32 = false;

  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  bool has_cells() const { return cell == Cell::lstm; }
  bool has_products() const { return cell == Cell::lstm || cell == Cell::gru; }
  /// How many operands `recurrent` takes.
  size_t operands() const { return 3 + size_t{has_cells()} + size_t{has_bias} + size_t{has_mask}; }
  /// Of its results, the first one that is kept for the gradient, and how many there are.
  uint32_t first_kept() const { return has_cells() ? 3 : 2; }
  uint32_t kept() const { return has_cells() ? 2 : has_products() ? 1 : 0; }
  bool operator==(const RecurrentAttrs&) const = default;
};
struct SortAttrs {
  int64_t axis = 0;
  bool descending = false;
  bool operator==(const SortAttrs&) const = default;
};
/// max: of equal numbers the later one, and a NaN is above all.
enum class ScanKind : uint8_t { sum, prod, max };
struct ScanAttrs {
  int64_t axis = 0;
  ScanKind kind = ScanKind::sum;
  bool operator==(const ScanAttrs&) const = default;
};
/// One movement op without its operand.
struct Move {
  Op op = Op::reshape;
  std::variant<ShapeAttrs, AxesAttrs, PadAttrs, ShrinkAttrs> attrs;
  bool operator==(const Move&) const = default;
};
/// The view of the base that the value is written into, as the moves that lead to it.
struct StoreAttrs {
  std::vector<Move> target;
  bool operator==(const StoreAttrs&) const = default;
};
struct CopyAttrs {
  DeviceId device;
  bool operator==(const CopyAttrs&) const = default;
};
/// Weak, because the leaf's gradient is a graph that leads back here: the tensor owns the Param.
struct ParamAttrs {
  uint64_t id = 0;
  std::weak_ptr<Param> param;
  bool operator==(const ParamAttrs& other) const { return id == other.id; }
};
/// The first `results` operands are the results; the others are what the rule differentiates to.
struct CustomAttrs {
  std::shared_ptr<const CustomRule> rule;
  size_t results = 1;
  bool operator==(const CustomAttrs&) const = default;
};

/// One call of a composition: the operands take the place of its inputs.
struct ComposedAttrs {
  std::shared_ptr<const Composition> what;
  bool operator==(const ComposedAttrs&) const = default;
};

using Attrs =
    std::variant<NoAttrs, BufferAttrs, ConstantAttrs, IotaAttrs, RandomAttrs, ShapeAttrs, AxesAttrs, PadAttrs,
                 ShrinkAttrs, CastAttrs, AxisAttrs, ContractAttrs, AttentionAttrs, ConvAttrs, PoolAttrs, RecurrentAttrs,
                 SortAttrs, ScanAttrs, StoreAttrs, CopyAttrs, ParamAttrs, CustomAttrs, ComposedAttrs>;

namespace detail {
template <typename T, typename Variant>
struct IndexIn;
template <typename T, typename... Ts>
struct IndexIn<T, std::variant<Ts...>> {
  static constexpr size_t value = [] {
    constexpr bool matches[] = {std::is_same_v<T, Ts>...};
    size_t i = 0;
    while (!matches[i]) ++i;
    return i;
  }();
};
}  // namespace detail

template <typename T>
inline constexpr size_t kAttrsIndex = detail::IndexIn<T, Attrs>::value;

uint64_t hash(const Attrs& attrs);
/// "axes=(1, 2)", empty for none: what the printer shows behind the operands.
std::string to_string(const Attrs& attrs);
Attrs attrs_of(const Move& move);
Move move_of(Op op, const Attrs& attrs);

}  // namespace tenon::ir
