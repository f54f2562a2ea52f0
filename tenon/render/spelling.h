// What differs between the languages: one table each, filled by opencl.cpp, cuda.cpp, glsl.cpp and wgsl.cpp.
//
// A text of a table has places for what it is about: $0, $1, ... are operands, $T is the name of their type, $U that of
// the unsigned integer of the same size, $f the ending of functions on f32. Operands are names and literals, so that no
// text needs parentheses around them.

#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/render/render.h"

namespace tenon::render {

using codegen::Inst;
using codegen::KernelIr;
using codegen::Scalar;

/// One text for each Scalar; an empty one is a type that the language lacks.
using TypeNames = std::array<std::string_view, 9>;

/// What a kernel asks of its language.
struct Uses {
  std::array<bool, 9> values{};         // types that values have
  std::vector<uint32_t> widths;         // of each buffer: the sum of the widths of its loads and stores, each once
  std::vector<uint32_t> shared_widths;  // of each shared array: the widest of its loads and stores
  std::vector<bool> whole_numbers;      // for each of the launch's: whether more is read than its lower half as u32
  std::vector<bool> stores_bits;        // of each buffer: whether threads share its words
  bool mul_high = false, pack_half = false, unpack_half = false, philox = false, shuffle = false, unroll = false;
  bool tiles = false, tile_packs = false, exp2 = false, reciprocal = false, pack_bf16 = false, larger = false;
  bool pairs = false;         // 16-bit floats that are stored by twos, where the language packs two at once
  bool odd_floats = false;    // constants that float_literal does not write
  bool meets_memory = false;  // threads of a block meet in a buffer, not in shared memory alone

  bool has(Scalar type) const { return values[static_cast<size_t>(type)]; }
};

/// Instructions that are one text of their operands.
struct Texts {
  std::string_view pair_of_halves, pair_of_bf16;  // $0 becomes the lower half; empty: there is none
  std::string_view fma, exp2, reciprocal, saturate, mul_high, pack_half, unpack_half, pack_bf16, larger, philox;
  std::string_view f64_word;  // $0: an f64, $1: which half of its bits
  std::string_view f64_of;    // $0: the lower half, $1: the upper one
  std::string_view shuffle;   // $0: a u32, $1: the distance
  std::string_view thread;
  std::array<std::string_view, 3> block;
  std::string_view cast;               // $0: the type, $1: the value
  std::string_view value;              // $0: type, $1: name, $2: what
  std::string_view float_mark;         // before the type of a float value: what keeps the compiler from contracting
  std::string_view variable;           // the same, of what can be set again
  std::string_view loop;               // $0: the counter, $1 to $3: begin, end, step
  std::string_view unroll, keep_loop;  // a line before a loop; empty: there is none
  std::string_view barrier, barrier_everywhere;
  std::string_view shared_vector;   // several elements of a shared array as one: $0: their type, $1: where they begin
  std::string_view store_bits;      // $0: the word, $1: the bits, $2: which
  std::string_view is_first_fault;  // whether this thread found the fault words unset; sets them
  std::string_view fault_word;      // $0 of them becomes $1
};

struct Spelling {
  Language language;
  std::string_view name;
  TypeNames values;
  TypeNames elements;      // of buffers
  bool are_arrays_packed;  // whether shared and private arrays hold elements as buffers do, not values
  bool has_vector_arrays;  // whether an array that is read in vectors is one of vectors, and places count those
  std::string_view f32_ending;
  Texts texts;
  std::string (*constant)(Scalar type, uint64_t bits);
  std::string (*bitcast)(Scalar from, Scalar to, std::string_view value);
  /// The type of a value of several components, which come from memory of this element type.
  std::string (*several)(Scalar element, uint32_t width);
  std::string (*zeros)(Scalar element, uint32_t width);
  /// Component `i` of such a value, as a plain value.
  std::string (*component)(Scalar element, std::string_view value, uint32_t i);
  /// Element `index` of the buffer of a load or a store.
  std::string (*place)(const KernelIr& kernel, const Inst& inst, std::string_view index);
  /// What a load of elements from `index` on is, before masks.
  std::string (*load)(const KernelIr& kernel, const Uses& uses, const Inst& inst, std::string_view index);
  /// Statements that store. Half as many values as elements: words of two elements each.
  std::string (*store)(const KernelIr& kernel, const Uses& uses, const Inst& inst, std::string_view index,
                       std::span<const std::string> values);
  /// Statements of a matrix tile's instruction, whose value, if it gives one, has this name; null: the language has no
  /// tiles.
  std::string (*tile)(const KernelIr& kernel, const Inst& inst, std::string_view value,
                      std::span<const std::string> operands);
  /// The whole file with the body of the kernel in its place.
  std::string (*file)(const KernelIr& kernel, const Uses& uses, std::string_view body);
};

extern const Spelling kOpencl, kCuda, kGlsl, kWgsl;

/// The text of an elementwise op on operands of a type; fails where the language has none.
std::string_view text_of(ir::Op op, Scalar type, const Spelling& spelling);

/// A text with its places filled.
std::string fill(std::string_view text, std::span<const std::string> operands, std::string_view type = {},
                 std::string_view unsigned_type = {}, std::string_view ending = {});

/// What a value of this element of memory is: u32 for the narrow ones.
constexpr Scalar widened(Scalar element) {
  return element == Scalar::u8 || element == Scalar::u16 ? Scalar::u32 : element;
}
constexpr std::string_view at(const TypeNames& names, Scalar type) { return names[static_cast<size_t>(type)]; }

/// The names of a value's type and of a buffer's element; they fail where the language has none.
std::string_view value_name(const Spelling& spelling, Scalar type);
std::string_view element_name(const Spelling& spelling, Scalar type);
/// Of an element of a shared or private array.
std::string_view array_name(const Spelling& spelling, Scalar type);

// How integers, finite floats and memory are written in all languages that descend from C.

struct LiteralEndings {
  std::string_view i32, u32, i64, u64;
};
std::string integer_literal(Scalar type, uint64_t bits, const LiteralEndings& endings);
/// A decimal literal for small whole numbers, or a hexadecimal one, both exact; empty for -0, infinities and NaNs.
std::string float_literal(Scalar type, double value, std::string_view f32_ending);
/// The bits of a float constant, as the type itself has them.
uint64_t float_bits(Scalar type, double value);

}  // namespace tenon::render
