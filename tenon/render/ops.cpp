// How elementwise ops are spelled: one row for all languages where they agree, and rows of their own before it where
// they do not. The first row that fits op, type and language counts.
//
// C leaves the overflow of signed numbers undefined, so OpenCL and CUDA compute through unsigned ones; GLSL and WGSL
// wrap by themselves. Functions of mathematics have C's names, which are the ops'; of those that GLSL and WGSL have, a
// row says so.

#include "tenon/base/error.h"
#include "tenon/codegen/functions.h"
#include "tenon/render/spelling.h"

namespace tenon::render {
namespace {

using ir::Op;

constexpr uint32_t bit(Scalar type) { return 1u << static_cast<uint32_t>(type); }
constexpr uint32_t bit(Language language) { return 1u << static_cast<uint32_t>(language); }

constexpr uint32_t kBool = bit(Scalar::boolean), kF32 = bit(Scalar::f32);
constexpr uint32_t kFloat = kF32 | bit(Scalar::f64);
constexpr uint32_t kSigned = bit(Scalar::i32) | bit(Scalar::i64);
constexpr uint32_t kUnsigned = bit(Scalar::u32) | bit(Scalar::u64);
constexpr uint32_t kInt = kSigned | kUnsigned;
constexpr uint32_t kNumber = kInt | kFloat;
constexpr uint32_t kAny = kNumber | kBool;

constexpr uint32_t kOpenclC = bit(Language::opencl), kCudaC = bit(Language::cuda), kC = kOpenclC | kCudaC;
constexpr uint32_t kGl = bit(Language::glsl), kWebGpu = bit(Language::wgsl), kShader = kGl | kWebGpu;
constexpr uint32_t kAll = kC | kShader;

struct Row {
  Op op;
  uint32_t types;
  uint32_t languages;
  std::string_view text;
};

constexpr Row kRows[] = {
    {Op::neg, kFloat, kAll, "-$0"},
    {Op::neg, kInt, kC, "($T)(($U)0 - ($U)$0)"},
    {Op::neg, kSigned, kShader, "-$0"},
    {Op::neg, kUnsigned, kShader, "$T(0) - $0"},
    {Op::abs, kFloat, kC, "fabs$f($0)"},
    {Op::abs, kFloat, kShader, "abs($0)"},
    {Op::abs, kSigned, kC, "$0 < 0 ? ($T)(($U)0 - ($U)$0) : $0"},
    {Op::abs, kSigned, kGl, "$0 < 0 ? -$0 : $0"},
    {Op::abs, kSigned, kWebGpu, "abs($0)"},
    {Op::abs, kUnsigned, kAll, "$0"},

    {Op::sqrt, kFloat, kAll, "sqrt$f($0)"},
    {Op::floor, kFloat, kAll, "floor$f($0)"},
    {Op::round, kFloat, kC, "rint$f($0)"},
    {Op::round, kFloat, kGl, "roundEven($0)"},
    {Op::round, kFloat, kWebGpu, "round($0)"},
    {Op::exp, kF32, kShader, "exp($0)"},
    {Op::log, kF32, kShader, "log($0)"},
    {Op::log2, kF32, kShader, "log2($0)"},
    {Op::sin, kF32, kShader, "sin($0)"},
    {Op::cos, kF32, kShader, "cos($0)"},
    {Op::tanh, kF32, kShader, "tanh($0)"},
    {Op::pow, kF32, kShader, "pow($0, $1)"},

    {Op::add, kSigned, kC, "($T)(($U)$0 + ($U)$1)"},
    {Op::add, kNumber, kAll, "$0 + $1"},
    {Op::mul, kSigned, kC, "($T)(($U)$0 * ($U)$1)"},
    {Op::mul, kNumber, kAll, "$0 * $1"},
    {Op::div, kNumber, kAll, "$0 / $1"},
    {Op::idiv, kInt, kAll, "$0 / $1"},
    {Op::mod, kSigned, kGl, "$0 - $0 / $1 * $1"},  // GLSL's % says nothing of negative numbers
    {Op::mod, kInt, kAll, "$0 % $1"},
    {Op::mod, kFloat, kC, "fmod$f($0, $1)"},
    {Op::maximum, kBool, kAll, "$0 || $1"},
    {Op::maximum, kNumber, kWebGpu, "select($0, $1, $0 < $1)"},
    {Op::maximum, kNumber, kAll, "$0 < $1 ? $1 : $0"},
    {Op::less, kBool, kAll, "!$0 && $1"},
    {Op::less, kNumber, kAll, "$0 < $1"},
    {Op::equal, kAny, kAll, "$0 == $1"},

    {Op::bit_and, kBool, kAll, "$0 && $1"},
    {Op::bit_and, kInt, kAll, "$0 & $1"},
    {Op::bit_or, kBool, kAll, "$0 || $1"},
    {Op::bit_or, kInt, kAll, "$0 | $1"},
    {Op::bit_xor, kBool, kAll, "$0 != $1"},
    {Op::bit_xor, kInt, kAll, "$0 ^ $1"},
    {Op::shl, kInt, kC, "($T)(($U)$0 << $1)"},
    {Op::shl, kInt, kGl, "$0 << $1"},
    {Op::shl, kInt, kWebGpu, "$0 << u32($1)"},
    {Op::shr, kInt, kWebGpu, "$0 >> u32($1)"},
    {Op::shr, kInt, kAll, "$0 >> $1"},

    {Op::where, kAny, kWebGpu, "select($2, $1, $0)"},
    {Op::where, kAny, kAll, "$0 ? $1 : $2"},
};

/// A call of C's function with the op's name.
std::string_view call_of(Op op) {
  switch (op) {
#define TENON_OP(name, kind, arity, ...)                                  \
  case Op::name: return arity == 1 ? #name "$f($0)" : #name "$f($0, $1)";
#include "tenon/ir/ops.def"
  }
  return {};
}

}  // namespace

std::string_view text_of(Op op, Scalar type, const Spelling& spelling) {
  for (const Row& row : kRows)
    if (row.op == op && (row.types & bit(type)) && (row.languages & bit(spelling.language))) return row.text;
  if (codegen::is_function(op) && (kFloat & bit(type)) && (kC & bit(spelling.language))) return call_of(op);
  base::fail("render", "{} has no spelling of {} on {}", spelling.name, ir::name(op), codegen::name(type));
}

}  // namespace tenon::render
