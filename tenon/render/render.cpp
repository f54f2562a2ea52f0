// The printer of all languages: a kernel's instructions, one line each, by the tables of spelling.h.

#include "tenon/render/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/codegen/functions.h"
#include "tenon/render/memory.h"

namespace tenon::render {
namespace {

using codegen::FaultWords;
using codegen::Id;
using Kind = Inst::Kind;

const Spelling& spelling_of(Language language) {
  switch (language) {
    case Language::opencl: return kOpencl;
    case Language::cuda: return kCuda;
    case Language::glsl: return kGlsl;
    case Language::wgsl: return kWgsl;
  }
  base::fail("render", "no language has the number {}", static_cast<int>(language));
}

Scalar unsigned_of(Scalar type) { return codegen::size_of(type) == 8 ? Scalar::u64 : Scalar::u32; }

// Of a load or a store.
bool has_mask(const Inst& inst) { return inst.args.size() == (inst.kind == Kind::load ? 2 : size_t{inst.width} + 2); }

/// The launch's numbers have 64 bits; where a language has no such type, their lower halves still serve.
bool is_low_half(const KernelIr& kernel, const Inst& inst) {
  return inst.kind == Kind::math && inst.op == ir::Op::cast && inst.type == Scalar::u32 &&
         kernel.code[inst.args[0]].kind == Kind::number && kernel.code[inst.args[0]].type == Scalar::u64;
}

bool is_odd_float(const Inst& inst) {
  return inst.kind == Kind::constant && codegen::is_float(inst.type) &&
         float_literal(inst.type, std::bit_cast<double>(inst.bits), "").empty();
}

/// How two of the values of a store become one word: empty where they are not all floats of 16 bits, or the language
/// has no way to pack two at once.
std::string_view pair_text(const KernelIr& kernel, const Inst& store, const Spelling& spelling) {
  if (store.width % 2 != 0 || kernel.buffers[store.slot].element != Scalar::u16) return {};
  const Kind kind = kernel.code[store.args[1]].kind;
  for (size_t i = 1; i <= store.width; ++i) {
    if (kernel.code[store.args[i]].kind != kind) return {};
  }
  if (kind == Kind::pack_half) return spelling.texts.pair_of_halves;
  return kind == Kind::pack_bf16 ? spelling.texts.pair_of_bf16 : std::string_view{};
}

Uses uses_of(const KernelIr& kernel, const Spelling& spelling) {
  Uses uses;
  uses.widths.resize(kernel.buffers.size());
  uses.shared_widths.resize(kernel.shared.size(), 1);
  uses.whole_numbers.resize(kernel.numbers);
  uses.stores_bits.resize(kernel.buffers.size());
  std::vector<bool> is_loaded(kernel.buffers.size());
  bool has_barrier = false;
  for (const Inst& inst : kernel.code) {
    switch (inst.kind) {
      case Kind::load:
        is_loaded[inst.slot] = true;
        uses.widths[inst.slot] |= inst.width;
        break;
      case Kind::store:
        uses.widths[inst.slot] |= inst.width;
        uses.pairs |= !pair_text(kernel, inst, spelling).empty();
        break;
      case Kind::shared_load:
      case Kind::shared_store:
        uses.shared_widths[inst.slot] = std::max<uint32_t>(uses.shared_widths[inst.slot], inst.width);
        break;
      case Kind::tile_load:
      case Kind::tile_store: uses.shared_widths[inst.slot] = 4; [[fallthrough]];
      case Kind::tile_zero: uses.tiles = true; break;
      case Kind::store_bits:
        uses.widths[inst.slot] |= 1;
        uses.stores_bits[inst.slot] = true;
        break;
      case Kind::mul_high: uses.mul_high = true; break;
      case Kind::pack_half: uses.pack_half = true; break;
      case Kind::unpack_half: uses.unpack_half = true; break;
      case Kind::pack_bf16: uses.pack_bf16 = true; break;
      case Kind::larger: uses.larger = true; break;
      case Kind::exp2: uses.exp2 = true; break;
      case Kind::reciprocal: uses.reciprocal = true; break;
      case Kind::tile_pack: uses.tile_packs = true; break;
      case Kind::philox: uses.philox = true; break;
      case Kind::shuffle: uses.shuffle = true; break;
      case Kind::loop: uses.unroll |= static_cast<codegen::Unroll>(inst.bits) != codegen::Unroll::maybe; break;
      case Kind::barrier: has_barrier = true; break;
      default: break;
    }
    uses.odd_floats |= is_odd_float(inst);
    if (codegen::gives_value(inst.kind) && (inst.kind != Kind::number || inst.type == Scalar::u32))
      uses.values[static_cast<size_t>(widened(inst.type))] = true;
    for (const Id arg : inst.args) {
      const Inst& number = kernel.code[arg];
      if (number.kind != Kind::number || number.type == Scalar::u32 || is_low_half(kernel, inst)) continue;
      uses.whole_numbers[kernel.code[arg].slot] = true;
      uses.values[static_cast<size_t>(Scalar::u64)] = true;
    }
  }
  const bool writes = std::ranges::any_of(kernel.buffers, &codegen::KernelBuffer::is_written);
  for (size_t i = 0; has_barrier && i < kernel.buffers.size(); ++i)
    uses.meets_memory |= is_loaded[i] && (kernel.buffers[i].is_written || (kernel.buffers[i].is_aliased && writes));
  return uses;
}

class Printer {
 public:
  Printer(const KernelIr& kernel, const Uses& uses, const Spelling& spelling)
      : kernel_(kernel), uses_(uses), spelling_(spelling), texts_(spelling.texts), names_(kernel.code.size()) {}

  std::string body() {
    for (at_ = 0; at_ < kernel_.code.size(); ++at_) {
      print(kernel_.code[at_]);
      if (names_[at_] == name()) ++named_;
    }
    return std::move(body_);
  }

 private:
  const Inst& inst(Id id) const { return kernel_.code[id]; }
  Scalar type_of(Id id) const { return widened(inst(id).type); }
  /// Of the value at hand. Values are numbered as they are printed: constants are not, and kernels that differ by how
  /// many there are have one text.
  std::string name() const { return fmt::format("v{}", named_); }
  std::string_view type_name(Scalar type) const { return value_name(spelling_, type); }

  std::vector<std::string> operands(const Inst& inst) const {
    std::vector<std::string> texts;
    for (const Id arg : inst.args) texts.push_back(names_[arg]);
    return texts;
  }

  void line(std::string_view text) {
    if (!text.empty()) body_ += fmt::format("{:{}}{}\n", "", 2 * depth_, text);
  }
  /// Declares the value of the instruction at hand.
  void declare(const std::string& type, std::string what) {
    names_[at_] = name();
    line(fill(texts_.value, std::vector{type, name(), std::move(what)}));
  }
  void value(Scalar type, std::string what) {
    const std::string_view mark = codegen::is_float(type) ? texts_.float_mark : "";
    declare(fmt::format("{}{}", mark, type_name(type)), std::move(what));
  }
  void value(const Inst& inst, std::string_view text) { value(widened(inst.type), fill(text, operands(inst))); }

  std::string cast(Scalar to, std::string_view what) const {
    return fill(texts_.cast, std::vector<std::string>{std::string(type_name(to)), std::string(what)});
  }

  /// A number that is a multiple of `width`, divided by it; empty where that cannot be told from how it was made.
  /// Compilers cannot tell at all, as numbers wrap.
  std::string quotient_of(Id id, int32_t width, int depth = 0) const {
    constexpr int kDeepest = 5;
    const Inst& made = inst(id);
    if (made.type != Scalar::u32 || depth > kDeepest) return {};
    if (made.kind == Kind::constant) {
      const auto number = static_cast<int32_t>(made.bits);
      return number % width == 0 ? spelling_.constant(Scalar::u32, static_cast<uint32_t>(number / width)) : "";
    }
    if (made.kind != Kind::math || (made.op != ir::Op::mul && made.op != ir::Op::add)) return {};
    const std::string first = quotient_of(made.args[0], width, depth + 1);
    if (made.op == ir::Op::mul && !first.empty()) return fmt::format("({}) * {}", first, names_[made.args[1]]);
    const std::string second = quotient_of(made.args[1], width, depth + 1);
    if (second.empty()) return {};
    if (made.op == ir::Op::mul && second == "1u") return names_[made.args[0]];
    if (made.op == ir::Op::mul) return fmt::format("{} * ({})", names_[made.args[0]], second);
    return first.empty() ? "" : fmt::format("{} + {}", first, second);
  }
  /// A place in elements, counted in vectors.
  std::string in_vectors(Id id, uint32_t width) const {
    const std::string quotient = quotient_of(id, static_cast<int32_t>(width));
    if (!quotient.empty()) return quotient;
    return type_of(id) == Scalar::u32 ? fmt::format("{} / {}u", names_[id], width)
                                      : fmt::format("{} / {}u", cast(Scalar::u32, names_[id]), width);
  }
  std::string index_of(const Inst& inst) const {
    const bool is_vector = spelling_.has_vector_arrays && inst.width > 1;
    return is_vector ? in_vectors(inst.args[0], vector_width(kernel_.buffers[inst.slot].element, inst.width))
                     : names_[inst.args[0]];
  }

  bool is_shader() const { return spelling_.language == Language::glsl || spelling_.language == Language::wgsl; }

  void print_math(const Inst& inst) {
    const Scalar from = type_of(inst.args.back()), to = inst.type;
    if (is_shader() && is_low_half(kernel_, inst))
      return value(to, fmt::format("arguments.n{}.x", this->inst(inst.args[0]).slot));
    const std::string& x = names_[inst.args[0]];
    if (inst.op == ir::Op::cast || inst.op == ir::Op::bitcast) {
      if (from == to) return value(to, x);
      if (inst.op == ir::Op::bitcast) return value(to, spelling_.bitcast(from, to, x));
      if (to == Scalar::boolean) return value(to, fmt::format("{} != {}", x, spelling_.constant(from, 0)));
      return value(to, cast(to, x));
    }
    const bool is_integer = from != Scalar::boolean && !codegen::is_float(from);
    value(to, fill(text_of(inst.op, from, spelling_), math_operands(inst), type_name(from),
                   is_integer ? type_name(unsigned_of(from)) : "", from == Scalar::f32 ? spelling_.f32_ending : ""));
  }

  /// WGSL computes while compiling what is made of constants alone, and refuses it where it overflows: there the first
  /// of them becomes a variable.
  std::vector<std::string> math_operands(const Inst& inst) {
    std::vector<std::string> texts = operands(inst);
    const bool is_known =
        std::ranges::all_of(inst.args, [&](Id arg) { return this->inst(arg).kind == Kind::constant; });
    if (spelling_.language == Language::wgsl && is_known) {
      const std::string variable = name() + "c";
      line(fill(texts_.variable, std::vector{std::string(type_name(type_of(inst.args[0]))), variable, texts[0]}));
      texts[0] = variable;
    }
    return texts;
  }

  void print_number(const Inst& inst) {
    if (inst.type == Scalar::u32) {
      const bool is_low = inst.bits == 0;
      if (is_shader()) return value(Scalar::u32, fmt::format("arguments.n{}.{}", inst.slot, is_low ? 'x' : 'y'));
      return value(Scalar::u32,
                   cast(Scalar::u32, is_low ? fmt::format("n{}", inst.slot) : fmt::format("(n{} >> 32)", inst.slot)));
    }
    if (!is_shader()) return value(Scalar::u64, fmt::format("n{}", inst.slot));
    if (uses_.whole_numbers[inst.slot]) value(Scalar::u64, fmt::format("packUint2x32(arguments.n{})", inst.slot));
  }

  void print_shuffle(const Inst& inst) {
    std::string bits = names_[inst.args[0]];
    if (inst.type != Scalar::u32) bits = spelling_.bitcast(inst.type, Scalar::u32, bits);
    const std::string got = fill(texts_.shuffle, std::vector{bits, fmt::format("{}u", inst.bits)});
    value(inst.type, inst.type == Scalar::u32 ? got : spelling_.bitcast(Scalar::u32, inst.type, got));
  }

  void print_load(const Inst& inst) {
    const Scalar element = kernel_.buffers[inst.slot].element;
    const std::string index = index_of(inst);
    const std::string type =
        inst.width == 1 ? std::string(type_name(widened(element))) : spelling_.several(element, inst.width);
    const std::string loaded = spelling_.load(kernel_, uses_, inst, index);
    if (!has_mask(inst)) return inst.width == 1 ? value(widened(element), loaded) : declare(type, loaded);
    // A variable, so that a vector needs no operator that chooses between vectors.
    names_[at_] = name();
    const std::string zero =
        inst.width == 1 ? spelling_.constant(widened(element), 0) : spelling_.zeros(element, inst.width);
    line(fill(texts_.variable, std::vector{type, name(), zero}));
    line(fmt::format("if ({}) {{ {} = {}; }}", names_[inst.args[1]], name(), loaded));
  }

  void print_store(const Inst& inst) {
    std::vector<std::string> values;
    if (const std::string_view pair = pair_text(kernel_, inst, spelling_); !pair.empty()) {
      const auto unpacked = [&](size_t i) { return names_[kernel_.code[inst.args[i]].args[0]]; };
      for (size_t i = 1; i <= inst.width; i += 2)
        values.push_back(fill(pair, std::vector{unpacked(i), unpacked(i + 1)}));
    } else {
      for (size_t i = 1; i <= inst.width; ++i) values.push_back(names_[inst.args[i]]);
    }
    const std::string stored = spelling_.store(kernel_, uses_, inst, index_of(inst), values);
    line(has_mask(inst) ? fmt::format("if ({}) {{ {} }}", names_[inst.args.back()], stored) : stored);
  }

  /// Several elements of a shared array: as one vector, or one by one where the language has no way to say so.
  void print_shared_vector(const Inst& inst) {
    const Scalar element = kernel_.shared[inst.slot].element;
    const std::string& index = names_[inst.args[0]];
    const std::string type = spelling_.several(element, inst.width);
    const bool is_load = inst.kind == Kind::shared_load;
    std::string all;
    for (uint32_t i = 0; i < inst.width; ++i)
      all += (i == 0 ? "" : ", ") + (is_load ? shared_place(inst.slot, index, i) : names_[inst.args[1 + i]]);
    const std::string composed = spelling_.language == Language::opencl ? fmt::format("({})({})", type, all)
                                 : spelling_.language == Language::cuda ? fmt::format("{}{{{}}}", type, all)
                                                                        : fmt::format("{}({})", type, all);
    std::string place;
    if (!texts_.shared_vector.empty())
      place = fill(texts_.shared_vector, std::vector{type, fmt::format("s{} + {}", inst.slot, index)});
    else if (spelling_.has_vector_arrays && uses_.shared_widths[inst.slot] == inst.width)
      place = fmt::format("s{}[{}]", inst.slot, in_vectors(inst.args[0], inst.width));
    if (is_load) return declare(type, place.empty() ? composed : place);
    if (!place.empty()) return line(fmt::format("{} = {};", place, composed));
    for (uint32_t i = 0; i < inst.width; ++i)
      line(fmt::format("{} = {};", shared_place(inst.slot, index, i), names_[inst.args[1 + i]]));
  }
  /// Element `index` + `i` of a shared array.
  std::string shared_place(uint32_t slot, std::string_view index, uint32_t i) const {
    const std::string at = i == 0 ? std::string(index) : fmt::format("{} + {}u", index, i);
    const uint32_t width = uses_.shared_widths[slot];
    if (!spelling_.has_vector_arrays || width == 1) return fmt::format("s{}[{}]", slot, at);
    return fmt::format("s{}[({}) / {}u][({}) % {}u]", slot, at, width, at, width);
  }

  void print_tile(const Inst& inst) {
    if (!spelling_.tile) base::fail("render", "{} has no matrix tiles (kernel {})", spelling_.name, kernel_.name);
    if (codegen::gives_value(inst.kind)) names_[at_] = name();
    std::vector<std::string> all = operands(inst);
    if (spelling_.has_vector_arrays && (inst.kind == Kind::tile_load || inst.kind == Kind::tile_store)) {
      // Vectors of 16 bytes: of words, or of halves.
      const size_t at = inst.kind == Kind::tile_load ? 0 : 1;
      const uint32_t elements = inst.kind == Kind::tile_load ? 8 : 4;
      all[at] = in_vectors(inst.args[at], elements);
      all[at + 1] = in_vectors(inst.args[at + 1], elements);
    }
    line(spelling_.tile(kernel_, inst, name(), all));
  }

  void print_bits(const Inst& inst) {
    const std::string place = spelling_.place(kernel_, inst, names_[inst.args[0]]);
    const std::string stored = fill(texts_.store_bits, std::vector{place, names_[inst.args[1]], names_[inst.args[2]]});
    line(inst.args.size() == 4 ? fmt::format("if ({}) {{ {} }}", names_[inst.args[3]], stored) : stored);
  }

  void print_array(const Inst& inst) {
    if (inst.width > 1) return print_shared_vector(inst);
    const bool is_shared = inst.kind == Kind::shared_load || inst.kind == Kind::shared_store;
    const Scalar element = (is_shared ? kernel_.shared : kernel_.arrays)[inst.slot].element;
    const std::string place = is_shared ? shared_place(inst.slot, names_[inst.args[0]], 0)
                                        : fmt::format("a{}[{}]", inst.slot, names_[inst.args[0]]);
    const bool is_packed = spelling_.are_arrays_packed;
    if (inst.kind == Kind::shared_load || inst.kind == Kind::array_load) {
      const Scalar to = widened(element);
      if (!is_packed || (element == to && element != Scalar::boolean)) return value(to, place);
      return value(to, element == Scalar::boolean ? place + " != 0" : cast(to, place));
    }
    const std::string& what = names_[inst.args[1]];
    const bool is_narrow = is_packed && codegen::size_of(element) < 4;
    line(fmt::format(
        "{} = {};", place,
        is_narrow ? fill(texts_.cast, std::vector<std::string>{std::string(at(spelling_.elements, element)), what})
                  : what));
  }

  void print_fault(const Inst& inst) {
    const std::string& index = names_[inst.args[1]];
    const bool is_whole = inst.args.size() == 2;
    const std::string high_half = is_whole ? fill("(" + std::string(text_of(ir::Op::shr, Scalar::i64, spelling_)) + ")",
                                                  std::vector{index, spelling_.constant(Scalar::i64, 32)})
                                           : names_[inst.args[2]];
    line(fmt::format("if ({}) {{", names_[inst.args[0]]));
    ++depth_;
    line(fmt::format("if ({}) {{", texts_.is_first_fault));
    ++depth_;
    const auto word = [&](uint32_t number, const std::string& what) {
      line(fill(texts_.fault_word, std::vector{fmt::format("{}", number), what}));
    };
    const auto constant = [&](uint64_t bits) { return spelling_.constant(Scalar::i32, static_cast<uint32_t>(bits)); };
    word(FaultWords::kOp, constant(static_cast<uint64_t>(inst.op)));
    word(FaultWords::kAxis, constant(inst.slot));
    word(FaultWords::kIndex, cast(Scalar::i32, index));
    word(FaultWords::kIndex + 1, cast(Scalar::i32, high_half));
    word(FaultWords::kSize, constant(inst.bits));
    word(FaultWords::kSize + 1, constant(inst.bits >> 32));
    if (inst.use != ir::LookUp::of_op) word(FaultWords::kUse, constant(static_cast<uint64_t>(inst.use)));
    --depth_;
    line("}");
    --depth_;
    line("}");
  }

  void print(const Inst& inst) {
    switch (inst.kind) {
      case Kind::constant: names_[at_] = spelling_.constant(inst.type, inst.bits); return;
      case Kind::number: return print_number(inst);
      case Kind::thread: return value(inst, texts_.thread);
      case Kind::block: return value(inst, texts_.block[inst.slot]);
      case Kind::math: return print_math(inst);
      case Kind::fma:
        return value(inst.type,
                     fill(texts_.fma, operands(inst), "", "", inst.type == Scalar::f32 ? spelling_.f32_ending : ""));
      case Kind::mul_high: return value(inst, texts_.mul_high);
      case Kind::pack_half: return value(inst, texts_.pack_half);
      case Kind::unpack_half: return value(inst, texts_.unpack_half);
      case Kind::pack_bf16: return value(inst, texts_.pack_bf16);
      case Kind::larger: return value(inst, texts_.larger);
      case Kind::exp2: return value(inst, texts_.exp2);
      case Kind::reciprocal: return value(inst, texts_.reciprocal);
      case Kind::saturate: return value(inst, texts_.saturate);
      case Kind::f64_word:
        return value(Scalar::u32,
                     fill(texts_.f64_word, std::vector{names_[inst.args[0]], fmt::format("{}", inst.slot)}));
      case Kind::f64_of: return value(inst, texts_.f64_of);
      case Kind::philox: return declare(spelling_.several(Scalar::u32, 4), fill(texts_.philox, operands(inst)));
      case Kind::extract: {
        const Inst& whole = this->inst(inst.args[0]);
        const Scalar element = whole.kind == Kind::load ? kernel_.buffers[whole.slot].element : whole.type;
        return value(widened(element), spelling_.component(element, names_[inst.args[0]], inst.slot));
      }
      case Kind::shuffle: return print_shuffle(inst);
      case Kind::load: return print_load(inst);
      case Kind::store: return print_store(inst);
      case Kind::store_bits: return print_bits(inst);
      case Kind::shared_load:
      case Kind::shared_store:
      case Kind::array_load:
      case Kind::array_store: return print_array(inst);
      case Kind::variable: {
        names_[at_] = name();
        const std::string type{type_name(type_of(inst.args[0]))};
        return line(fill(texts_.variable, std::vector{type, name(), names_[inst.args[0]]}));
      }
      case Kind::get: return value(inst.type, names_[inst.args[0]]);
      case Kind::set: return line(fmt::format("{} = {};", names_[inst.args[0]], names_[inst.args[1]]));
      case Kind::barrier: return line(uses_.meets_memory ? texts_.barrier_everywhere : texts_.barrier);
      case Kind::loop:
        names_[at_] = name();
        if (inst.bits == static_cast<uint64_t>(codegen::Unroll::always)) line(texts_.unroll);
        if (inst.bits == static_cast<uint64_t>(codegen::Unroll::never)) line(texts_.keep_loop);
        line(fill(texts_.loop, std::vector{name(), names_[inst.args[0]], names_[inst.args[1]], names_[inst.args[2]]}));
        ++depth_;
        return;
      case Kind::branch:
        line(fmt::format("if ({}) {{", names_[inst.args[0]]));
        ++depth_;
        return;
      case Kind::otherwise:
        --depth_;
        line("} else {");
        ++depth_;
        return;
      case Kind::end: --depth_; return line("}");
      case Kind::leave_if: return line(fmt::format("if ({}) {{ return; }}", names_[inst.args[0]]));
      case Kind::fault_if: return print_fault(inst);
      case Kind::tile_zero:
      case Kind::tile_load:
      case Kind::tile_mma:
      case Kind::tile_store:
      case Kind::tile_get:
      case Kind::tile_set:
      case Kind::tile_pack: return print_tile(inst);
    }
  }

  const KernelIr& kernel_;
  const Uses& uses_;
  const Spelling& spelling_;
  const Texts& texts_;
  std::vector<std::string> names_;  // how each value is written where it is used
  std::string body_;
  Id at_ = 0;
  uint32_t named_ = 0;  // values until now
  int depth_ = 1;
};

}  // namespace

std::string fill(std::string_view text, std::span<const std::string> operands, std::string_view type,
                 std::string_view unsigned_type, std::string_view ending) {
  std::string filled;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      filled += text[i];
      continue;
    }
    const char what = text[++i];
    if (what == 'T') {
      filled += type;
    } else if (what == 'U') {
      filled += unsigned_type;
    } else if (what == 'f') {
      filled += ending;
    } else {
      filled += operands[static_cast<size_t>(what - '0')];
    }
  }
  return filled;
}

std::string_view value_name(const Spelling& spelling, Scalar type) {
  const std::string_view text = at(spelling.values, type);
  if (text.empty()) base::fail("render", "{} has no {}", spelling.name, codegen::name(type));
  return text;
}
std::string_view element_name(const Spelling& spelling, Scalar type) {
  const std::string_view text = at(spelling.elements, type);
  if (text.empty()) base::fail("render", "{} has no {} in buffers", spelling.name, codegen::name(type));
  return text;
}
std::string_view array_name(const Spelling& spelling, Scalar type) {
  return spelling.are_arrays_packed ? element_name(spelling, type) : value_name(spelling, widened(type));
}

std::string integer_literal(Scalar type, uint64_t bits, const LiteralEndings& endings) {
  switch (type) {
    case Scalar::boolean: return bits != 0 ? "true" : "false";
    case Scalar::u32: return fmt::format("{}{}", static_cast<uint32_t>(bits), endings.u32);
    case Scalar::u64: return fmt::format("{}{}", bits, endings.u64);
    case Scalar::i32:
    case Scalar::i64: {
      const int64_t value = type == Scalar::i32 ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
      const std::string_view ending = type == Scalar::i32 ? endings.i32 : endings.i64;
      const int64_t lowest =
          type == Scalar::i32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
      // A minus is an operator on a literal, and the literal of the lowest number would be too large.
      if (value == lowest) return fmt::format("({}{} - 1{})", value + 1, ending, ending);
      return value < 0 ? fmt::format("({}{})", value, ending) : fmt::format("{}{}", value, ending);
    }
    default: base::fail("render", "a constant has no type {}", codegen::name(type));
  }
}

std::string float_literal(Scalar type, double value, std::string_view f32_ending) {
  if (type == Scalar::f32) value = static_cast<float>(value);
  if (!std::isfinite(value) || (value == 0 && std::signbit(value))) return "";
  const std::string_view ending = type == Scalar::f32 ? f32_ending : "";
  const bool is_short = std::trunc(value) == value && std::abs(value) < 1e6;
  const std::string text =
      is_short ? fmt::format("{}.0{}", static_cast<int64_t>(value), ending) : fmt::format("{:a}{}", value, ending);
  return value < 0 ? "(" + text + ")" : text;
}

uint64_t float_bits(Scalar type, double value) {
  return type == Scalar::f32 ? std::bit_cast<uint32_t>(static_cast<float>(value)) : std::bit_cast<uint64_t>(value);
}

codegen::Lacks lacks_of(Language language) {
  using ir::Op;
  codegen::Lacks lacks;
  if (language == Language::cuda) return lacks;
  lacks.pack_bf16 = lacks.larger = true;  // chips of NVIDIA may have them in OpenCL too
  if (language == Language::opencl) {
    lacks.functions = {Op::pow};  // may miss by 16 units: 2^16 is 65535.996 on some
    return lacks;
  }
  lacks.fused = true;
  // Shaders have sine, cosine, logarithm and power, but promise little of their last places.
  for (size_t i = 0; i < ir::op_table().size(); ++i) {
    const auto op = static_cast<Op>(i);
    if (!codegen::is_function(op)) continue;
    lacks.f64_functions.insert(op);
    if (op != Op::exp && op != Op::log && op != Op::tanh) lacks.functions.insert(op);
  }
  if (language == Language::wgsl) lacks.wide_integers = lacks.bytes = lacks.halves = lacks.f64 = true;
  return lacks;
}

std::string render(const KernelIr& kernel, Language language) {
  const Spelling& spelling = spelling_of(language);
  const Uses uses = uses_of(kernel, spelling);
  const std::string body = Printer(kernel, uses, spelling).body();
  return spelling.file(kernel, uses, body);
}

}  // namespace tenon::render
