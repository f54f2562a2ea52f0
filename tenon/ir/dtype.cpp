// Names and promotion of dtypes.

#include "tenon/ir/dtype.h"

#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/nearest.h"

namespace tenon {
namespace {

constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "f64", "i32", "i64", "u8", "bool"};

}  // namespace

std::string_view name(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

DType parse_dtype(std::string_view text) {
  for (DType dtype : kAllDTypes) {
    if (name(dtype) == text) return dtype;
  }
  const std::vector<std::string> known(std::begin(kNames), std::end(kNames));
  const std::string hint = base::nearest(text, known);
  base::fail("dtype", "unknown dtype '{}'{}; known: {}", text,
             hint.empty() ? "" : fmt::format(", did you mean '{}'?", hint), fmt::join(known, " "));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (is_float(a)) return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
  return a == DType::i64 || b == DType::i64 ? DType::i64 : DType::i32;
}

}  // namespace tenon
