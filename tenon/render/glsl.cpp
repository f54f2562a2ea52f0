// GLSL for Vulkan, to be compiled to SPIR-V.
//
// Buffer i is binding i of set 0, the fault words are the binding behind the last. Push constants hold the launch's
// numbers (as two words each, low half first), then for each buffer the number of elements before it begins, then
// `guards`. A buffer that is read in vectors is declared once more for each width, under the same binding.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tenon/base/error.h"
#include "tenon/render/memory.h"

namespace tenon::render {
namespace {

constexpr TypeNames kValues{"bool", "int", "uint", "int64_t", "uint64_t", "float", "double", "", ""};
constexpr TypeNames kElements{"uint8_t", "int",    "uint",    "int64_t", "uint64_t",
                              "float",   "double", "uint8_t", "uint16_t"};
// Before "vec4"; values of narrow elements are vectors of uint.
constexpr TypeNames kVectors{"u", "i", "u", "i64", "u64", "", "d", "u", "u"};
constexpr TypeNames kVectorElements{"u8", "i", "u", "i64", "u64", "", "d", "u8", "u16"};

constexpr std::string_view kMulHigh = R"(uint mul_high(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
)";

// packHalf2x16 may round as it likes, and may take small numbers for 0. Adding 0.5 leaves the bits of a small half, as
// its last bit is worth what that of 0.5 is.
constexpr std::string_view kPackHalf = R"(uint pack_half(float x) {
  uint sign = floatBitsToUint(x) >> 16 & 0x8000u, bits = floatBitsToUint(x) & 0x7fffffffu;
  if (bits > 0x7f800000u) { return sign | 0x7e00u; }
  if (bits >= 0x47800000u) { return sign | 0x7c00u; }
  if (bits < 0x38800000u) {
    precise float shifted = uintBitsToFloat(bits) + 0.5;
    return sign | (floatBitsToUint(shifted) - 0x3f000000u);
  }
  return sign | (bits + 0xfffu + (bits >> 13 & 1u) - 0x38000000u) >> 13;
}
)";
constexpr std::string_view kUnpackHalf = R"(float unpack_half(uint x) {
  uint sign = (x & 0x8000u) << 16, bits = x & 0x7fffu;
  if (bits >= 0x7c00u) { return uintBitsToFloat(sign | 0x7f800000u | (bits & 0x3ffu) << 13); }
  if (bits < 0x400u) { return uintBitsToFloat(sign | floatBitsToUint(float(bits) * uintBitsToFloat(0x33800000u))); }
  return uintBitsToFloat(sign | ((bits << 13) + 0x38000000u));
}
)";

// What a driver makes of a division may be forty instructions and a branch, because it was asked to round to even; of
// an inverse square root it is one. Drivers promise two places of it. Where it is a call, a division is quicker.
constexpr std::string_view kReciprocal = R"(#ifdef HAS_FMA
float reciprocal_of(float x) {
  float root = inversesqrt(x);
  precise float square = root * root;
  return square;
}
#else
float reciprocal_of(float x) { return 1.0 / x; }
#endif
)";

constexpr std::string_view kExp2 = R"(#ifdef LOSES_NAN
float exp2_of(float x) {
  float power = exp2(x);
  return isnan(x) ? x : power;
}
#else
#define exp2_of exp2
#endif
)";

// Eight halves of four words.
constexpr std::string_view kHalvesOf = R"(uint[8] halves_of(uvec4 words) {
  uvec4 low = words & 0xffffu, high = words >> 16;
  return uint[8](low.x, high.x, low.y, high.y, low.z, high.z, low.w, high.w);
}
)";

constexpr std::string_view kPhilox = R"(uvec4 philox(uint key0, uint key1, uint low, uint high) {
  uvec4 x = uvec4(low, high, 0u, 0u);
  for (int round = 0; round < 10; ++round) {
    x = uvec4(mul_high(0xCD9E8D57u, x.z) ^ x.y ^ key0, 0xCD9E8D57u * x.z,
              mul_high(0xD2511F53u, x.x) ^ x.w ^ key1, 0xD2511F53u * x.x);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}
)";

// There are no hexadecimal floats.
std::string constant(Scalar type, uint64_t bits) {
  if (!codegen::is_float(type)) return integer_literal(type, bits, {.i32 = "", .u32 = "u", .i64 = "L", .u64 = "UL"});
  const auto value = std::bit_cast<double>(bits);
  const std::string literal = float_literal(type, value, "");
  const bool is_decimal = !literal.empty() && literal.find('x') == std::string::npos;
  const uint64_t own = float_bits(type, value);
  if (type == Scalar::f32) return is_decimal ? literal : fmt::format("uintBitsToFloat({:#x}u)", own);
  if (is_decimal) return literal.back() == ')' ? literal.substr(0, literal.size() - 1) + "lf)" : literal + "lf";
  return fmt::format("packDouble2x32(uvec2({:#x}u, {:#x}u))", static_cast<uint32_t>(own), own >> 32);
}

std::string bitcast(Scalar from, Scalar to, std::string_view value) {
  const auto convert = [&](std::string_view function) { return fmt::format("{}({})", function, value); };
  if (from == Scalar::f32) return convert(to == Scalar::i32 ? "floatBitsToInt" : "floatBitsToUint");
  if (from == Scalar::f64) return convert(to == Scalar::i64 ? "doubleBitsToInt64" : "doubleBitsToUint64");
  if (to == Scalar::f32) return convert(from == Scalar::i32 ? "intBitsToFloat" : "uintBitsToFloat");
  if (to == Scalar::f64) return convert(from == Scalar::i64 ? "int64BitsToDouble" : "uint64BitsToDouble");
  return convert(at(kValues, to));
}

std::string_view component_name(Scalar element) {
  return element == Scalar::boolean ? "uint" : at(kValues, widened(element));
}

// Eight components are an array: the longest vectors have four.
std::string several(Scalar element, uint32_t width) {
  return width == 8 ? fmt::format("{}[8]", component_name(element))
                    : fmt::format("{}vec{}", at(kVectors, element), width);
}

std::string zeros(Scalar element, uint32_t width) {
  const Scalar type = element == Scalar::boolean ? Scalar::u32 : widened(element);
  std::string all;
  for (uint32_t i = 0; i < width; ++i) all += (i == 0 ? "" : ", ") + constant(type, 0);
  return fmt::format("{}({})", several(element, width), all);
}

std::string component(Scalar element, std::string_view value, uint32_t i) {
  return fmt::format("{}[{}]{}", value, i, element == Scalar::boolean ? " != 0u" : "");
}

std::string place(const KernelIr& kernel, const Inst& inst, std::string_view index) {
  return fmt::format("b{}[{}]", inst.slot, shader_index(kValues, kernel, inst, index));
}

// Vector `i` from `first` on, which counts vectors.
std::string vector_place(const Inst& inst, std::string_view first, uint32_t width, uint32_t i) {
  const std::string at = fmt::format("arguments.o{} / {}u + {}", inst.slot, width, first);
  return i == 0 ? fmt::format("b{}x{}[{}]", inst.slot, width, at)
                : fmt::format("b{}x{}[{} + {}u]", inst.slot, width, at, i);
}

std::string load(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index) {
  const Scalar element = kernel.buffers[inst.slot].element;
  const bool is_narrow = codegen::size_of(element) < 4;
  if (inst.width == 1) {
    const std::string got = place(kernel, inst, index);
    if (!is_narrow) return got;
    return fmt::format("uint({}){}", got, element == Scalar::boolean ? " != 0u" : "");
  }
  if (inst.width < 8) {
    const std::string got = vector_place(inst, index, inst.width, 0);
    return is_narrow ? fmt::format("{}({})", several(element, inst.width), got) : got;
  }
  if (vector_width(element, 8) == 8) return fmt::format("halves_of({})", vector_place(inst, index, 8, 0));
  std::string all;
  for (uint32_t i = 0; i < 8; ++i) {
    const std::string four = vector_place(inst, index, 4, i / 4);
    all += fmt::format("{}{}[{}]", i == 0 ? "" : ", ",
                       is_narrow ? fmt::format("{}({})", several(element, 4), four) : four, i % 4);
  }
  return fmt::format("{}({})", several(element, 8), all);
}

std::string store(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index,
                  std::span<const std::string> values) {
  const Scalar element = kernel.buffers[inst.slot].element;
  const auto as_number = [&](const std::string& value) {
    return element == Scalar::boolean ? fmt::format("uint({})", value) : value;
  };
  const bool is_narrow = codegen::size_of(element) < 4;
  if (inst.width == 1) {
    const std::string value = as_number(values[0]);
    return fmt::format("{} = {};", place(kernel, inst, index),
                       is_narrow ? fmt::format("{}({})", at(kElements, element), value) : value);
  }
  if (vector_width(element, inst.width) == 8) {
    std::string words;
    for (size_t i = 0; i < 8; i += 2)
      words += fmt::format("{}({} & 0xffffu) | {} << 16", i == 0 ? "" : ", ", values[i], values[i + 1]);
    return fmt::format("{} = uvec4({});", vector_place(inst, index, 8, 0), words);
  }
  std::string text;
  const uint32_t width = std::min<uint32_t>(inst.width, 4);
  for (uint32_t first = 0; first < inst.width; first += width) {
    std::string all;
    for (uint32_t i = 0; i < width; ++i) all += (i == 0 ? "" : ", ") + as_number(values[first + i]);
    std::string vector = fmt::format("{}({})", several(element, width), all);
    if (is_narrow) vector = fmt::format("{}vec{}({})", at(kVectorElements, element), width, vector);
    text += fmt::format("{}{} = {};", first == 0 ? "" : " ", vector_place(inst, index, width, first / width), vector);
  }
  return text;
}

// By VK_KHR_cooperative_matrix, which is younger than glslang in some distributions: its types and instructions are
// spelled by their numbers in SPV_KHR_cooperative_matrix and SPV_KHR_bfloat16. Of a type, glslang writes the operands
// as numbers where identifiers belong; whoever compiles this puts them right (matrix_types.h), and
// makes float16_t bf16 in a kernel with tiles of bf16. Shared arrays of tiles are of uvec4, in which places and strides
// are counted. Accesses are non-private, and made visible or available to the workgroup (scope 2).
constexpr std::string_view kTiles = R"(#define TILE(component, use) \
  spirv_type(extensions = [TILE_EXTENSIONS], capabilities = [TILE_CAPABILITIES], id = 4456, component, 3u, 16u, 16u, use)
#define LEFT TILE(TILE_FACTOR, 0u)
#define RIGHT TILE(TILE_FACTOR, 1u)
#define SUMS TILE(2u, 2u)
spirv_instruction(id = 80) SUMS tile_sums(float all);
spirv_instruction(id = 4457) LEFT tile_left(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal uint access, uint scope);
spirv_instruction(id = 4457) RIGHT tile_right(spirv_by_reference uvec4 at, uint order, uint stride, spirv_literal uint access, uint scope);
spirv_instruction(id = 4458) void tile_store(spirv_by_reference uvec4 at, SUMS sums, uint order, uint stride, spirv_literal uint access, uint scope);
spirv_instruction(id = 4459) SUMS tile_mma(LEFT left, RIGHT right, SUMS sums);
spirv_instruction(id = 81) float tile_get(SUMS sums, spirv_literal uint place);
spirv_instruction(id = 82) SUMS tile_set(float value, SUMS sums, spirv_literal uint place);
spirv_instruction(id = 80) LEFT tile_left_of(float16_t all);
spirv_instruction(id = 82) LEFT tile_set_left(float16_t value, LEFT left, spirv_literal uint place);
)";

bool has_bf16_tiles(const KernelIr& kernel) {
  using Kind = Inst::Kind;
  return std::any_of(kernel.code.begin(), kernel.code.end(), [](const Inst& inst) {
    return (inst.kind == Kind::tile_load || inst.kind == Kind::tile_pack) && (inst.bits & codegen::TileBits::kBf16);
  });
}

std::string tiles(const KernelIr& kernel) {
  const bool is_bf16 = has_bf16_tiles(kernel);
  return fmt::format(
      "#define TILE_EXTENSIONS \"SPV_KHR_cooperative_matrix\"{}\n#define TILE_CAPABILITIES 6022{}\n"
      "#define TILE_FACTOR {}u\n{}",
      is_bf16 ? ", \"SPV_KHR_bfloat16\"" : "", is_bf16 ? ", 5116, 5118" : "", is_bf16 ? 1 : 0, kTiles);
}

// A conversion to bf16 may round as it likes (NVIDIA's cuts off); of what bf16 holds it is exact.
constexpr std::string_view kRoundToBf16 = R"(float round_to_bf16(float x) {
  uint bits = floatBitsToUint(x);
  bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return uintBitsToFloat(is_nan ? bits | 0x400000u : (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}
)";

// No API says which number of a tile is whose. NVIDIA's compiler keeps a thread's numbers of one row next to each
// other, unlike TilePlace; another one is found out (backends/gpu/tile_places.h).
uint32_t component_at(uint32_t place) { return (place & 1) | (place & 2) << 1 | (place & 4) >> 1; }

std::string tile(const KernelIr&, const Inst& inst, std::string_view value, std::span<const std::string> operands) {
  using codegen::TileBits;
  const auto number = [&](const std::string& operand) {
    const bool is_bf16 = inst.bits & TileBits::kBf16;
    return is_bf16 ? fmt::format("float16_t(round_to_bf16({}))", operand) : fmt::format("float16_t({})", operand);
  };
  switch (inst.kind) {
    case Inst::Kind::tile_zero: return fmt::format("SUMS {} = tile_sums(0.0);", value);
    case Inst::Kind::tile_load: {
      const bool is_right = inst.bits & TileBits::kRight, is_transposed = inst.bits & TileBits::kTransposed;
      return fmt::format("{} {} = {}(s{}[{}], {}u, {}, 0x30u, 2u);", is_right ? "RIGHT" : "LEFT", value,
                         is_right ? "tile_right" : "tile_left", inst.slot, operands[0], is_transposed ? 1 : 0,
                         operands[1]);
    }
    case Inst::Kind::tile_mma:
      return fmt::format("{0} = tile_mma({1}, {2}, {0});", operands[0], operands[1], operands[2]);
    case Inst::Kind::tile_get:
      return fmt::format("float {} = tile_get({}, {}u);", value, operands[0], component_at(inst.slot));
    case Inst::Kind::tile_set:
      return fmt::format("{0} = tile_set({1}, {0}, {2}u);", operands[0], operands[1], component_at(inst.slot));
    case Inst::Kind::tile_pack: {
      std::string text = fmt::format("LEFT {} = tile_left_of({});", value, number(operands[0]));
      for (size_t i = 1; i < operands.size(); ++i)
        text += fmt::format(" {0} = tile_set_left({1}, {0}, {2}u);", value, number(operands[i]),
                            component_at(static_cast<uint32_t>(i)));
      return text;
    }
    default:
      return fmt::format("tile_store(s{}[{}], {}, 0u, {}, 0x28u, 2u);", inst.slot, operands[1], operands[0],
                         operands[2]);
  }
}

/// By which names a buffer is reached: one for each width of vectors.
struct Names {
  bool scalar, x2, x4, x8;
  bool is_one() const { return scalar + x2 + x4 + x8 == 1; }
};
Names names_of(const KernelIr& kernel, const Uses& uses, size_t buffer) {
  const uint32_t widths = uses.widths[buffer];
  const bool is_eight = widths & 8, has_x8 = is_eight && vector_width(kernel.buffers[buffer].element, 8) == 8;
  return {widths == 0 || (widths & 1), bool(widths & 2), (widths & 4) || (is_eight && !has_x8), has_x8};
}

// Whether it is written here and reached by another name, of another buffer or of another width.
bool is_aliased(const KernelIr& kernel, const Uses& uses, size_t buffer) {
  const auto& own = kernel.buffers[buffer];
  return own.is_aliased || (own.is_written && !names_of(kernel, uses, buffer).is_one());
}

std::string extensions(const KernelIr& kernel, const Uses& uses) {
  std::array<bool, 9> elements{};
  for (const auto& buffer : kernel.buffers) elements[static_cast<size_t>(buffer.element)] = true;
  const auto has = [&](Scalar type) { return uses.has(type) || elements[static_cast<size_t>(type)]; };
  std::string text;
  const auto require = [&](bool is_used, std::string_view name) {
    if (is_used) text += fmt::format("#extension {} : require\n", name);
  };
  require(has(Scalar::i64) || has(Scalar::u64), "GL_EXT_shader_explicit_arithmetic_types_int64");
  require(elements[static_cast<size_t>(Scalar::boolean)] || has(Scalar::u8), "GL_EXT_shader_8bit_storage");
  require(has(Scalar::u16), "GL_EXT_shader_16bit_storage");
  require(uses.shuffle, "GL_KHR_shader_subgroup_shuffle");
  require(uses.tiles, "GL_KHR_memory_scope_semantics");
  require(uses.tiles, "GL_EXT_shader_explicit_arithmetic_types_float16");
  require(uses.unroll, "GL_EXT_control_flow_attributes");
  bool has_aliased = false;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) has_aliased |= is_aliased(kernel, uses, i);
  require(uses.tiles || has_aliased, "GL_EXT_spirv_intrinsics");
  return text;
}

std::string shared_name(Scalar element, uint32_t width) {
  return width == 1 ? std::string(array_name(kGlsl, element)) : several(element, width);
}

std::string file(const KernelIr& kernel, const Uses& uses, std::string_view body) {
  std::string text = "#version 460\n" + extensions(kernel, uses);
  if (uses.tiles) text += "#pragma use_vulkan_memory_model\n";
  text += fmt::format("layout(local_size_x = {}, local_size_y = 1, local_size_z = 1) in;\n", kernel.threads);
  text += "layout(push_constant, std430) uniform Arguments {";
  for (uint32_t i = 0; i < kernel.numbers; ++i) text += fmt::format(" uvec2 n{};", i);
  for (size_t i = 0; i < kernel.buffers.size(); ++i) text += fmt::format(" uint o{};", i);
  text += " uint guards; } arguments;\n";

  bool has_halves_of = false;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const auto& buffer = kernel.buffers[i];
    const std::string_view coherent = uses.meets_memory && (buffer.is_written || buffer.is_aliased) ? "coherent " : "";
    const Names names = names_of(kernel, uses, i);
    // SPIR-V lets drivers take two names for two places unless they are decorated as aliased, and what cannot be
    // written for what does not change: a load of what is worked on in place could then come after its store.
    const std::string_view aliased = is_aliased(kernel, uses, i) ? "spirv_decorate(20) "
                                     : names.is_one()            ? "restrict "
                                                                 : "";
    const auto declare = [&](std::string_view ending, std::string_view type) {
      text +=
          fmt::format("layout(set = 0, binding = {}, std430) {}{}{}buffer B{}{} {{ {} b{}{}[]; }};\n", i, coherent,
                      aliased, buffer.is_written || buffer.is_aliased ? "" : "readonly ", i, ending, type, i, ending);
    };
    const std::string_view vector = at(kVectorElements, buffer.element);
    has_halves_of |= names.x8;
    if (names.x8) declare("x8", "uvec4");
    if (names.scalar) declare("", at(kElements, buffer.element));
    if (names.x2) declare("x2", fmt::format("{}vec2", vector));
    if (names.x4) declare("x4", fmt::format("{}vec4", vector));
  }
  text +=
      fmt::format("layout(set = 0, binding = {}, std430) buffer Fault {{ int fault[]; }};\n", kernel.buffers.size());
  for (size_t i = 0; i < kernel.shared.size(); ++i)
    text += fmt::format("shared {} s{}[{}];\n", shared_name(kernel.shared[i].element, uses.shared_widths[i]), i,
                        kernel.shared[i].count / uses.shared_widths[i]);
  if (uses.mul_high || uses.philox) text += kMulHigh;
  if (uses.pack_half) text += kPackHalf;
  if (uses.unpack_half) text += kUnpackHalf;
  if (has_halves_of) text += kHalvesOf;
  if (uses.exp2) text += kExp2;
  if (uses.reciprocal) text += kReciprocal;
  if (uses.philox) text += kPhilox;
  if (uses.tiles) text += tiles(kernel);
  if (uses.tile_packs) text += kRoundToBf16;

  text +=
      fmt::format("// {}\nvoid main() {{\n  if (arguments.guards != 0u && fault[0] != 0) {{ return; }}\n", kernel.name);
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("  {} a{}[{}];\n", array_name(kGlsl, kernel.arrays[i].element), i, kernel.arrays[i].count);
  return fmt::format("{}{}}}\n", text, body);
}

}  // namespace

const Spelling kGlsl{
    .language = Language::glsl,
    .name = "GLSL",
    .values = kValues,
    .elements = kElements,
    .are_arrays_packed = false,
    .has_vector_arrays = true,
    .f32_ending = "",
    .texts = {.fma = "fma($0, $1, $2)",
              .exp2 = "exp2_of($0)",
              .reciprocal = "reciprocal_of($0)",
              .saturate = "clamp($0, 0.0, 1.0)",
              .mul_high = "mul_high($0, $1)",
              .pack_half = "pack_half($0)",
              .unpack_half = "unpack_half($0)",
              .philox = "philox($0, $1, $2, $3)",
              .f64_word = "unpackDouble2x32($0)[$1]",
              .f64_of = "packDouble2x32(uvec2($0, $1))",
              .shuffle = "subgroupShuffleXor($0, $1)",
              .thread = "gl_LocalInvocationID.x",
              .block = {"gl_WorkGroupID.x", "gl_WorkGroupID.y", "gl_WorkGroupID.z"},
              .cast = "$0($1)",
              .value = "$0 $1 = $2;",
              .float_mark = "precise ",
              .variable = "$0 $1 = $2;",
              .loop = "for (uint $0 = $1; $0 < $2; $0 += $3) {",
              .unroll = "[[unroll]]",
              .keep_loop = "[[dont_unroll]]",
              // It orders shared memory as well; memoryBarrierShared() beside it waits for all of the device's memory.
              .barrier = "barrier();",
              .barrier_everywhere = "memoryBarrierBuffer(); barrier();",
              .shared_vector = "",
              .store_bits = "atomicAnd($0, ~$2); atomicOr($0, $1);",
              .is_first_fault = "atomicCompSwap(fault[0], 0, 1) == 0",
              .fault_word = "fault[$0] = $1;"},
    .constant = constant,
    .bitcast = bitcast,
    .several = several,
    .zeros = zeros,
    .component = component,
    .place = place,
    .load = load,
    .store = store,
    .tile = tile,
    .file = file,
};

}  // namespace tenon::render
