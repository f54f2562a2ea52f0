// CUDA C++ as NVRTC takes it without any header; -fmad=false keeps it from contracting.
//
// Arguments as in OpenCL: a pointer and a byte offset for each buffer, the launch's numbers, the device's fault words
// and `guards`.

#include <fmt/format.h>

#include <bit>

#include "tenon/base/error.h"
#include "tenon/render/memory.h"

namespace tenon::render {
namespace {

constexpr TypeNames kValues{"bool", "int", "unsigned", "long long", "unsigned long long", "float", "double", "", ""};
constexpr TypeNames kElements{"unsigned char", "int",    "unsigned",      "long long",     "unsigned long long",
                              "float",         "double", "unsigned char", "unsigned short"};

// 16 bytes are the widest access there is; eight floats are two of them.
constexpr std::string_view kSeveral = R"(template <typename T, int N>
struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Several {
  T s[N];
};
)";

constexpr std::string_view kPackHalf = R"(__device__ unsigned pack_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
)";
constexpr std::string_view kUnpackHalf = R"(__device__ float unpack_half(unsigned x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)x));
  return value;
}
)";

// From compute capability 8.0 on.
constexpr std::string_view kPackBf16 = R"(__device__ unsigned pack_bf16_of(float x) {
  unsigned bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(0.0f), "f"(x));
  return bits;
}
)";
constexpr std::string_view kLarger = R"(__device__ float larger_of(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
)";

constexpr std::string_view kPhilox =
    R"(__device__ Several<unsigned, 4> philox(unsigned key0, unsigned key1, unsigned low, unsigned high) {
  Several<unsigned, 4> x{low, high, 0u, 0u};
  for (int round = 0; round < 10; ++round) {
    x = {__umulhi(0xCD9E8D57u, x.s[2]) ^ x.s[1] ^ key0, 0xCD9E8D57u * x.s[2],
         __umulhi(0xD2511F53u, x.s[0]) ^ x.s[3] ^ key1, 0xD2511F53u * x.s[0]};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}
)";

constexpr std::string_view kExp2 = R"(__device__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)";

constexpr std::string_view kReciprocal = R"(__device__ float reciprocal_of(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)";

// The first number goes into the lower half.
constexpr std::string_view kPairs = R"(__device__ unsigned pack_f16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ unsigned pack_bf16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
)";

// As in OpenCL: see there.
constexpr std::string_view kTiles = R"(using Tile = Several<unsigned, 4>;
using TileSum = Several<float, 8>;
__device__ unsigned tile_row(const unsigned* array, unsigned at, unsigned stride, bool is_transposed) {
  const unsigned lane = threadIdx.x % 32u;
  const unsigned row = is_transposed ? lane % 8u + lane / 16u * 8u : lane % 16u;
  const unsigned column = is_transposed ? lane / 8u % 2u * 8u : lane / 16u * 8u;
  return (unsigned)__cvta_generic_to_shared(array + (at + row * stride + column) / 2u);
}
__device__ Tile tile_load(unsigned from) {
  Tile x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.s[0]), "=r"(x.s[1]), "=r"(x.s[2]), "=r"(x.s[3]) : "r"(from) : "memory");
  return x;
}
__device__ Tile tile_load_turned(unsigned from) {
  Tile x;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.s[0]), "=r"(x.s[1]), "=r"(x.s[2]), "=r"(x.s[3]) : "r"(from) : "memory");
  return x;
}
#define TILE_MMA(name, type) \
__device__ void name(TileSum& sum, const Tile& left, const Tile& right) { \
  _Pragma("unroll") for (int half = 0; half < 2; ++half) { \
    float* s = sum.s + 4 * half; \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 " \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) \
                 : "r"(left.s[0]), "r"(left.s[1]), "r"(left.s[2]), "r"(left.s[3]), \
                   "r"(right.s[2 * half]), "r"(right.s[2 * half + 1])); \
  } \
}
TILE_MMA(tile_mma_f16, "f16")
TILE_MMA(tile_mma_bf16, "bf16")
__device__ void tile_store(unsigned* array, unsigned at, unsigned stride, const TileSum& sum) {
  const unsigned lane = threadIdx.x % 32u;
  float* to = (float*)(array + (at + lane / 4u * stride + lane % 4u * 2u));
  *(Several<float, 2>*)to = {sum.s[0], sum.s[1]};
  *(Several<float, 2>*)(to + 8u * stride) = {sum.s[2], sum.s[3]};
  *(Several<float, 2>*)(to + 8u) = {sum.s[4], sum.s[5]};
  *(Several<float, 2>*)(to + 8u * stride + 8u) = {sum.s[6], sum.s[7]};
}
)";

std::string tile(const KernelIr& kernel, const Inst& inst, std::string_view value,
                 std::span<const std::string> operands) {
  using codegen::TileBits;
  switch (inst.kind) {
    case Inst::Kind::tile_zero: return fmt::format("TileSum {}{{}};", value);
    case Inst::Kind::tile_load: {
      const bool is_transposed = inst.bits & TileBits::kTransposed, is_right = inst.bits & TileBits::kRight;
      return fmt::format("const Tile {} = {}(tile_row(s{}, {}, {}, {}));", value,
                         is_transposed != is_right ? "tile_load_turned" : "tile_load", inst.slot, operands[0],
                         operands[1], is_transposed);
    }
    case Inst::Kind::tile_mma:
      return fmt::format("tile_mma_{}({}, {}, {});", kernel.code[inst.args[1]].bits & TileBits::kBf16 ? "bf16" : "f16",
                         operands[0], operands[1], operands[2]);
    case Inst::Kind::tile_get: return fmt::format("const float {} = {}.s[{}];", value, operands[0], inst.slot);
    case Inst::Kind::tile_set: return fmt::format("{}.s[{}] = {};", operands[0], inst.slot, operands[1]);
    case Inst::Kind::tile_pack: return fmt::format("const Tile {}{{{}}};", value, packed_pairs(inst, operands));
    default: return fmt::format("tile_store(s{}, {}, {}, {});", inst.slot, operands[1], operands[2], operands[0]);
  }
}

std::string constant(Scalar type, uint64_t bits) {
  if (!codegen::is_float(type)) return integer_literal(type, bits, {.u32 = "u", .i64 = "ll", .u64 = "ull"});
  const auto value = std::bit_cast<double>(bits);
  const std::string literal = float_literal(type, value, "f");
  if (!literal.empty()) return literal;
  return type == Scalar::f32 ? fmt::format("__uint_as_float({:#x}u)", float_bits(type, value))
                             : fmt::format("__longlong_as_double({:#x}ll)", float_bits(type, value));
}

std::string bitcast(Scalar from, Scalar to, std::string_view value) {
  switch (from) {
    case Scalar::f32: return fmt::format("__float_as_{}({})", to == Scalar::i32 ? "int" : "uint", value);
    case Scalar::f64: return fmt::format("({})__double_as_longlong({})", at(kValues, to), value);
    default: break;
  }
  if (to == Scalar::f32) return fmt::format("__{}_as_float({})", from == Scalar::i32 ? "int" : "uint", value);
  if (to == Scalar::f64) return fmt::format("__longlong_as_double((long long){})", value);
  return fmt::format("({}){}", at(kValues, to), value);
}

std::string vector_of(Scalar element, uint32_t width) {
  return fmt::format("Several<{}, {}>", at(kElements, element), width);
}

// Halves are read as words: of a half by itself the compiler makes three instructions before it is a float, of the
// upper one of a word one.
std::string several(Scalar element, uint32_t width) {
  return element == Scalar::u16 ? vector_of(Scalar::u32, width / 2) : vector_of(element, width);
}

std::string zeros(Scalar element, uint32_t width) { return several(element, width) + "{}"; }

std::string component(Scalar element, std::string_view value, uint32_t i) {
  if (element == Scalar::u16) return fmt::format("{}.s[{}] {}", value, i / 2, i % 2 == 0 ? "& 0xffffu" : ">> 16");
  return c_value(kValues, element, fmt::format("{}.s[{}]", value, i));
}

std::string place(const KernelIr& kernel, const Inst& inst, std::string_view index) {
  return fmt::format("b{}[{}]", inst.slot, c_index(kValues, kernel, inst, index));
}

std::string load(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index) {
  const Scalar element = kernel.buffers[inst.slot].element;
  if (inst.width == 1) return c_value(kValues, element, place(kernel, inst, index));
  return fmt::format("*(const {}*)(b{} + {})", several(element, inst.width), inst.slot,
                     c_index(kValues, kernel, inst, index));
}

std::string store(const KernelIr& kernel, const Uses&, const Inst& inst, std::string_view index,
                  std::span<const std::string> values) {
  const bool are_pairs = values.size() < inst.width;
  const Scalar element = are_pairs ? Scalar::u32 : kernel.buffers[inst.slot].element;
  if (inst.width == 1)
    return fmt::format("{} = {};", place(kernel, inst, index), c_element(kElements, element, values[0]));
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ", ") + c_element(kElements, element, value);
  const std::string type = vector_of(element, static_cast<uint32_t>(values.size()));
  return fmt::format("*({}*)(b{} + {}) = {}{{{}}};", type, inst.slot, c_index(kValues, kernel, inst, index), type, all);
}

uint32_t shared_bytes_of(const codegen::KernelArray& array) {
  constexpr uint32_t kAligned = 16;
  return (array.count * static_cast<uint32_t>(codegen::size_of(array.element)) + kAligned - 1) / kAligned * kAligned;
}

// A block has 48 KiB by itself; what is beyond comes with the launch, as one array.
std::string shared_arrays(const KernelIr& kernel, const Uses& uses) {
  const bool comes_with_launch = cuda_shared_bytes_of_launch(kernel) > 0;
  std::string text = comes_with_launch ? "  extern __shared__ __align__(16) unsigned char shared_memory[];\n" : "";
  uint32_t begin = 0;
  for (size_t i = 0; i < kernel.shared.size(); ++i) {
    const std::string_view type = at(kElements, kernel.shared[i].element);
    if (comes_with_launch)
      text += fmt::format("  {}* s{} = ({}*)(shared_memory + {});\n", type, i, type, begin);
    else
      text += fmt::format("  __shared__ {}{} s{}[{}];\n", uses.shared_widths[i] > 1 ? "__align__(16) " : "", type, i,
                          kernel.shared[i].count);
    begin += shared_bytes_of(kernel.shared[i]);
  }
  return text;
}

std::string file(const KernelIr& kernel, const Uses& uses, std::string_view body) {
  std::string text;
  bool has_several = uses.philox;
  for (const uint32_t widths : uses.widths) has_several |= widths > 1;
  for (const uint32_t widest : uses.shared_widths) has_several |= widest > 1;
  if (has_several) text += kSeveral;
  if (uses.pack_half) text += kPackHalf;
  if (uses.unpack_half) text += kUnpackHalf;
  if (uses.pack_bf16) text += kPackBf16;
  if (uses.larger) text += kLarger;
  if (uses.philox) text += kPhilox;
  if (uses.exp2) text += kExp2;
  if (uses.reciprocal) text += kReciprocal;
  if (uses.tiles) text += kTiles;
  if (uses.tile_packs || uses.pairs) text += kPairs;

  const std::string resident = kernel.resident > 1 ? fmt::format(", {}", kernel.resident) : "";
  text +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}{}) {}(", kernel.threads, resident, kernel.name);
  std::string pointers;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const auto& buffer = kernel.buffers[i];
    const std::string_view is_const = buffer.is_written ? "" : "const ";
    const std::string_view restrict = buffer.is_aliased ? "" : " __restrict__";
    const std::string_view type = at(kElements, buffer.element);
    text += fmt::format("{}unsigned char*{} m{}, unsigned long long o{}, ", is_const, restrict, i, i);
    pointers += fmt::format("  {}{}*{} b{} = ({}{}*)(m{} + o{});\n", is_const, type, restrict, i, is_const, type, i, i);
  }
  for (uint32_t i = 0; i < kernel.numbers; ++i) text += fmt::format("unsigned long long n{}, ", i);
  text += "int* fault, unsigned guards) {\n  if (guards != 0 && fault[0] != 0) return;\n" + pointers;
  text += shared_arrays(kernel, uses);
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("  {} a{}[{}];\n", at(kElements, kernel.arrays[i].element), i, kernel.arrays[i].count);
  return fmt::format("{}{}}}\n", text, body);
}

}  // namespace

uint32_t cuda_shared_bytes_of_launch(const KernelIr& kernel) {
  constexpr uint32_t kOfABlock = 48 << 10;
  uint32_t bytes = 0;
  for (const codegen::KernelArray& array : kernel.shared) bytes += shared_bytes_of(array);
  return bytes > kOfABlock ? bytes : 0;
}

const Spelling kCuda{
    .language = Language::cuda,
    .name = "CUDA C++",
    .values = kValues,
    .elements = kElements,
    .are_arrays_packed = true,
    .has_vector_arrays = false,
    .f32_ending = "f",
    .texts = {.pair_of_halves = "pack_f16($0, $1)",
              .pair_of_bf16 = "pack_bf16($0, $1)",
              .fma = "fma$f($0, $1, $2)",
              .exp2 = "exp2_of($0)",
              .reciprocal = "reciprocal_of($0)",
              .saturate = "__saturatef($0)",
              .mul_high = "__umulhi($0, $1)",
              .pack_half = "pack_half($0)",
              .unpack_half = "unpack_half($0)",
              .pack_bf16 = "pack_bf16_of($0)",
              .larger = "larger_of($0, $1)",
              .philox = "philox($0, $1, $2, $3)",
              .f64_word = "(unsigned)((unsigned long long)__double_as_longlong($0) >> 32 * $1)",
              .f64_of = "__hiloint2double((int)$1, (int)$0)",
              .shuffle = "__shfl_xor_sync(0xffffffffu, $0, $1)",
              .thread = "threadIdx.x",
              .block = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
              .cast = "($0)$1",
              .value = "const $0 $1 = $2;",
              .variable = "$0 $1 = $2;",
              .loop = "for (unsigned $0 = $1; $0 < $2; $0 += $3) {",
              .unroll = "#pragma unroll",
              .keep_loop = "#pragma unroll 1",
              .barrier = "__syncthreads();",
              .barrier_everywhere = "__syncthreads();",
              .shared_vector = "*($0*)($1)",
              .store_bits = "atomicAnd(&$0, ~$2); atomicOr(&$0, $1);",
              .is_first_fault = "atomicCAS(fault, 0, 1) == 0",
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
