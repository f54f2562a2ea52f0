// Real numbers by the C library, integers a line each.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tenon/backends/reference/ops.h"
#include "tenon/base/error.h"
#include "tenon/base/round_once.h"
#include "tenon/ir/library.h"

namespace tenon::backends::reference {
namespace {

using ir::Op;

// NaN wins, as in PyTorch.
double larger(double a, double b) {
  if (a == b) return std::signbit(a) ? b : a;  // 0 is larger than -0: the operands may change places
  return std::isnan(a) || a > b ? a : b;
}

double unary(Op op, double x) {
  if (const auto y = ir::by_library(op, x)) return *y;
  base::fail(ir::name(op), "the reference device has no such op on real numbers");
}

// Integers wrap like the machine's, so arithmetic is done on unsigned words.
int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

int64_t unary(Op op, int64_t x) {
  switch (op) {
    case Op::neg: return wrap(0 - static_cast<uint64_t>(x));
    case Op::abs: return x < 0 ? wrap(0 - static_cast<uint64_t>(x)) : x;
    default: base::fail(ir::name(op), "the reference device has no such op on integers");
  }
}

double binary(Op op, double a, double b) {
  if (op == Op::maximum) return larger(a, b);
  if (const auto y = ir::by_library(op, a, b)) return *y;
  base::fail(ir::name(op), "the reference device has no such op on real numbers");
}

// Shift counts outside the word give what shifting bit by bit would. Division by zero gives 0.
int64_t binary(Op op, int64_t a, int64_t b, int64_t bits) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case Op::add: return wrap(ua + ub);
    case Op::mul: return wrap(ua * ub);
    case Op::maximum: return std::max(a, b);
    case Op::idiv: return b == 0 ? 0 : b == -1 ? wrap(0 - ua) : a / b;
    case Op::mod: return b == 0 || b == -1 ? 0 : a % b;
    case Op::bit_and: return a & b;
    case Op::bit_or: return a | b;
    case Op::bit_xor: return a ^ b;
    case Op::shl: return b < 0 || b >= bits ? 0 : wrap(ua << b);
    case Op::shr: return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b;
    default: base::fail(ir::name(op), "the reference device has no such op on integers");
  }
}

bool compare(Op op, auto a, auto b) { return op == Op::less ? a < b : a == b; }

// Out-of-range values saturate and NaN is 0; then they wrap to narrower types on saving.
int64_t to_whole(double x) {
  if (std::isnan(x)) return 0;
  if (x >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (x < -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

void run_cast(const Array& in, Array& out) {
  const DType to = out.type.dtype;
  for (size_t i = 0; i < static_cast<size_t>(in.size()); ++i) {
    if (out.is_real()) {
      // A wide integer is rounded once, when the result is saved.
      const bool once = !in.is_real() && to != DType::f64;
      out.real[i] = once ? base::to_odd_double(in.whole[i]) : in.number(static_cast<int64_t>(i));
    } else if (to == DType::boolean) {
      out.whole[i] = in.is_real() ? in.real[i] != 0 : in.whole[i] != 0;
    } else if (in.is_real()) {
      const int64_t x = to_whole(in.real[i]);
      out.whole[i] = to == DType::i32 ? std::clamp<int64_t>(x, INT32_MIN, INT32_MAX) : x;
    } else {
      out.whole[i] = in.whole[i];
    }
  }
}

void run_unary(Op op, const Array& in, Array& out) {
  for (size_t i = 0; i < in.real.size(); ++i) out.real[i] = unary(op, in.real[i]);
  for (size_t i = 0; i < in.whole.size(); ++i) out.whole[i] = unary(op, in.whole[i]);
}

void run_binary(Op op, const Array& a, const Array& b, Array& out) {
  const bool compares = op == Op::less || op == Op::equal;
  const auto bits = static_cast<int64_t>(8 * size_of(a.type.dtype));
  for (size_t i = 0; i < static_cast<size_t>(out.size()); ++i) {
    if (compares) {
      out.whole[i] = a.is_real() ? compare(op, a.real[i], b.real[i]) : compare(op, a.whole[i], b.whole[i]);
    } else if (a.is_real()) {
      out.real[i] = binary(op, a.real[i], b.real[i]);
    } else {
      out.whole[i] = binary(op, a.whole[i], b.whole[i], bits);
    }
  }
}

void run_where(const Array& condition, const Array& a, const Array& b, Array& out) {
  for (size_t i = 0; i < condition.whole.size(); ++i) {
    const Array& chosen = condition.whole[i] ? a : b;
    if (out.is_real())
      out.real[i] = chosen.real[i];
    else
      out.whole[i] = chosen.whole[i];
  }
}

}  // namespace

void run_elementwise(const ir::Call& call, const Arrays& in, Array& out) {
  if (call.op == Op::cast) return run_cast(in[0], out);
  if (in.size() == 1) return run_unary(call.op, in[0], out);
  if (in.size() == 2) return run_binary(call.op, in[0], in[1], out);
  run_where(in[0], in[1], in[2], out);
}

}  // namespace tenon::backends::reference
