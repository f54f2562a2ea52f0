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

std::string several(Scalar element, uint32_t width) {
  return fmt::format("Several<{}, {}>", at(kElements, element), width);
}

std::string zeros(Scalar element, uint32_t width) { return several(element, width) + "{}"; }

std::string component(Scalar element, std::string_view value, uint32_t i) {
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
  const Scalar element = kernel.buffers[inst.slot].element;
  if (inst.width == 1)
    return fmt::format("{} = {};", place(kernel, inst, index), c_element(kElements, element, values[0]));
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : ", ") + c_element(kElements, element, value);
  const std::string type = several(element, inst.width);
  return fmt::format("*({}*)(b{} + {}) = {}{{{}}};", type, inst.slot, c_index(kValues, kernel, inst, index), type, all);
}

std::string file(const KernelIr& kernel, const Uses& uses, std::string_view body) {
  std::string text;
  bool has_several = uses.philox;
  for (const uint32_t widths : uses.widths) has_several |= widths > 1;
  if (has_several) text += kSeveral;
  if (uses.pack_half) text += kPackHalf;
  if (uses.unpack_half) text += kUnpackHalf;
  if (uses.philox) text += kPhilox;

  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(", kernel.threads, kernel.name);
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
  for (size_t i = 0; i < kernel.shared.size(); ++i)
    text +=
        fmt::format("  __shared__ {} s{}[{}];\n", at(kElements, kernel.shared[i].element), i, kernel.shared[i].count);
  for (size_t i = 0; i < kernel.arrays.size(); ++i)
    text += fmt::format("  {} a{}[{}];\n", at(kElements, kernel.arrays[i].element), i, kernel.arrays[i].count);
  return fmt::format("{}{}}}\n", text, body);
}

}  // namespace

const Spelling kCuda{
    .language = Language::cuda,
    .name = "CUDA C++",
    .values = kValues,
    .elements = kElements,
    .are_arrays_packed = true,
    .f32_ending = "f",
    .texts = {.fma = "fma$f($0, $1, $2)",
              .mul_high = "__umulhi($0, $1)",
              .pack_half = "pack_half($0)",
              .unpack_half = "unpack_half($0)",
              .philox = "philox($0, $1, $2, $3)",
              .shuffle = "__shfl_xor_sync(0xffffffffu, $0, $1)",
              .thread = "threadIdx.x",
              .block = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
              .cast = "($0)$1",
              .value = "const $0 $1 = $2;",
              .variable = "$0 $1 = $2;",
              .loop = "for (unsigned $0 = $1; $0 < $2; $0 += $3) {",
              .unroll = "#pragma unroll",
              .barrier = "__syncthreads();",
              .barrier_everywhere = "__syncthreads();",
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
    .file = file,
};

}  // namespace tenon::render
