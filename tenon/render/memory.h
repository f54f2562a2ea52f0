// How the two languages that descend from C reach memory, and how the two of shaders do.

#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "tenon/render/spelling.h"

namespace tenon::render {

// ---- OpenCL C and CUDA C++: pointers ----

/// What was read from memory as a value, and a value as memory keeps it.
inline std::string c_value(const TypeNames& values, Scalar element, std::string_view what) {
  if (element == Scalar::boolean) return fmt::format("{} != 0", what);
  if (widened(element) == element) return std::string(what);
  return fmt::format("({}){}", at(values, Scalar::u32), what);
}
inline std::string c_element(const TypeNames& elements, Scalar element, std::string_view what) {
  return codegen::size_of(element) < 4 ? fmt::format("({}){}", at(elements, element), what) : std::string(what);
}

/// Indices wrap, so that a view may go backwards, and what comes out is never negative. Written as signed numbers they
/// survive compilers that add up the parts of an address in 64 bits.
inline std::string c_index(const TypeNames& values, const KernelIr& kernel, const Inst& inst, std::string_view index) {
  const bool is_wide = codegen::size_of(kernel.code[inst.args[0]].type) == 8;
  return fmt::format("({}){}", at(values, is_wide ? Scalar::i64 : Scalar::i32), index);
}

// ---- GLSL and WGSL: arrays, which begin where the arguments say ----

inline std::string shader_index(const TypeNames& values, const KernelIr& kernel, const Inst& inst,
                                std::string_view index) {
  const bool is_u32 = kernel.code[inst.args[0]].type == Scalar::u32;
  const std::string own = is_u32 ? std::string(index) : fmt::format("{}({})", at(values, Scalar::u32), index);
  return fmt::format("arguments.o{} + {}", inst.slot, own);
}

/// How many elements GLSL reaches at once of so many neighbours: four, or eight halves as four words.
inline uint32_t vector_width(Scalar element, uint32_t width) {
  return width == 8 && codegen::size_of(element) == 2 ? 8 : std::min<uint32_t>(width, 4);
}

/// The operands of a tile_pack in pairs, each packed into a word.
inline std::string packed_pairs(const Inst& inst, std::span<const std::string> operands) {
  std::string all;
  for (size_t i = 0; i < operands.size(); i += 2)
    all += fmt::format("{}pack_{}({}, {})", i == 0 ? "" : ", ", inst.bits & codegen::TileBits::kBf16 ? "bf16" : "f16",
                       operands[i], operands[i + 1]);
  return all;
}

}  // namespace tenon::render
