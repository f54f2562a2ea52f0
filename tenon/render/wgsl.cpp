// WGSL, which has 32-bit numbers alone: kernels with others are refused by name and to be legalised before.
//
// Buffer i is binding i of group 0; behind the last are the fault words, then a uniform with the launch's numbers (as
// two words each, low half first), for each buffer the number of elements before it begins, and `guards`. One binding
// has one type, so that vectors are read element by element. Contraction cannot be forbidden.

#include <fmt/format.h>

#include <bit>

#include "tenon/base/error.h"
#include "tenon/render/memory.h"

namespace tenon::render {
namespace {

constexpr TypeNames kValues{"bool", "i32", "u32", "", "", "f32", "", "", ""};
constexpr TypeNames kElements{"", "i32", "u32", "", "", "f32", "", "", ""};

// What is computed while compiling may be neither infinite nor NaN; a function's result is not.
constexpr std::string_view kFromBits = R"(fn from_bits(bits: u32) -> f32 { return bitcast<f32>(bits); }
)";

constexpr std::string_view kMulHigh = R"(fn mul_high(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}
)";

// pack2x16float may round as it likes. Adding 0.5 leaves the bits of a small half, as its last bit is worth what that
// of 0.5 is.
constexpr std::string_view kPackHalf = R"(fn pack_half(x: f32) -> u32 {
  let sign = (bitcast<u32>(x) >> 16u) & 0x8000u;
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  if (bits > 0x7f800000u) { return sign | 0x7e00u; }
  if (bits >= 0x47800000u) { return sign | 0x7c00u; }
  if (bits < 0x38800000u) { return sign | (bitcast<u32>(bitcast<f32>(bits) + 0.5f) - 0x3f000000u); }
  return sign | ((bits + 0xfffu + ((bits >> 13u) & 1u) - 0x38000000u) >> 13u);
}
)";
constexpr std::string_view kUnpackHalf = R"(fn unpack_half(x: u32) -> f32 {
  let sign = (x & 0x8000u) << 16u;
  let bits = x & 0x7fffu;
  if (bits >= 0x7c00u) { return bitcast<f32>(sign | 0x7f800000u | ((bits & 0x3ffu) << 13u)); }
  if (bits < 0x400u) { return bitcast<f32>(sign | bitcast<u32>(f32(bits) * 0x1p-24f)); }
  return bitcast<f32>(sign | ((bits << 13u) + 0x38000000u));
}
)";

constexpr std::string_view kPhilox = R"(fn philox(first0: u32, first1: u32, low: u32, high: u32) -> vec4<u32> {
  var x = vec4<u32>(low, high, 0u, 0u);
  var key0 = first0;
  var key1 = first1;
  for (var round = 0; round < 10; round++) {
    x = vec4<u32>(mul_high(0xCD9E8D57u, x.z) ^ x.y ^ key0, 0xCD9E8D57u * x.z,
                  mul_high(0xD2511F53u, x.x) ^ x.w ^ key1, 0xD2511F53u * x.x);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}
)";

constexpr std::string_view kGuard = R"(  if (arguments.guards != 0u && fault[0] != 0) { return; }
)";
// Words that are written may differ from thread to thread; one reads them for all.
constexpr std::string_view kSharedGuard = R"(  if (arguments.guards != 0u) {
    if (local.x == 0u) { found = atomicLoad(&fault[0]); }
    if (workgroupUniformLoad(&found) != 0) { return; }
  }
)";

std::string constant(Scalar type, uint64_t bits) {
  if (type != Scalar::boolean) value_name(kWgsl, type);
  if (!codegen::is_float(type)) return integer_literal(type, bits, {.i32 = "i", .u32 = "u", .i64 = "", .u64 = ""});
  const auto value = std::bit_cast<double>(bits);
  const std::string literal = float_literal(type, value, "f");
  return literal.empty() ? fmt::format("from_bits({:#x}u)", float_bits(type, value)) : literal;
}

std::string bitcast(Scalar, Scalar to, std::string_view value) {
  return fmt::format("bitcast<{}>({})", at(kValues, to), value);
}

std::string several(Scalar element, uint32_t width) {
  const std::string_view type = element_name(kWgsl, element);
  return width == 8 ? fmt::format("array<{}, 8>", type) : fmt::format("vec{}<{}>", width, type);
}

std::string zeros(Scalar element, uint32_t width) { return several(element, width) + "()"; }

std::string component(Scalar, std::string_view value, uint32_t i) { return fmt::format("{}[{}]", value, i); }

std::string place_at(const KernelIr& kernel, const Inst& inst, std::string_view index, uint32_t i) {
  const std::string first = shader_index(kValues, kernel, inst, index);
  return i == 0 ? fmt::format("b{}[{}]", inst.slot, first) : fmt::format("b{}[{} + {}u]", inst.slot, first, i);
}
std::string place(const KernelIr& kernel, const Inst& inst, std::string_view index) {
  return place_at(kernel, inst, index, 0);
}

std::string load(const KernelIr& kernel, const Uses& uses, const Inst& inst, std::string_view index) {
  const auto element = [&](uint32_t i) {
    const std::string at = place_at(kernel, inst, index, i);
    return uses.stores_bits[inst.slot] ? fmt::format("atomicLoad(&{})", at) : at;
  };
  if (inst.width == 1) return element(0);
  std::string all;
  for (uint32_t i = 0; i < inst.width; ++i) all += (i == 0 ? "" : ", ") + element(i);
  return fmt::format("{}({})", several(kernel.buffers[inst.slot].element, inst.width), all);
}

std::string store(const KernelIr& kernel, const Uses& uses, const Inst& inst, std::string_view index,
                  std::span<const std::string> values) {
  std::string text;
  for (uint32_t i = 0; i < inst.width; ++i) {
    const std::string at = place_at(kernel, inst, index, i);
    if (i > 0) text += " ";
    text += uses.stores_bits[inst.slot] ? fmt::format("atomicStore(&{}, {});", at, values[i])
                                        : fmt::format("{} = {};", at, values[i]);
  }
  return text;
}

std::string file(const KernelIr& kernel, const Uses& uses, std::string_view body) {
  std::string text = uses.shuffle ? "enable subgroups;\n" : "";
  text += "struct Arguments {";
  for (uint32_t i = 0; i < kernel.numbers; ++i) text += fmt::format(" n{}: vec2<u32>,", i);
  for (size_t i = 0; i < kernel.buffers.size(); ++i) text += fmt::format(" o{}: u32,", i);
  text += " guards: u32 }\n";
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    text += fmt::format("@group(0) @binding({}) var<storage, {}> b{}: array<{}>;\n", i,
                        kernel.buffers[i].is_written ? "read_write" : "read", i,
                        uses.stores_bits[i] ? "atomic<u32>" : element_name(kWgsl, kernel.buffers[i].element));
  // Read alone where it can be, so that threads are known to agree on whether they return before a barrier.
  text += fmt::format("@group(0) @binding({}) var<storage, {}> fault: array<{}>;\n", kernel.buffers.size(),
                      kernel.may_fault ? "read_write" : "read", kernel.may_fault ? "atomic<i32>" : "i32");
  if (kernel.may_fault) text += "var<workgroup> found: i32;\n";
  text += fmt::format("@group(0) @binding({}) var<uniform> arguments: Arguments;\n", kernel.buffers.size() + 1);
  for (size_t i = 0; i < kernel.shared.size(); ++i)
    text += fmt::format("var<workgroup> s{}: array<{}, {}>;\n", i, array_name(kWgsl, kernel.shared[i].element),
                        kernel.shared[i].count);
  if (uses.odd_floats) text += kFromBits;
  if (uses.mul_high || uses.philox) text += kMulHigh;
  if (uses.pack_half) text += kPackHalf;
  if (uses.unpack_half) text += kUnpackHalf;
  if (uses.philox) text += kPhilox;

  text += fmt::format(
      "@compute @workgroup_size({}, 1, 1)\n"
      "fn {}(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {{\n"
      "{}",
      kernel.threads, kernel.name, kernel.may_fault ? kSharedGuard : kGuard);
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("  var a{}: array<{}, {}>;\n", i, array_name(kWgsl, kernel.arrays[i].element),
                        kernel.arrays[i].count);
  return fmt::format("{}{}}}\n", text, body);
}

}  // namespace

const Spelling kWgsl{
    .language = Language::wgsl,
    .name = "WGSL",
    .values = kValues,
    .elements = kElements,
    .are_arrays_packed = false,
    // A store to one component may write its neighbours as well.
    .has_vector_arrays = false,
    .f32_ending = "",
    .texts = {.fma = "fma($0, $1, $2)",
              .exp2 = "exp2($0)",
              .reciprocal = "1.0 / $0",
              .saturate = "saturate($0)",
              .mul_high = "mul_high($0, $1)",
              .pack_half = "pack_half($0)",
              .unpack_half = "unpack_half($0)",
              .philox = "philox($0, $1, $2, $3)",
              .shuffle = "subgroupShuffleXor($0, $1)",
              .thread = "local.x",
              .block = {"group.x", "group.y", "group.z"},
              .cast = "$0($1)",
              .value = "let $1: $0 = $2;",
              .variable = "var $1: $0 = $2;",
              .loop = "for (var $0: u32 = $1; $0 < $2; $0 += $3) {",
              .unroll = "",
              .keep_loop = "",
              .barrier = "workgroupBarrier();",
              .barrier_everywhere = "storageBarrier(); workgroupBarrier();",
              .shared_vector = "",
              .store_bits = "atomicAnd(&$0, ~$2); atomicOr(&$0, $1);",
              .is_first_fault = "atomicExchange(&fault[0], 1) == 0",
              .fault_word = "atomicStore(&fault[$0], $1);"},
    .constant = constant,
    .bitcast = bitcast,
    .several = several,
    .zeros = zeros,
    .component = component,
    .place = place,
    .load = load,
    .store = store,
    .tile = nullptr,
    .file = file,
};

}  // namespace tenon::render
