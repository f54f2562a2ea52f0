// The functions of math-inl.h as instructions; f16 and bf16 compute in f32 and round once.

#include "tenon/backends/cpu/highway.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/backends/cpu/tile/math.cpp"
#include "hwy/foreach_target.h"
// The order of these matters.
#include "hwy/highway.h"
#include "tenon/backends/cpu/tile/math-inl.h"
#include "tenon/backends/cpu/tile/tables.h"
#include "tenon/backends/cpu/tile/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace {

using ir::Op;

template <class F>
TileFn one(DType dtype) {
  switch (dtype) {
    case DType::f32: return map_one<F, DType::f32>;
    case DType::f16: return map_one<F, DType::f16>;
    case DType::bf16: return map_one<F, DType::bf16>;
    default: return nullptr;
  }
}

template <class F>
TileFn two(DType dtype) {
  switch (dtype) {
    case DType::f32: return map_two<F, DType::f32>;
    case DType::f16: return map_two<F, DType::f16>;
    case DType::bf16: return map_two<F, DType::bf16>;
    default: return nullptr;
  }
}

}  // namespace

TileFn find_math_here(Op op, DType dtype) {
  if (op == Op::pow) return two<Pow>(dtype);
  switch (op) {
#define TENON_OP(name, ...)                                                                      \
  case Op::name:                                                                                 \
    if constexpr (is_function_of_one<Lanes<1>>(Op::name)) return one<Function<Op::name>>(dtype); \
    return nullptr;
#include "tenon/ir/ops.def"
  }
  return nullptr;
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {

HWY_EXPORT(find_math_here);

TileFn find_math(ir::Op op, DType dtype) { return HWY_DYNAMIC_DISPATCH(find_math_here)(op, dtype); }

}  // namespace tenon::backends::cpu
#endif
