// OpenCL C at the level of 1.2: no fp16, and subgroups only in kernels that shuffle.
//
// A kernel's arguments are a pointer and a byte offset for each buffer, the launch's numbers, the device's fault words
// and `guards`: whether to return at once where there is a fault already.

#include <fmt/format.h>

#include <bit>

#include "tenon/render/memory.h"

namespace tenon::render {
namespace {

constexpr TypeNames kValues{"bool", "int", "uint", "long", "ulong", "float", "double", "", ""};
constexpr TypeNames kElements{"uchar", "int", "uint", "long", "ulong", "float", "double", "uchar", "ushort"};

// A half exists behind a pointer even where a device computes none.
constexpr std::string_view kPackHalf = R"(uint pack_half(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return bits;
}
)";
constexpr std::string_view kUnpackHalf = R"(float unpack_half(uint x) {
  const ushort bits = (ushort)x;
  return vload_half(0, (const half*)&bits);
}
)";

// PTX, for NVIDIA's chips from compute capability 8.0 on; kernels for others have neither.
constexpr std::string_view kPackBf16 = R"(uint pack_bf16_of(float x) {
  uint bits;
  __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(0.0f), "f"(x));
  return bits;
}
)";
constexpr std::string_view kLarger = R"(float larger_of(float x, float y) {
  float z;
  __asm__("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
)";

constexpr std::string_view kPhilox = R"(uint4 philox(uint key0, uint key1, uint low, uint high) {
  uint4 x = (uint4)(low, high, 0u, 0u);
  for (int round = 0; round < 10; ++round) {
    x = (uint4)(mul_hi(0xCD9E8D57u, x.s2) ^ x.s1 ^ key0, 0xCD9E8D57u * x.s2,
                mul_hi(0xD2511F53u, x.s0) ^ x.s3 ^ key1, 0xD2511F53u * x.s0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}
)";

// NVIDIA's compiler knows none of the extensions but takes PTX.
constexpr std::string_view kShuffle = R"(#if defined(cl_khr_subgroup_shuffle)
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define shuffle_xor(x, distance) sub_group_shuffle_xor((x), (distance))
#elif defined(cl_intel_subgroups)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define shuffle_xor(x, distance) intel_sub_group_shuffle_xor((x), (distance))
#else
uint shuffle_xor(uint x, uint distance) {
  uint y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x), "r"(distance));
  return y;
}
#endif
)";

// The device's own on NVIDIA; elsewhere nothing is promised of native functions.
constexpr std::string_view kExp2 = R"(float exp2_of(float x) {
#if defined(__NV_CL_C_VERSION)
  float y;
  __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2(x);
#endif
}
)";

constexpr std::string_view kReciprocal = R"(float reciprocal_of(float x) {
#if defined(__NV_CL_C_VERSION)
  float y;
  __asm__("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}
)";

// The first number goes into the lower half.
constexpr std::string_view kTilePacks = R"(uint pack_f16(float low, float high) {
  uint pair;
  __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
uint pack_bf16(float low, float high) {
  uint pair;
  __asm__("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
)";

// Tiles by ldmatrix and mma, which NVIDIA's compiler takes as PTX. A 16 x 16 tile of 16-bit numbers is four words of
// each thread, one for each quarter of 8 x 8; an accumulator is two halves of 16 x 8. Threads 0 to 7 point to the rows
// of the first quarter, and so on, so that quarters come in the order in which mma takes them.
constexpr std::string_view kTiles =
    R"(ulong tile_row(__local const uint* array, uint at, uint stride, bool is_transposed) {
  const uint lane = (uint)get_local_id(0) % 32u;
  const uint row = is_transposed ? lane % 8u + lane / 16u * 8u : lane % 16u;
  const uint column = is_transposed ? lane / 8u % 2u * 8u : lane / 16u * 8u;
  return (ulong)(array + (at + row * stride + column) / 2u);
}
uint4 tile_load(ulong from) {
  uint a, b, c, d;
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from) : "memory");
  return (uint4)(a, b, c, d);
}
uint4 tile_load_turned(ulong from) {
  uint a, b, c, d;
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(from) : "memory");
  return (uint4)(a, b, c, d);
}
#define TILE_MMA(name, type) \
float4 name##_half(float4 sum, uint4 left, uint right0, uint right1) { \
  float a = sum.s0, b = sum.s1, c = sum.s2, d = sum.s3; \
  __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 " \
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(a), "+f"(b), "+f"(c), "+f"(d) \
               : "r"(left.s0), "r"(left.s1), "r"(left.s2), "r"(left.s3), "r"(right0), "r"(right1)); \
  return (float4)(a, b, c, d); \
} \
float8 name(float8 sum, uint4 left, uint4 right) { \
  return (float8)(name##_half(sum.s0123, left, right.s0, right.s1), name##_half(sum.s4567, left, right.s2, right.s3)); \
}
TILE_MMA(tile_mma_f16, "f16")
TILE_MMA(tile_mma_bf16, "bf16")
void tile_store(__local uint* array, uint at, uint stride, float8 sum) {
  const uint lane = (uint)get_local_id(0) % 32u;
  __local uint* to = array + (at + lane / 4u * stride + lane % 4u * 2u);
  *(__local uint2*)to = as_uint2(sum.s01);
  *(__local uint2*)(to + 8u * stride) = as_uint2(sum.s23);
  *(__local uint2*)(to + 8u) = as_uint2(sum.s45);
  *(__local uint2*)(to + 8u * stride + 8u) = as_uint2(sum.s67);
}
)";

std::string tile(const KernelIr& kernel, const Inst& inst, std::string_view value,
                 std::span<const std::string> operands) {
  using codegen::TileBits;
  switch (inst.kind) {
    case Inst::Kind::tile_zero: return fmt::format("float8 {} = (float8)(0.0f);", value);
    case Inst::Kind::tile_load: {
      const bool is_transposed = inst.bits & TileBits::kTransposed, is_right = inst.bits & TileBits::kRight;
      return fmt::format("const uint4 {} = {}(tile_row(s{}, {}, {}, {}));", value,
                         is_transposed != is_right ? "tile_load_turned" : "tile_load", inst.slot, operands[0],
                         operands[1], is_transposed);
    }
    case Inst::Kind::tile_mma:
      return fmt::format("{} = tile_mma_{}({}, {}, {});", operands[0],
                         kernel.code[inst.args[1]].bits & TileBits::kBf16 ? "bf16" : "f16", operands[0], operands[1],
                         operands[2]);
    case Inst::Kind::tile_get: return fmt::format("const float {} = {}.s{};", value, operands[0], inst.slot);
    case Inst::Kind::tile_set: return fmt::format("{}.s{} = {};", operands[0], inst.slot, operands[1]);
    case Inst::Kind::tile_pack:
      return fmt::format("const uint4 {} = (uint4)({});", value, packed_pairs(inst, operands));
    default: return fmt::format("tile_store(s{}, {}, {}, {});", inst.slot, operands[1], operands[2], operands[0]);
  }
}

std::string constant(Scalar type, uint64_t bits) {
  if (!codegen::is_float(type)) return integer_literal(type, bits, {.u32 = "u", .i64 = "L", .u64 = "UL"});
  const auto value = std::bit_cast<double>(bits);
  const std::string literal = float_literal(type, value, "f");
  if (!literal.empty()) return literal;
  return type == Scalar::f32 ? fmt::format("as_float({:#x}u)", float_bits(type, value))
                             : fmt::format("as_double({:#x}UL)", float_bits(type, value));
}

std::string bitcast(Scalar, Scalar to, std::string_view value) {
  return fmt::format("as_{}({})", at(kValues, to), value);
}

std::string several(Scalar element, uint32_t width) { return fmt::format("{}{}", at(kElements, element), width); }

std::string zeros(Scalar element, uint32_t width) { return fmt::format("({})(0)", several(element, width)); }

std::string component(Scalar element, std::string_view value, uint32_t i) {
  return c_value(kValues, element, fmt::format("{}.s{}", value, i));
}

std::string place(const KernelIr& kernel, const Inst& inst, std::string_view index) {
  return fmt::format("b{}[{}]", inst.slot, c_index(kValues, kernel, inst, index));
}

std::string load(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index) {
  const Scalar element = kernel.buffers[inst.slot].element;
  if (inst.width == 1) return c_value(kValues, element, place(kernel, inst, index));
  return fmt::format("*(__global const {}*)(b{} + {})", several(element, inst.width), inst.slot,
                     c_index(kValues, kernel, inst, index));
}

std::string store(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index,
                  std::span<const std::string> values) {
  const Scalar element = kernel.buffers[inst.slot].element;
  if (inst.width == 1)
    return fmt::format("{} = {};", place(kernel, inst, index), c_element(kElements, element, values[0]));
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ", ") + c_element(kElements, element, value);
  const std::string type = several(element, inst.width);
  return fmt::format("*(__global {}*)(b{} + {}) = ({})({});", type, inst.slot, c_index(kValues, kernel, inst, index),
                     type, all);
}

std::string file(const KernelIr& kernel, const Uses& uses, std::string_view body) {
  std::string text = "#pragma OPENCL FP_CONTRACT OFF\n";
  bool has_f64 = uses.has(Scalar::f64);
  for (const auto& buffer : kernel.buffers) has_f64 |= buffer.element == Scalar::f64;
  if (has_f64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  if (uses.pack_half) text += kPackHalf;
  if (uses.unpack_half) text += kUnpackHalf;
  if (uses.pack_bf16) text += kPackBf16;
  if (uses.larger) text += kLarger;
  if (uses.philox) text += kPhilox;
  if (uses.shuffle) text += kShuffle;
  if (uses.exp2) text += kExp2;
  if (uses.reciprocal) text += kReciprocal;
  if (uses.tiles) text += kTiles;
  if (uses.tile_packs) text += kTilePacks;

  text +=
      fmt::format("__kernel __attribute__((reqd_work_group_size({}, 1, 1)))\nvoid {}(", kernel.threads, kernel.name);
  std::string pointers;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const auto& buffer = kernel.buffers[i];
    const std::string_view is_const = buffer.is_written ? "" : "const ";
    const std::string_view type = at(kElements, buffer.element);
    text += fmt::format("__global {}uchar*{} m{}, ulong o{}, ", is_const, buffer.is_aliased ? "" : " restrict", i, i);
    pointers +=
        fmt::format("  __global {}{}* b{} = (__global {}{}*)(m{} + o{});\n", is_const, type, i, is_const, type, i, i);
  }
  for (uint32_t i = 0; i < kernel.numbers; ++i) text += fmt::format("ulong n{}, ", i);
  text += "__global int* fault, uint guards) {\n  if (guards != 0 && fault[0] != 0) return;\n" + pointers;
  for (size_t i = 0; i < kernel.shared.size(); ++i)
    text += fmt::format("  __local {} s{}[{}]{};\n", at(kElements, kernel.shared[i].element), i, kernel.shared[i].count,
                        uses.shared_widths[i] > 1 ? " __attribute__((aligned(16)))" : "");
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("  {} a{}[{}];\n", at(kElements, kernel.arrays[i].element), i, kernel.arrays[i].count);
  return fmt::format("{}{}}}\n", text, body);
}

}  // namespace

const Spelling kOpencl{
    .language = Language::opencl,
    .name = "OpenCL C",
    .values = kValues,
    .elements = kElements,
    .are_arrays_packed = true,
    .has_vector_arrays = false,
    .f32_ending = "",
    .texts = {.fma = "fma($0, $1, $2)",
              .exp2 = "exp2_of($0)",
              .reciprocal = "reciprocal_of($0)",
              .saturate = "clamp($0, 0.0f, 1.0f)",
              .mul_high = "mul_hi($0, $1)",
              .pack_half = "pack_half($0)",
              .unpack_half = "unpack_half($0)",
              .pack_bf16 = "pack_bf16_of($0)",
              .larger = "larger_of($0, $1)",
              .philox = "philox($0, $1, $2, $3)",
              .f64_word = "as_uint2($0).s$1",
              .f64_of = "as_double((uint2)($0, $1))",
              .shuffle = "shuffle_xor($0, $1)",
              .thread = "(uint)get_local_id(0)",
              .block = {"(uint)get_group_id(0)", "(uint)get_group_id(1)", "(uint)get_group_id(2)"},
              .cast = "($0)$1",
              .value = "const $0 $1 = $2;",
              .variable = "$0 $1 = $2;",
              .loop = "for (uint $0 = $1; $0 < $2; $0 += $3) {",
              .unroll = "#pragma unroll",
              .keep_loop = "#pragma unroll 1",
              .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
              .barrier_everywhere = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
              .shared_vector = "*(__local $0*)($1)",
              .store_bits =
                  "atomic_and((volatile __global uint*)&$0, ~$2); atomic_or((volatile __global uint*)&$0, $1);",
              .is_first_fault = "atomic_cmpxchg((volatile __global int*)fault, 0, 1) == 0",
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
