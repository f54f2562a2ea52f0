// All threads of a block do an instruction before any does the next. A value is 64 raw bits for each thread and
// component; what they mean is the instruction's type.

#include "tenon/backends/simulated/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/half.h"
#include "tenon/ir/library.h"
#include "tenon/ir/philox.h"

namespace tenon::backends::simulated {
namespace {

using codegen::Id;
using codegen::Inst;
using codegen::KernelIr;
using codegen::Scalar;
using ir::Op;
using Kind = Inst::Kind;
using Bits = uint64_t;

template <typename T>
T as(Bits bits) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(bits);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  else
    return bits != 0;
}
template <typename T>
Bits raw(T value) {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<Bits>(value);
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return value ? 1 : 0;
}

/// Calls f.template operator()<T>() with the C++ type of a register.
template <typename F>
decltype(auto) with(Scalar type, F&& f) {
  switch (type) {
    case Scalar::boolean: return f.template operator()<bool>();
    case Scalar::i32: return f.template operator()<int32_t>();
    case Scalar::i64: return f.template operator()<int64_t>();
    case Scalar::u64: return f.template operator()<uint64_t>();
    case Scalar::f32: return f.template operator()<float>();
    case Scalar::f64: return f.template operator()<double>();
    default: return f.template operator()<uint32_t>();
  }
}

[[noreturn]] void refuse(const KernelIr& kernel, std::string_view why, const Inst& inst) {
  base::fail("simulated", "kernel {}: {}: {}", kernel.name, why, to_string(inst));
}

Bits constant_of(const Inst& inst) {
  return with(inst.type, [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>)
      return raw(static_cast<T>(std::bit_cast<double>(inst.bits)));
    else
      return raw(static_cast<T>(inst.bits));
  });
}

template <typename T>
Bits real_math(Op op, T a) {
  if (const auto y = ir::by_library(op, a)) return raw(*y);
  base::fail("simulated", "no {} of a float", ir::name(op));
}

template <typename T>
Bits real_math(Op op, T a, T b) {
  switch (op) {
    case Op::maximum: return raw(a < b ? b : a);
    case Op::less: return raw(a < b);
    case Op::equal: return raw(a == b);
    default: break;
  }
  if (const auto y = ir::by_library(op, a, b)) return raw(*y);
  base::fail("simulated", "no {} of two floats", ir::name(op));
}

// What is undefined in a language is an error here.
template <typename T>
Bits whole_math(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto wrapped = [](U x) { return raw(static_cast<T>(x)); };
  const bool divides =
      b != 0 && !(std::is_signed_v<T> && b == static_cast<T>(-1) && a == std::numeric_limits<T>::min());
  const bool shifts = static_cast<U>(b) < 8 * sizeof(T);
  switch (op) {
    case Op::add: return wrapped(static_cast<U>(a) + static_cast<U>(b));
    case Op::mul: return wrapped(static_cast<U>(a) * static_cast<U>(b));
    case Op::maximum: return raw(a < b ? b : a);
    case Op::less: return raw(a < b);
    case Op::equal: return raw(a == b);
    case Op::bit_and: return raw(static_cast<T>(a & b));
    case Op::bit_or: return raw(static_cast<T>(a | b));
    case Op::bit_xor: return raw(static_cast<T>(a ^ b));
    case Op::idiv:
    case Op::mod:
      if (!divides) base::fail("simulated", "{} of {} by {}", ir::name(op), a, b);
      return raw(static_cast<T>(op == Op::idiv ? a / b : a % b));
    case Op::shl:
    case Op::shr:
      if (!shifts) base::fail("simulated", "a shift by {}", b);
      return op == Op::shl ? wrapped(static_cast<U>(a) << b) : raw(static_cast<T>(a >> b));
    default: base::fail("simulated", "no {} of two integers", ir::name(op));
  }
}

Bits truth_math(Op op, bool a, bool b) {
  switch (op) {
    case Op::bit_and: return a && b;
    case Op::bit_or: return a || b;
    case Op::bit_xor:
    case Op::less:
    case Op::equal: return op == Op::bit_xor ? a != b : op == Op::less ? !a && b : a == b;
    default: base::fail("simulated", "no {} of two truths", ir::name(op));
  }
}

Bits converted(Scalar from, Scalar to, Bits bits) {
  return with(from, [&]<typename From>() {
    return with(to, [&]<typename To>() {
      const From x = as<From>(bits);
      if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
        const double low = static_cast<double>(std::numeric_limits<To>::min());
        const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
        if (!(std::trunc(static_cast<double>(x)) >= low && static_cast<double>(x) < high))
          base::fail("simulated", "{} does not fit into {}", x, codegen::name(to));
      }
      if constexpr (std::is_same_v<To, bool>)
        return raw(x != From{0});
      else
        return raw(static_cast<To>(x));
    });
  });
}

// Everything of one dispatch but the blocks.
class Block {
 public:
  Block(const codegen::Dispatch& dispatch, std::span<const std::span<std::byte>> buffers,
        std::span<const uint64_t> numbers)
      : kernel_(dispatch.kernel), buffers_(buffers), numbers_(numbers), threads_(dispatch.kernel.threads) {
    values_.resize(kernel_.code.size());
    match_.resize(kernel_.code.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < kernel_.code.size(); ++i) {
      const Inst& inst = kernel_.code[i];
      const bool is_tile = inst.kind == Kind::tile_zero || inst.kind == Kind::tile_load || inst.kind == Kind::tile_pack;
      values_[i].resize(is_tile ? kTileNumbers * (threads_ / kernel_.subgroup)
                                : size_t{threads_} * std::max<uint8_t>(1, inst.width));
      if (inst.kind == Kind::otherwise || inst.kind == Kind::end) {
        match_[open.back()] = i;
        open.pop_back();
      }
      if (inst.kind == Kind::loop || inst.kind == Kind::branch || inst.kind == Kind::otherwise) open.push_back(i);
    }
  }

  void run(const std::array<uint32_t, 3>& block) {
    block_ = block;
    shared_.clear();
    arrays_.clear();
    for (const auto& array : kernel_.shared) shared_.emplace_back(array.count, kGarbage);
    for (const auto& array : kernel_.arrays) arrays_.emplace_back(size_t{array.count} * threads_, kGarbage);
    alive_.assign(threads_, true);
    std::vector<uint32_t> all(threads_);
    for (uint32_t t = 0; t < threads_; ++t) all[t] = t;
    run_part(0, kernel_.code.size(), all);
  }

 private:
  static constexpr Bits kGarbage = 0xFFFFFFFFFFFFFFFF;  // a NaN, and an index far outside of everything

  Bits arg(const Inst& inst, size_t which, uint32_t t) const { return values_[inst.args[which]][t]; }
  Scalar type_of(Id id) const { return kernel_.code[id].type; }

  template <typename F>
  void each(std::span<const uint32_t> active, F&& f) {
    for (const uint32_t t : active) {
      if (alive_[t]) f(t);
    }
  }

  void run_part(size_t begin, size_t end, const std::vector<uint32_t>& active) {
    for (size_t i = begin; i < end; ++i) {
      const Inst& inst = kernel_.code[i];
      switch (inst.kind) {
        case Kind::loop:
          run_loop(i, active);
          i = match_[i];
          break;
        case Kind::branch: i = run_branch(i, active); break;
        default: run_one(i, inst, active); break;
      }
    }
  }

  void run_loop(size_t i, const std::vector<uint32_t>& active) {
    const Inst& inst = kernel_.code[i];
    std::vector<uint32_t> in;
    each(active, [&](uint32_t t) {
      values_[i][t] = arg(inst, 0, t);
      if (static_cast<uint32_t>(arg(inst, 0, t)) < static_cast<uint32_t>(arg(inst, 1, t))) in.push_back(t);
    });
    while (!in.empty()) {
      run_part(i + 1, match_[i], in);
      std::vector<uint32_t> still;
      each(in, [&](uint32_t t) {
        const auto step = static_cast<uint32_t>(arg(inst, 2, t));
        if (step == 0) refuse(kernel_, "a loop without a step", inst);
        values_[i][t] = static_cast<uint32_t>(values_[i][t]) + step;
        if (static_cast<uint32_t>(values_[i][t]) < static_cast<uint32_t>(arg(inst, 1, t))) still.push_back(t);
      });
      in = std::move(still);
    }
  }

  size_t run_branch(size_t i, const std::vector<uint32_t>& active) {
    const Inst& inst = kernel_.code[i];
    std::vector<uint32_t> taken, others;
    each(active, [&](uint32_t t) { (arg(inst, 0, t) ? taken : others).push_back(t); });
    size_t end = match_[i];
    if (!taken.empty()) run_part(i + 1, end, taken);
    if (kernel_.code[end].kind == Kind::otherwise) {
      if (!others.empty()) run_part(end + 1, match_[end], others);
      end = match_[end];
    }
    return end;
  }

  void run_one(size_t i, const Inst& inst, std::span<const uint32_t> active) {
    std::vector<Bits>& out = values_[i];
    switch (inst.kind) {
      case Kind::constant: each(active, [&, c = constant_of(inst)](uint32_t t) { out[t] = c; }); break;
      case Kind::number:
        each(active, [&](uint32_t t) {
          const Bits whole = numbers_[inst.slot];
          out[t] = inst.type == Scalar::u64 ? whole : static_cast<uint32_t>(inst.bits == 0 ? whole : whole >> 32);
        });
        break;
      case Kind::thread: each(active, [&](uint32_t t) { out[t] = t; }); break;
      case Kind::block: each(active, [&](uint32_t t) { out[t] = block_[inst.slot]; }); break;
      case Kind::math: run_math(inst, out, active); break;
      case Kind::fma:
        with(inst.type, [&]<typename T>() {
          if constexpr (std::is_floating_point_v<T>) {
            each(active, [&](uint32_t t) {
              out[t] = raw(std::fma(as<T>(arg(inst, 0, t)), as<T>(arg(inst, 1, t)), as<T>(arg(inst, 2, t))));
            });
          }
        });
        break;
      case Kind::exp2: each(active, [&](uint32_t t) { out[t] = raw(std::exp2(as<float>(arg(inst, 0, t)))); }); break;
      case Kind::reciprocal:  // no better than it has to be
        each(active, [&](uint32_t t) { out[t] = raw(1.0f / as<float>(arg(inst, 0, t))) & 0xFFFFFFFEu; });
        break;
      case Kind::saturate:
        each(active, [&](uint32_t t) { out[t] = raw(std::fmin(std::fmax(as<float>(arg(inst, 0, t)), 0.0f), 1.0f)); });
        break;
      case Kind::mul_high: each(active, [&](uint32_t t) { out[t] = arg(inst, 0, t) * arg(inst, 1, t) >> 32; }); break;
      case Kind::pack_half:
        each(active, [&](uint32_t t) { out[t] = base::double_to_f16(double{as<float>(arg(inst, 0, t))}); });
        break;
      case Kind::pack_bf16:
        each(active, [&](uint32_t t) { out[t] = base::double_to_bf16(double{as<float>(arg(inst, 0, t))}); });
        break;
      case Kind::larger:
        each(active, [&](uint32_t t) {
          const auto a = as<float>(arg(inst, 0, t)), b = as<float>(arg(inst, 1, t));
          out[t] = a == b ? arg(inst, 0, t) & arg(inst, 1, t) : raw(std::isnan(a) || a > b ? a : b);
        });
        break;
      case Kind::unpack_half:
        each(active, [&](uint32_t t) {
          out[t] = raw(static_cast<float>(base::f16_to_double(static_cast<uint16_t>(arg(inst, 0, t)))));
        });
        break;
      case Kind::f64_word:
        each(active, [&](uint32_t t) { out[t] = static_cast<uint32_t>(arg(inst, 0, t) >> 32 * inst.slot); });
        break;
      case Kind::f64_of: each(active, [&](uint32_t t) { out[t] = arg(inst, 1, t) << 32 | arg(inst, 0, t); }); break;
      case Kind::philox:
        each(active, [&](uint32_t t) {
          const auto words =
              ir::philox(arg(inst, 0, t) | arg(inst, 1, t) << 32, arg(inst, 2, t) | arg(inst, 3, t) << 32);
          for (uint32_t c = 0; c < 4; ++c) out[size_t{c} * threads_ + t] = words[c];
        });
        break;
      case Kind::extract:
        each(active, [&](uint32_t t) { out[t] = values_[inst.args[0]][size_t{inst.slot} * threads_ + t]; });
        break;
      case Kind::shuffle: run_shuffle(inst, out, active); break;
      case Kind::load: run_load(inst, out, active); break;
      case Kind::store: run_store(inst, active); break;
      case Kind::store_bits: run_store_bits(inst, active); break;
      case Kind::shared_load:
        each(active, [&](uint32_t t) {
          const Bits* from = shared_at(inst, t);
          for (uint32_t c = 0; c < inst.width; ++c) out[size_t{c} * threads_ + t] = from[c];
        });
        break;
      case Kind::shared_store:
        each(active, [&](uint32_t t) {
          Bits* to = shared_at(inst, t);
          for (uint32_t c = 0; c < inst.width; ++c) to[c] = arg(inst, 1 + c, t);
        });
        break;
      case Kind::array_load: each(active, [&](uint32_t t) { out[t] = *array_at(inst, t); }); break;
      case Kind::array_store: each(active, [&](uint32_t t) { *array_at(inst, t) = arg(inst, 1, t); }); break;
      case Kind::variable:
      case Kind::get: each(active, [&](uint32_t t) { out[t] = arg(inst, 0, t); }); break;
      case Kind::set: each(active, [&](uint32_t t) { values_[inst.args[0]][t] = arg(inst, 1, t); }); break;
      case Kind::barrier: {
        size_t here = 0, all = 0;
        each(active, [&](uint32_t) { ++here; });
        for (const bool alive : alive_) all += alive;
        if (here != threads_ || all != threads_) refuse(kernel_, "not all threads come to a barrier", inst);
        break;
      }
      case Kind::leave_if:
        each(active, [&](uint32_t t) {
          if (arg(inst, 0, t)) alive_[t] = false;
        });
        break;
      case Kind::fault_if:
        each(active, [&](uint32_t t) {
          if (!arg(inst, 0, t)) return;
          const Bits index = inst.args.size() == 2 ? arg(inst, 1, t) : arg(inst, 2, t) << 32 | arg(inst, 1, t);
          base::throw_error(ir::name_of(inst.op, inst.use), ir::bad_index(inst.use, as<int64_t>(index), inst.slot,
                                                                          static_cast<int64_t>(inst.bits)));
        });
        break;
      case Kind::tile_zero:
      case Kind::tile_load:
      case Kind::tile_mma:
      case Kind::tile_store:
      case Kind::tile_pack: run_tile(inst, out, active); break;
      case Kind::tile_get:
        each(active, [&](uint32_t t) { out[t] = values_[inst.args[0]][number_at(t, inst.slot)]; });
        break;
      case Kind::tile_set:
        each(active, [&](uint32_t t) { values_[inst.args[0]][number_at(t, inst.slot)] = arg(inst, 1, t); });
        break;
      default: refuse(kernel_, "not an instruction of this device", inst);
    }
  }

  void run_math(const Inst& inst, std::vector<Bits>& out, std::span<const uint32_t> active) {
    const Scalar from = type_of(inst.args.back());
    if (inst.op == Op::where) {
      return each(active, [&](uint32_t t) { out[t] = arg(inst, 0, t) ? arg(inst, 1, t) : arg(inst, 2, t); });
    }
    if (inst.op == Op::cast)
      return each(active, [&](uint32_t t) { out[t] = converted(from, inst.type, arg(inst, 0, t)); });
    if (inst.op == Op::bitcast) return each(active, [&](uint32_t t) { out[t] = arg(inst, 0, t); });
    with(from, [&]<typename T>() {
      each(active, [&](uint32_t t) {
        const T a = as<T>(arg(inst, 0, t));
        if (inst.args.size() == 1) {
          if constexpr (std::is_floating_point_v<T>)
            out[t] = real_math(inst.op, a);
          else if constexpr (!std::is_same_v<T, bool>)
            out[t] = inst.op == Op::neg || (inst.op == Op::abs && std::is_signed_v<T> && a < T{0})
                         ? whole_math<T>(Op::mul, a, static_cast<T>(-1))
                         : raw(a);
          return;
        }
        const T b = as<T>(arg(inst, 1, t));
        if constexpr (std::is_floating_point_v<T>)
          out[t] = real_math(inst.op, a, b);
        else if constexpr (std::is_same_v<T, bool>)
          out[t] = truth_math(inst.op, a, b);
        else
          out[t] = whole_math(inst.op, a, b);
      });
    });
  }

  // Whom a thread takes from must be here too.
  void run_shuffle(const Inst& inst, std::vector<Bits>& out, std::span<const uint32_t> active) {
    std::vector<bool> here(threads_, false);
    each(active, [&](uint32_t t) { here[t] = true; });
    each(active, [&](uint32_t t) {
      const auto other = static_cast<uint32_t>(t ^ inst.bits);
      if (inst.bits >= 32 || other >= threads_ || !here[other]) refuse(kernel_, "a shuffle with nobody", inst);
      out[t] = arg(inst, 0, other);
    });
  }

  std::byte* address(const Inst& inst, uint32_t t) {
    const size_t size = codegen::size_of(kernel_.buffers[inst.slot].element), bytes = size * inst.width;
    const Scalar type = type_of(inst.args[0]);
    const uint64_t index = type == Scalar::u32 ? static_cast<uint32_t>(arg(inst, 0, t)) : arg(inst, 0, t);
    const std::span<std::byte> memory = buffers_[inst.slot];
    if (index > memory.size() / size || index * size + bytes > memory.size())
      refuse(kernel_, fmt::format("element {} of a buffer of {} bytes", index, memory.size()), inst);
    std::byte* at = memory.data() + index * size;
    if (reinterpret_cast<uintptr_t>(at) % bytes != 0)
      refuse(kernel_, fmt::format("element {} is not aligned for {} of them", index, inst.width), inst);
    return at;
  }

  void run_load(const Inst& inst, std::vector<Bits>& out, std::span<const uint32_t> active) {
    const size_t size = codegen::size_of(kernel_.buffers[inst.slot].element);
    each(active, [&](uint32_t t) {
      const bool reads = inst.args.size() == 1 || arg(inst, 1, t);
      const std::byte* at = reads ? address(inst, t) : nullptr;
      for (uint32_t c = 0; c < inst.width; ++c) {
        Bits bits = 0;
        if (reads) std::memcpy(&bits, at + c * size, size);
        out[size_t{c} * threads_ + t] = bits;
      }
    });
  }

  void run_store(const Inst& inst, std::span<const uint32_t> active) {
    if (!kernel_.buffers[inst.slot].is_written) refuse(kernel_, "a store into what is only read", inst);
    const size_t size = codegen::size_of(kernel_.buffers[inst.slot].element);
    each(active, [&](uint32_t t) {
      if (inst.args.size() > size_t{inst.width} + 1 && !arg(inst, inst.width + 1, t)) return;
      std::byte* at = address(inst, t);
      for (uint32_t c = 0; c < inst.width; ++c) {
        const Bits bits = arg(inst, 1 + c, t);
        std::memcpy(at + c * size, &bits, size);
      }
    });
  }

  // ---- matrix tiles: 256 numbers for each subgroup, row by row ----

  static constexpr size_t kTileNumbers = size_t{codegen::kTileSize} * codegen::kTileSize;

  void run_tile(const Inst& inst, std::vector<Bits>& out, std::span<const uint32_t> active) {
    std::vector<bool> here(threads_, false);
    each(active, [&](uint32_t t) { here[t] = true; });
    for (uint32_t first = 0; first < threads_; first += kernel_.subgroup) {
      if (!here[first] && std::find(here.begin() + first, here.begin() + first + kernel_.subgroup, true) ==
                              here.begin() + first + kernel_.subgroup)
        continue;
      for (uint32_t t = first; t < first + kernel_.subgroup; ++t) {
        if (!here[t]) refuse(kernel_, "not all threads of a subgroup come to a tile", inst);
        const bool has_addresses = inst.kind == Kind::tile_load || inst.kind == Kind::tile_store;
        for (size_t i = inst.kind == Kind::tile_store ? 1 : 0; has_addresses && i < inst.args.size(); ++i)
          if (arg(inst, i, t) != arg(inst, i, first)) refuse(kernel_, "threads differ about a tile", inst);
      }
      const size_t tile = first / kernel_.subgroup * kTileNumbers;
      switch (inst.kind) {
        case Kind::tile_zero: std::fill_n(out.begin() + static_cast<ptrdiff_t>(tile), kTileNumbers, raw(0.0f)); break;
        case Kind::tile_load: load_tile(inst, &out[tile], first); break;
        case Kind::tile_pack: pack_tile(inst, out, first); break;
        case Kind::tile_mma:
          multiply_tiles(&values_[inst.args[0]][tile], &values_[inst.args[1]][tile], &values_[inst.args[2]][tile]);
          break;
        default: store_tile(inst, &values_[inst.args[0]][tile], first); break;
      }
    }
  }

  /// Where row `row` of a tile begins, in units of its memory, of which a shared element holds `per_element`.
  size_t tile_row(const Inst& inst, size_t first_arg, uint32_t t, uint32_t row, uint32_t per_element) {
    const auto at = static_cast<uint32_t>(arg(inst, first_arg, t)),
               stride = static_cast<uint32_t>(arg(inst, first_arg + 1, t));
    if (at % (4 * per_element) != 0 || stride % (4 * per_element) != 0)
      refuse(kernel_, fmt::format("a tile at {} with rows {} apart is not aligned", at, stride), inst);
    const size_t begin = at + size_t{row} * stride;
    if (begin + codegen::kTileSize > shared_[inst.slot].size() * per_element)
      refuse(kernel_, fmt::format("a tile's row at {} of shared memory", begin), inst);
    return begin;
  }

  void load_tile(const Inst& inst, Bits* tile, uint32_t t) {
    using codegen::TileBits;
    for (uint32_t row = 0; row < codegen::kTileSize; ++row) {
      const size_t begin = tile_row(inst, 0, t, row, 2);
      for (uint32_t column = 0; column < codegen::kTileSize; ++column) {
        const size_t at = begin + column;
        const auto bits = static_cast<uint16_t>(shared_[inst.slot][at / 2] >> (at % 2 == 0 ? 0 : 16));
        const double value = inst.bits & TileBits::kBf16 ? base::bf16_to_double(bits) : base::f16_to_double(bits);
        const uint32_t place = inst.bits & TileBits::kTransposed ? column * 16 + row : row * 16 + column;
        tile[place] = raw(static_cast<float>(value));
      }
    }
  }

  /// Where number `i` of a thread lies among the numbers of all tiles.
  size_t number_at(uint32_t t, uint32_t i) const {
    using codegen::TilePlace;
    const uint32_t lane = t % kernel_.subgroup;
    const uint32_t row = lane / 4 + TilePlace::row(i), column = 2 * (lane % 4) + TilePlace::column(i);
    return t / kernel_.subgroup * kTileNumbers + row * codegen::kTileSize + column;
  }

  void pack_tile(const Inst& inst, std::vector<Bits>& out, uint32_t first) {
    for (uint32_t t = first; t < first + kernel_.subgroup; ++t) {
      for (uint32_t i = 0; i < codegen::TilePlace::kCount; ++i) {
        const double value = as<float>(arg(inst, i, t));
        const double rounded = inst.bits & codegen::TileBits::kBf16 ? base::bf16_to_double(base::double_to_bf16(value))
                                                                    : base::f16_to_double(base::double_to_f16(value));
        out[number_at(t, i)] = raw(static_cast<float>(rounded));
      }
    }
  }

  // The products of an element are added one after another, in f32, each rounded once with its sum.
  static void multiply_tiles(Bits* sums, const Bits* left, const Bits* right) {
    for (uint32_t i = 0; i < 16; ++i) {
      for (uint32_t j = 0; j < 16; ++j) {
        float sum = as<float>(sums[i * 16 + j]);
        for (uint32_t k = 0; k < 16; ++k)
          sum = std::fma(as<float>(left[i * 16 + k]), as<float>(right[k * 16 + j]), sum);
        sums[i * 16 + j] = raw(sum);
      }
    }
  }

  void store_tile(const Inst& inst, const Bits* tile, uint32_t t) {
    for (uint32_t row = 0; row < codegen::kTileSize; ++row) {
      const size_t begin = tile_row(inst, 1, t, row, 1);
      for (uint32_t column = 0; column < codegen::kTileSize; ++column)
        shared_[inst.slot][begin + column] = tile[row * 16 + column];
    }
  }

  void run_store_bits(const Inst& inst, std::span<const uint32_t> active) {
    each(active, [&](uint32_t t) {
      if (inst.args.size() == 4 && !arg(inst, 3, t)) return;
      const auto bits = static_cast<uint32_t>(arg(inst, 1, t)), which = static_cast<uint32_t>(arg(inst, 2, t));
      if ((bits & ~which) != 0) refuse(kernel_, "bits outside of those that are stored", inst);
      uint32_t word = 0;
      std::byte* at = address(inst, t);
      std::memcpy(&word, at, sizeof(word));
      word = (word & ~which) | bits;
      std::memcpy(at, &word, sizeof(word));
    });
  }

  Bits* shared_at(const Inst& inst, uint32_t t) {
    const auto index = static_cast<uint32_t>(arg(inst, 0, t));
    if (index >= shared_[inst.slot].size() || shared_[inst.slot].size() - index < inst.width)
      refuse(kernel_, fmt::format("element {} of shared memory", index), inst);
    if (index % inst.width != 0)
      refuse(kernel_, fmt::format("element {} of shared memory is not aligned for {}", index, inst.width), inst);
    return &shared_[inst.slot][index];
  }
  Bits* array_at(const Inst& inst, uint32_t t) {
    const auto index = static_cast<uint32_t>(arg(inst, 0, t));
    if (index >= kernel_.arrays[inst.slot].count) refuse(kernel_, fmt::format("element {} of an array", index), inst);
    return &arrays_[inst.slot][size_t{index} * threads_ + t];
  }

  const KernelIr& kernel_;
  const std::span<const std::span<std::byte>> buffers_;
  const std::span<const uint64_t> numbers_;
  const uint32_t threads_;
  std::array<uint32_t, 3> block_{};
  std::vector<std::vector<Bits>> values_;  // for each instruction: all threads' first component, then their second, ...
  std::vector<size_t> match_;              // of what opens a part: where it ends
  std::vector<std::vector<Bits>> shared_, arrays_;
  std::vector<bool> alive_;
};

}  // namespace

void run(const codegen::Dispatch& dispatch, std::span<const std::span<std::byte>> buffers,
         std::span<const uint64_t> numbers) {
  std::vector<uint64_t> all(numbers.begin(), numbers.end());
  all.resize(dispatch.kernel.numbers - dispatch.sizes.size());
  all.insert(all.end(), dispatch.sizes.begin(), dispatch.sizes.end());
  Block block(dispatch, buffers, all);
  for (uint32_t z = 0; z < dispatch.blocks[2]; ++z) {
    for (uint32_t y = 0; y < dispatch.blocks[1]; ++y) {
      for (uint32_t x = 0; x < dispatch.blocks[0]; ++x) block.run({x, y, z});
    }
  }
}

}  // namespace tenon::backends::simulated
