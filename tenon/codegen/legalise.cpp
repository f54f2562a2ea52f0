// Goes over the instructions once and writes each anew; what was a 64-bit number is two words from there on.
//
// A byte or a half that shares its word with another thread's is stored by clearing and setting its own bits atomically
// (store_bits): other bits of the word are never touched, so it does not matter who comes first, and nobody needs to
// know how the schedule shares out elements. Threads that store whole words, as those with vectors do, store them
// plainly.

#include "tenon/codegen/legalise.h"

#include <algorithm>
#include <array>

#include "tenon/base/error.h"
#include "tenon/codegen/builder.h"
#include "tenon/codegen/functions.h"
#include "tenon/codegen/numbers.h"
#include "tenon/codegen/wide.h"

namespace tenon::codegen {
namespace {

using ir::Op;
using Kind = Inst::Kind;

bool is_missing(const Lacks& lacks, Scalar element) {
  switch (element) {
    case Scalar::i64:
    case Scalar::u64: return lacks.wide_integers;
    case Scalar::boolean:
    case Scalar::u8: return lacks.bytes;
    case Scalar::u16: return lacks.halves;
    default: return false;
  }
}

bool lacks_function(const Lacks& lacks, const Inst& inst) {
  return (inst.type == Scalar::f32 && lacks.functions.contains(inst.op)) ||
         (inst.type == Scalar::f64 && lacks.f64_functions.contains(inst.op));
}

/// Whether a loop has a barrier, but not as its last instruction. All threads of a block go through such a loop
/// together, so that there may be one.
bool is_open_loop(const KernelIr& kernel, size_t begin, size_t end) {
  const auto body = std::span(kernel.code).subspan(begin + 1, end - begin - 1);
  return !body.empty() && body.back().kind != Kind::barrier &&
         std::ranges::any_of(body, [](const Inst& inst) { return inst.kind == Kind::barrier; });
}

/// Where what begins with a loop, a branch or its other half is over.
size_t end_of(const KernelIr& kernel, size_t begin) {
  size_t depth = 0;
  for (size_t at = begin;; ++at) {
    const Kind kind = kernel.code[at].kind;
    if (kind == Kind::loop || kind == Kind::branch || at == begin) ++depth;
    if (kind == Kind::end && --depth == 0) return at;
    if (kind == Kind::otherwise && depth == 1 && at != begin) return at;
  }
}

class Rewriter {
 public:
  Rewriter(const KernelIr& kernel, const Lacks& lacks)
      : kernel_(kernel), lacks_(lacks), b_(kernel.name, kernel.threads), made_(kernel.code.size()) {
    b_.set_numbers(kernel.numbers);
    b_.set_resident(kernel.resident);
    if (kernel.subgroup > 0) b_.use_tiles(kernel.subgroup);
    for (const KernelBuffer& buffer : kernel.buffers)
      b_.add_buffer(is_missing(lacks, buffer.element) ? Scalar::u32 : buffer.element, buffer.is_written,
                    buffer.is_aliased);
    for (const KernelArray& array : kernel.shared)
      is_split(array.element) ? b_.add_shared(Scalar::u32, 2 * array.count) : b_.add_shared(array.element, array.count);
    for (const KernelArray& array : kernel.arrays)
      is_split(array.element) ? b_.add_array(Scalar::u32, 2 * array.count) : b_.add_array(array.element, array.count);
    components_.resize(kernel.code.size());
  }

  KernelIr rewritten() {
    part(0, kernel_.code.size());
    KernelIr done = b_.finish();
    done.may_fault = kernel_.may_fault;
    return done;
  }

 private:
  bool is_split(Scalar type) const { return lacks_.wide_integers && is_wide(type); }
  Scalar type_of(Id id) const { return kernel_.code[id].type; }
  bool is_split(Id id) const { return is_split(type_of(id)); }

  const Wide& wide(Id id) const { return made_[id]; }
  Id single(Id id) const { return made_[id].low; }
  /// The element of a buffer or an array, where 32 bits reach.
  Id index(Id id) const { return single(id); }

  // ---- control ----

  void part(size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) {
      const Inst& inst = kernel_.code[at];
      if (inst.kind == Kind::loop) {
        const size_t last = end_of(kernel_, at);
        b_.loop(
            single(inst.args[0]), single(inst.args[1]), single(inst.args[2]),
            [&](Id counter) {
              made_[at] = {counter};
              part(at + 1, last);
              if (lacks_.open_loops && is_open_loop(kernel_, at, last)) b_.barrier();
            },
            static_cast<Unroll>(inst.bits));
        at = last;
      } else if (inst.kind == Kind::branch) {
        at = branch(at, inst);
      } else {
        one(at, inst);
      }
    }
  }

  size_t branch(size_t at, const Inst& inst) {
    const size_t middle = end_of(kernel_, at);
    const auto body = [&] { part(at + 1, middle); };
    if (kernel_.code[middle].kind != Kind::otherwise) {
      b_.branch(single(inst.args[0]), body);
      return middle;
    }
    const size_t last = end_of(kernel_, middle);
    b_.branch(single(inst.args[0]), body, [&] { part(middle + 1, last); });
    return last;
  }

  // ---- memory ----

  Id word_and(Id x, uint32_t mask) { return b_.math(Op::bit_and, Scalar::u32, {x, b_.u32(mask)}); }
  Id shifted(Op op, Id x, Id count) {
    const auto known = b_.known(count);
    return known && *known == 0 ? x : b_.math(op, Scalar::u32, {x, count});
  }

  /// A number of words from one on.
  std::vector<Id> load_words(uint32_t buffer, Id first, uint32_t count, Id mask) {
    std::vector<Id> words;
    for (uint32_t done = 0; done < count; done += 8) {
      const auto width = static_cast<uint8_t>(std::min(count - done, 8u));
      Inst inst{.kind = Kind::load,
                .type = Scalar::u32,
                .width = width,
                .slot = buffer,
                .args = {b_.add(first, b_.u32(done))}};
      if (mask != kNoValue) inst.args.push_back(mask);
      const Id all = b_.append(std::move(inst));
      for (uint32_t i = 0; i < width; ++i)
        words.push_back(width == 1 ? all
                                   : b_.append({.kind = Kind::extract, .type = Scalar::u32, .slot = i, .args = {all}}));
    }
    return words;
  }
  void store_words(uint32_t buffer, Id first, std::span<const Id> words, Id mask) {
    for (size_t done = 0; done < words.size(); done += 8) {
      const size_t width = std::min<size_t>(words.size() - done, 8);
      Inst inst{.kind = Kind::store,
                .type = Scalar::u32,
                .width = static_cast<uint8_t>(width),
                .slot = buffer,
                .args = {b_.add(first, b_.u32(done))}};
      for (size_t i = 0; i < width; ++i) inst.args.push_back(words[done + i]);
      if (mask != kNoValue) inst.args.push_back(mask);
      b_.append(std::move(inst));
    }
  }

  /// Where elements of less than a word lie: elements from `index` on, which is a multiple of their number.
  struct Place {
    Id word = kNoValue;   // the first
    Id shift = kNoValue;  // of the first element in it, in bits
    uint32_t bits = 8;    // of an element
    uint32_t each() const { return 32 / bits; }
  };
  Place place_of(Scalar element, Id index, uint32_t width) {
    Place place;
    place.bits = static_cast<uint32_t>(8 * size_of(element));
    const uint32_t log = place.bits == 8 ? 2 : 1;
    if (b_.type_of(index) != Scalar::u32) index = b_.convert(index, Scalar::u32);
    if (const auto known = b_.known(index)) {
      place.word = b_.u32(static_cast<uint32_t>(*known) >> log);
      place.shift = b_.u32(*known % place.each() * place.bits);
      return place;
    }
    place.word = b_.math(Op::shr, Scalar::u32, {index, b_.u32(log)});
    place.shift = width >= place.each() ? b_.u32(0) : b_.mul(word_and(index, place.each() - 1), b_.u32(place.bits));
    return place;
  }

  void load(size_t at, const Inst& inst) {
    const Scalar element = kernel_.buffers[inst.slot].element;
    const Id mask = inst.args.size() > 1 ? single(inst.args[1]) : kNoValue;
    std::vector<Wide>& parts = components_[at];
    if (is_split(element)) {
      const std::vector<Id> words =
          load_words(inst.slot, b_.mul(index(inst.args[0]), b_.u32(2)), 2u * inst.width, mask);
      for (uint32_t i = 0; i < inst.width; ++i) parts.push_back({words[2 * i], words[2 * i + 1]});
    } else if (is_missing(lacks_, element)) {
      const Place place = place_of(element, index(inst.args[0]), inst.width);
      const std::vector<Id> words = load_words(inst.slot, place.word, std::max(1u, inst.width / place.each()), mask);
      for (uint32_t i = 0; i < inst.width; ++i) {
        const Id shift = b_.add(place.shift, b_.u32(i % place.each() * place.bits));
        const Id value = word_and(shifted(Op::shr, words[i / place.each()], shift), (1u << place.bits) - 1);
        parts.push_back({element == Scalar::boolean ? b_.is_not(b_.equal(value, b_.u32(0))) : value});
      }
    } else {
      return same(at, inst);
    }
    if (inst.width == 1) made_[at] = parts[0];
  }

  void store(size_t at, const Inst& inst) {
    const Scalar element = kernel_.buffers[inst.slot].element;
    const Id mask = inst.args.size() > size_t{inst.width} + 1 ? single(inst.args.back()) : kNoValue;
    if (is_split(element)) {
      std::vector<Id> words;
      for (uint32_t i = 0; i < inst.width; ++i) {
        words.push_back(wide(inst.args[i + 1]).low);
        words.push_back(wide(inst.args[i + 1]).high);
      }
      return store_words(inst.slot, b_.mul(index(inst.args[0]), b_.u32(2)), words, mask);
    }
    if (!is_missing(lacks_, element)) return same(at, inst);

    const Place place = place_of(element, index(inst.args[0]), inst.width);
    const uint32_t together = std::min<uint32_t>(inst.width, place.each());  // elements of a word
    std::vector<Id> words;
    for (uint32_t first = 0; first < inst.width; first += together) {
      Id word = b_.u32(0);
      for (uint32_t i = 0; i < together; ++i) {
        const Id value = element == Scalar::boolean
                             ? b_.convert(single(inst.args[first + i + 1]), Scalar::u32)
                             : word_and(single(inst.args[first + i + 1]), (1u << place.bits) - 1);
        const Id moved = shifted(Op::shl, value, b_.u32(i * place.bits));
        word = i == 0 ? moved : b_.math(Op::bit_or, Scalar::u32, {word, moved});
      }
      words.push_back(word);
    }
    if (together == place.each()) return store_words(inst.slot, place.word, words, mask);
    const uint32_t own = (1u << (together * place.bits)) - 1;
    const auto known = b_.known(place.shift);
    Inst made{.kind = Kind::store_bits, .type = Scalar::u32, .slot = inst.slot, .args = {place.word}};
    made.args.push_back(shifted(Op::shl, words[0], place.shift));
    made.args.push_back(known ? b_.u32(own << *known) : shifted(Op::shl, b_.u32(own), place.shift));
    if (mask != kNoValue) made.args.push_back(mask);
    b_.append(std::move(made));
  }

  /// The two words of an element of an array.
  std::array<Id, 2> halves_at(Id element) {
    const Id first = b_.mul(index(element), b_.u32(2));
    return {first, b_.add(first, b_.u32(1))};
  }

  // ---- values ----

  /// The same instruction with the operands as they are now.
  void same(size_t at, const Inst& inst) {
    Inst copy = inst;
    for (size_t i = 0; i < copy.args.size(); ++i) copy.args[i] = single(inst.args[i]);
    made_[at] = {b_.append(std::move(copy))};
  }

  void math(size_t at, const Inst& inst) {
    const Scalar from = type_of(inst.args.back());
    if (inst.op == Op::cast || inst.op == Op::bitcast) {
      if (is_split(from) && is_split(inst.type)) {
        made_[at] = wide(inst.args[0]);
      } else if (is_split(from) || is_split(inst.type)) {
        if (inst.op == Op::bitcast) return halves_of_f64(at, inst);
        made_[at] = is_split(from) ? Wide{narrow(b_, from, inst.type, wide(inst.args[0]))}
                                   : widen(b_, inst.type, single(inst.args[0]));
      } else {
        same(at, inst);
      }
    } else if (is_split(from)) {
      wide_op(at, inst, from);
    } else if (inst.type == from && lacks_function(lacks_, inst)) {
      std::vector<Id> args;
      for (const Id arg : inst.args) args.push_back(single(arg));
      made_[at] = {function(b_, inst.op, args, !lacks_.fused)};
    } else {
      same(at, inst);
    }
  }

  void halves_of_f64(size_t at, const Inst& inst) {
    if (inst.type == Scalar::f64)
      made_[at] = {b_.f64_of(wide(inst.args[0]).low, wide(inst.args[0]).high)};
    else
      made_[at] = {b_.f64_word(single(inst.args[0]), 0), b_.f64_word(single(inst.args[0]), 1)};
  }

  void wide_op(size_t at, const Inst& inst, Scalar from) {
    if (inst.op == Op::where) {
      made_[at] = wide_select(b_, single(inst.args[0]), wide(inst.args[1]), wide(inst.args[2]));
    } else if (inst.op == Op::less || inst.op == Op::equal) {
      made_[at] = {wide_compare(b_, inst.op, from, wide(inst.args[0]), wide(inst.args[1]))};
    } else {
      std::vector<Wide> args;
      for (const Id arg : inst.args) args.push_back(wide(arg));
      made_[at] = wide_math(b_, inst.op, from, args);
    }
  }

  /// What gives or takes a number of 64 bits, other than ops on them and memory.
  bool split(size_t at, const Inst& inst) {
    const auto number = [&](uint64_t half) {
      return b_.append({.kind = Kind::number, .type = Scalar::u32, .slot = inst.slot, .bits = half});
    };
    switch (inst.kind) {
      case Kind::constant: made_[at] = wide_constant(b_, inst.bits); return true;
      case Kind::number: made_[at] = {number(0), number(1)}; return true;
      case Kind::variable:
        made_[at] = {b_.variable(wide(inst.args[0]).low), b_.variable(wide(inst.args[0]).high)};
        return true;
      case Kind::get: made_[at] = {b_.get(wide(inst.args[0]).low), b_.get(wide(inst.args[0]).high)}; return true;
      case Kind::set:
        b_.set(wide(inst.args[0]).low, wide(inst.args[1]).low);
        b_.set(wide(inst.args[0]).high, wide(inst.args[1]).high);
        return true;
      case Kind::shared_load: {
        const Id first = b_.mul(index(inst.args[0]), b_.u32(2));
        std::vector<Wide>& parts = components_[at];
        for (uint32_t i = 0; i < inst.width; ++i) {
          const Id low = b_.add(first, b_.u32(2 * i)), high = b_.add(first, b_.u32(2 * i + 1));
          parts.push_back({b_.shared_load(inst.slot, low), b_.shared_load(inst.slot, high)});
        }
        if (inst.width == 1) made_[at] = parts[0];
        return true;
      }
      case Kind::array_load: {
        const auto [low, high] = halves_at(inst.args[0]);
        made_[at] = {b_.array_load(inst.slot, low), b_.array_load(inst.slot, high)};
        return true;
      }
      case Kind::shared_store: {
        const Id first = b_.mul(index(inst.args[0]), b_.u32(2));
        for (uint32_t i = 0; i < inst.width; ++i) {
          b_.shared_store(inst.slot, b_.add(first, b_.u32(2 * i)), wide(inst.args[1 + i]).low);
          b_.shared_store(inst.slot, b_.add(first, b_.u32(2 * i + 1)), wide(inst.args[1 + i]).high);
        }
        return true;
      }
      case Kind::array_store: {
        const auto [low, high] = halves_at(inst.args[0]);
        b_.array_store(inst.slot, low, wide(inst.args[1]).low);
        b_.array_store(inst.slot, high, wide(inst.args[1]).high);
        return true;
      }
      default: return false;
    }
  }

  void one(size_t at, const Inst& inst) {
    switch (inst.kind) {
      case Kind::math: return math(at, inst);
      case Kind::load: return load(at, inst);
      case Kind::store: return store(at, inst);
      case Kind::extract:
        if (components_[inst.args[0]].empty()) return same(at, inst);
        made_[at] = components_[inst.args[0]][inst.slot];
        return;
      case Kind::pack_bf16:
        if (!lacks_.pack_bf16) return same(at, inst);
        made_[at] = {pack_bf16_by_bits(b_, single(inst.args[0]))};
        return;
      case Kind::larger:
        if (!lacks_.larger) return same(at, inst);
        made_[at] = {larger_by_choice(b_, single(inst.args[0]), single(inst.args[1]))};
        return;
      case Kind::fault_if: {
        if (!is_split(inst.args[1])) return same(at, inst);
        Inst made = inst;
        const Wide& bad = wide(inst.args[1]);
        made.args = {single(inst.args[0]), bad.low, bad.high};
        b_.append(std::move(made));
        return;
      }
      default: break;
    }
    const Scalar type = gives_value(inst.kind) || inst.args.empty() ? inst.type : type_of(inst.args.back());
    if (!is_split(type) || !split(at, inst)) same(at, inst);
  }

  const KernelIr& kernel_;
  const Lacks& lacks_;
  Builder b_;
  std::vector<Wide> made_;                     // what each value is now; the upper word of numbers of 64 bits alone
  std::vector<std::vector<Wide>> components_;  // of a load that is written anew
};

bool holds(const KernelIr& kernel, Scalar type) {
  const auto is_it = [&](const auto& memory) { return memory.element == type; };
  return std::ranges::any_of(kernel.buffers, is_it) || std::ranges::any_of(kernel.shared, is_it) ||
         std::ranges::any_of(kernel.arrays, is_it) || std::ranges::any_of(kernel.code, [&](const Inst& inst) {
           return inst.type == type && inst.kind != Kind::barrier && inst.kind != Kind::end;
         });
}

bool needs_it(const KernelIr& kernel, const Lacks& lacks) {
  for (const Scalar type : {Scalar::i64, Scalar::u64}) {
    if (lacks.wide_integers && holds(kernel, type)) return true;
  }
  if (lacks.open_loops) {
    for (size_t at = 0; at < kernel.code.size(); ++at) {
      if (kernel.code[at].kind == Kind::loop && is_open_loop(kernel, at, end_of(kernel, at))) return true;
    }
  }
  const auto is_narrow = [&](const KernelBuffer& buffer) { return is_missing(lacks, buffer.element); };
  const auto calls = [&](const Inst& inst) {
    if ((lacks.pack_bf16 && inst.kind == Kind::pack_bf16) || (lacks.larger && inst.kind == Kind::larger)) return true;
    return inst.kind == Kind::math && lacks_function(lacks, inst);
  };
  return std::ranges::any_of(kernel.buffers, is_narrow) || std::ranges::any_of(kernel.code, calls);
}

}  // namespace

KernelIr legalise(const KernelIr& kernel, const Lacks& lacks) {
  if (lacks.f64 && holds(kernel, Scalar::f64))
    base::fail("codegen", "kernel {} computes in f64, which this device lacks", kernel.name);
  if (!needs_it(kernel, lacks)) return kernel;
  return Rewriter(kernel, lacks).rewritten();
}

}  // namespace tenon::codegen
