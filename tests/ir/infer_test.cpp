// Each rule of the table refuses wrong operands with its own text, and gives the right type for right ones.

#include "tenon/ir/infer.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/ir/build.h"
#include "tenon/ir/print.h"

namespace tenon::ir {
namespace {

constexpr DeviceId kHere{0, "here"}, kThere{1, "there"};

Value of(DType dtype, const Dims& shape = {2, 3}, DeviceId device = kHere) {
  static uint64_t next = uint64_t{1} << 49;
  return buffer({next++, 0, device, {dtype, shape}});
}
Value f32(const Dims& shape = {2, 3}) { return of(DType::f32, shape); }
Value f16(const Dims& shape = {2, 3}) { return of(DType::f16, shape); }
Value i32(const Dims& shape = {2, 3}) { return of(DType::i32, shape); }
Value i64(const Dims& shape = {2, 3}) { return of(DType::i64, shape); }
Value boolean(const Dims& shape = {2, 3}) { return of(DType::boolean, shape); }

NodeRef attend(Operands operands, AttentionAttrs attrs = {}) {
  return Node::make(Op::attention, std::move(operands), attrs);
}
NodeRef attend_back(Operands operands, AttentionAttrs attrs = {}) {
  return Node::make(Op::attention_backward, std::move(operands), attrs);
}
constexpr AttentionAttrs kMasked{1.0, false, true};

struct Case {
  std::string what;
  std::function<void()> record;
  std::string text;  // empty: any refusal will do
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.what; }

class Refusals : public testing::TestWithParam<Case> {};

TEST_P(Refusals, NameTheOpAndTheOperands) {
  try {
    GetParam().record();
    FAIL() << GetParam().what << ": accepted";
  } catch (const Error& error) {
    if (!GetParam().text.empty()) {
      EXPECT_EQ(std::string(error.what()), GetParam().text);
    }
  }
}

const Case kDTypeCases[] = {
    {"a state that is not i64", [] { random_bits(i32({2}), 4, 0); }, "[random_bits] takes an i64 state, got i32"},
    {"same: two dtypes", [] { binary(Op::maximum, f32(), i32()); }, "[maximum] dtypes f32 and i32 differ"},
    {"store: another dtype", [] { store(f32(), f16(), {}); }, "[store] dtypes f32 and f16 differ"},
    {"number: two dtypes", [] { add(f32(), f16()); }, "[add] dtypes f32 and f16 differ"},
    {"number: bool", [] { add(boolean(), boolean()); }, "[add] takes numbers, got bool"},
    {"number: neg of bool", [] { neg(boolean()); }, "[neg] takes numbers, got bool"},
    {"number: sum of bool", [] { reduce(Op::sum, boolean(), {0}); }, "[sum] takes numbers, got bool"},
    {"number: scan of bool", [] { scan(boolean(), 0, ScanKind::sum); }, "[scan] takes numbers, got bool"},
    {"real: integers", [] { exp(i32()); }, "[exp] takes floating-point values, got i32"},
    {"real: division of integers", [] { div(i64(), i64()); }, "[div] takes floating-point values, got i64"},
    {"integer: floats", [] { binary(Op::idiv, f32(), f32()); }, "[idiv] takes integers, got f32"},
    {"integer: bool", [] { binary(Op::shl, boolean(), boolean()); }, "[shl] takes integers, got bool"},
    {"bits: floats", [] { binary(Op::bit_xor, f32(), f32()); }, "[bit_xor] takes integers or bool, got f32"},
    {"compare: two dtypes", [] { less(i32(), i64()); }, "[less] dtypes i32 and i64 differ"},
    {"select: a condition of numbers", [] { where(i32(), f32(), f32()); }, "[where] takes a bool condition, got i32"},
    {"select: two dtypes", [] { where(boolean(), f32(), f16()); }, "[where] dtypes f32 and f16 differ"},
    {"bitcast: another size", [] { bitcast(f32(), DType::i64); }, "[bitcast] f32 has not the bits of i64"},
    {"bitcast: bool", [] { bitcast(boolean(), DType::u8); }, "[bitcast] bool has not the bits of u8"},
    {"indexed: real indices", [] { gather(f32(), f32({4}), 0); }, "[gather] takes i32 or i64 indices, got f32"},
    {"indexed: bytes as indices", [] { gather(f32(), of(DType::u8, {4}), 0); },
     "[gather] takes i32 or i64 indices, got u8"},
    {"scatter: two dtypes", [] { scatter_add(f32({3}), i64({2}), f16({2}), 0); },
     "[scatter_add] dtypes f32 and f16 differ"},
    {"scatter: bool", [] { scatter_add(boolean({3}), i64({2}), boolean({2}), 0); },
     "[scatter_add] takes numbers, got bool"},
    {"contract: two dtypes",
     [] {
       contract(f32({2, 2}), f16({2, 2}), DType::f32);
     },
     "[contract] dtypes f32 and f16 differ"},
    {"contract: bool",
     [] {
       contract(boolean({2, 2}), boolean({2, 2}), DType::f32);
     },
     "[contract] takes numbers, got bool"},
    {"contract: floats into integers",
     [] {
       contract(f32({2, 2}), f32({2, 2}), DType::i64);
     },
     ""},
    {"contract: numbers into bool",
     [] {
       contract(i64({2, 2}), i64({2, 2}), DType::boolean);
     },
     ""},
    {"attention: integers",
     [] {
       attend({i64({1, 1, 2, 4}), i64({1, 1, 2, 4}), i64({1, 1, 2, 4})});
     },
     "[attention] takes floating-point values, got i64"},
    {"attention: keys of another dtype",
     [] {
       attend({f32({1, 1, 2, 4}), f16({1, 1, 2, 4}), f32({1, 1, 2, 4})});
     },
     "[attention] query (1, 1, 2, 4), key (1, 1, 2, 4) and value (1, 1, 2, 4) do not fit"},
    {"attention: a bool mask, which is not additive",
     [] {
       attend({f32({1, 1, 2, 4}), f32({1, 1, 3, 4}), f32({1, 1, 3, 4}), boolean({1, 1, 2, 3})}, kMasked);
     },
     ""},
};

const Case kShapeCases[] = {
    {"a state of another shape", [] { random_bits(i64({3}), 4, 0); },
     "[random_bits] state must have shape (2,), got (3,)"},
    {"same: two shapes",
     [] {
       add(f32({2, 3}), f32({3}));
     },
     "[add] shapes (2, 3) and (3,) differ"},
    {"same: where", [] { where(boolean({2}), f32({3}), f32({3})); }, "[where] shapes (2,) and (3,) differ"},
    {"move",
     [] {
       reshape(f32({2, 3}), {4});
     },
     "[reshape] shape=(4,) does not fit shape (2, 3)"},
    {"move: a permutation of a permutation",
     [] {
       permute(permute(f32({2, 3}), {1, 0}), {0, 7});
     },
     "[permute] axes=(0, 7) does not fit shape (3, 2)"},
    {"move: a whole shrink with steps that do not fit", [] { shrink(f32({4}), {0}, {4}, {2}); },
     "[shrink] start=(0,) size=(4,) step=(2,) does not fit shape (4,)"},
    {"move: pads of another rank",
     [] {
       pad(f32({4}), {0, 0}, {0, 0});
     },
     "[pad] before=(0, 0) after=(0, 0) does not fit shape (4,)"},
    {"reduce: an axis out of range",
     [] {
       reduce(Op::sum, f32({2, 3}), {2});
     },
     "[sum] axis 2 is out of range for rank 2"},
    {"reduce: a negative axis",
     [] {
       reduce(Op::max, f32({2, 3}), {-1});
     },
     "[max] axis -1 is out of range for rank 2"},
    {"reduce: max of nothing",
     [] {
       reduce(Op::max, f32({2, 0}), {1});
     },
     "[max] cannot reduce axis 1 of (2, 0): it is empty and max has no identity"},
    {"gather: an axis out of range",
     [] {
       gather(f32({2, 3}), i64({4}), 2);
     },
     "[gather] axis 2 is out of range for rank 2"},
    {"gather: from a single number", [] { gather(f32({}), i64({4}), 0); },
     "[gather] axis 0 is out of range for rank 0"},
    {"scatter: values that do not fit",
     [] {
       scatter_add(f32({5, 3}), i64({2}), f32({2, 4}), 0);
     },
     "[scatter_add] values have shape (2, 4), the indices select (2, 3)"},
    {"contract: inner sizes",
     [] {
       contract(f32({2, 3}), f32({4, 2}), DType::f32);
     },
     "[contract] shapes (2, 3) and (4, 2) do not fit"},
    {"contract: batches",
     [] {
       contract(f32({5, 2, 3}), f32({4, 3, 2}), DType::f32);
     },
     "[contract] shapes (5, 2, 3) and (4, 3, 2) do not fit"},
    {"contract: ranks",
     [] {
       contract(f32({1, 2, 3}), f32({3, 2}), DType::f32);
     },
     "[contract] shapes (1, 2, 3) and (3, 2) do not fit"},
    {"contract: vectors", [] { contract(f32({3}), f32({3}), DType::f32); },
     "[contract] shapes (3,) and (3,) do not fit"},
    {"sort: an axis out of range", [] { sort(f32({2}), 1, false); }, "[sort] axis 1 is out of range for rank 1"},
    {"scan: an axis out of range", [] { scan(f32({}), 0, ScanKind::sum); }, "[scan] axis 0 is out of range for rank 0"},
    {"store: a value that does not fit", [] { store(f32({4}), f32({3}), {}); },
     "[store] a value of shape (3,) does not fit a target of (4,)"},
    {"store: a target outside of the base",
     [] {
       store(f32({4}), f32({2}), {{Op::shrink, ShrinkAttrs{{3}, {2}, {1}}}});
     },
     "[shrink] start=(3,) size=(2,) step=(1,) does not fit shape (4,)"},
    {"store: a target of which a part is padding",
     [] {
       store(f32({4}), f32({6}), {{Op::pad, PadAttrs{{1}, {1}}}});
     },
     ""},
    {"iota of a negative size", [] { iota(-3, DType::i64, kHere); }, ""},
    {"random bits of a negative size", [] { random_bits(i64({2}), -1, 0); }, ""},
    {"a buffer of a negative size",
     [] {
       f32({2, -3});
     },
     ""},
    {"attention: rank",
     [] {
       attend({f32({2, 4}), f32({2, 4}), f32({2, 4})});
     },
     "[attention] query (2, 4), key (2, 4) and value (2, 4) do not fit"},
    {"attention: heads that groups do not divide",
     [] {
       attend({f32({1, 3, 2, 4}), f32({1, 2, 5, 4}), f32({1, 2, 5, 4})});
     },
     "[attention] query (1, 3, 2, 4), key (1, 2, 5, 4) and value (1, 2, 5, 4) do not fit"},
    {"attention: no key heads",
     [] {
       attend({f32({1, 0, 2, 4}), f32({1, 0, 5, 4}), f32({1, 0, 5, 4})});
     },
     "[attention] query (1, 0, 2, 4), key (1, 0, 5, 4) and value (1, 0, 5, 4) do not fit"},
    {"attention: head sizes",
     [] {
       attend({f32({1, 1, 2, 4}), f32({1, 1, 5, 3}), f32({1, 1, 5, 4})});
     },
     "[attention] query (1, 1, 2, 4), key (1, 1, 5, 3) and value (1, 1, 5, 4) do not fit"},
    {"attention: lengths",
     [] {
       attend({f32({1, 1, 2, 4}), f32({1, 1, 5, 4}), f32({1, 1, 6, 4})});
     },
     "[attention] query (1, 1, 2, 4), key (1, 1, 5, 4) and value (1, 1, 6, 4) do not fit"},
    {"attention: batches",
     [] {
       attend({f32({1, 1, 2, 4}), f32({2, 1, 5, 4}), f32({2, 1, 5, 4})});
     },
     "[attention] query (1, 1, 2, 4), key (2, 1, 5, 4) and value (2, 1, 5, 4) do not fit"},
    {"attention: a mask of another shape",
     [] {
       attend({f32({1, 2, 3, 4}), f32({1, 2, 5, 4}), f32({1, 2, 5, 4}), f32({1, 1, 3, 5})}, kMasked);
     },
     "[attention] mask (1, 1, 3, 5) does not fit scores (1, 2, 3, 5)"},
    {"attention: no mask where one is promised",
     [] {
       attend({f32({1, 1, 2, 4}), f32({1, 1, 2, 4}), f32({1, 1, 2, 4})}, kMasked);
     },
     "[attention] takes 4 operands, got 3"},
    {"attention backward: too few operands",
     [] {
       attend_back({f32({1, 1, 2, 4}), f32({1, 1, 2, 4}), f32({1, 1, 2, 4})});
     },
     "[attention_backward] takes 6 operands, got 3"},
    {"attention backward: an output of another shape",
     [] {
       const Value x = f32({1, 1, 2, 4});
       attend_back({x, x, x, f32({1, 1, 2, 3}), f32({1, 1, 2}), x});
     },
     ""},
    {"attention backward: a log-sum-exp of another shape",
     [] {
       const Value x = f32({1, 1, 2, 4});
       attend_back({x, x, x, x, f32({1, 1, 1}), x});
     },
     ""},
    {"attention backward: a gradient of another shape",
     [] {
       const Value x = f32({1, 1, 2, 4});
       attend_back({x, x, x, x, f32({1, 1, 2}), f32({1, 1, 1, 4})});
     },
     ""},
};

const Case kOperandCases[] = {
    {"too many",
     [] {
       Node::make(Op::exp, {f32(), f32()}, NoAttrs());
     },
     "[exp] takes 1 operands, got 2"},
    {"too few", [] { Node::make(Op::add, {f32()}, NoAttrs()); }, "[add] takes 2 operands, got 1"},
    {"operands of a leaf",
     [] {
       Node::make(Op::iota, {f32()}, IotaAttrs{3, DType::i64, kHere});
     },
     "[iota] takes 0 operands, got 1"},
    {"none where any number will do", [] { Node::make(Op::after, {}, NoAttrs()); },
     "[after] takes at least 1 operand, got 0"},
    {"an empty one", [] { add(f32(), Value()); }, "[add] an operand is empty"},
    {"two devices",
     [] {
       add(f32(), of(DType::f32, {2, 3}, kThere));
     },
     "[add] operands are on here and there"},
    {"foreign attributes", [] { Node::make(Op::exp, {f32()}, CastAttrs()); }, "[exp] carries NoAttrs"},
    {"a custom node of no results",
     [] {
       Node::make(Op::custom, {f32()}, CustomAttrs{nullptr, 0});
     },
     "[custom] 0 results of 1 operands"},
    {"a custom node of too many results",
     [] {
       Node::make(Op::custom, {f32()}, CustomAttrs{nullptr, 2});
     },
     "[custom] 2 results of 1 operands"},
};

INSTANTIATE_TEST_SUITE_P(DTypes, Refusals, testing::ValuesIn(kDTypeCases));
INSTANTIATE_TEST_SUITE_P(Shapes, Refusals, testing::ValuesIn(kShapeCases));
INSTANTIATE_TEST_SUITE_P(Operands, Refusals, testing::ValuesIn(kOperandCases));

// ---- what right operands give ----

std::string type_of(const Value& value) { return to_string(value.type()); }

TEST(Infer, GivesTheTypeOfEachRule) {
  EXPECT_EQ(type_of(iota(5, DType::f16, kHere)), "f16(5,)");
  EXPECT_EQ(type_of(constant(1, DType::u8, kHere)), "u8()");
  EXPECT_EQ(type_of(random_bits(i64({2}), 7, 0)), "i32(7,)");
  EXPECT_EQ(type_of(less(f16(), f16())), "bool(2, 3)");
  EXPECT_EQ(type_of(where(boolean(), i64(), i64())), "i64(2, 3)");
  EXPECT_EQ(type_of(cast(f32(), DType::boolean)), "bool(2, 3)");
  EXPECT_EQ(type_of(bitcast(f32(), DType::i32)), "i32(2, 3)");
  EXPECT_EQ(type_of(reduce(Op::max, f32({2, 3, 0}), {0, 1})), "f32(1, 1, 0)");
  EXPECT_EQ(type_of(reduce(Op::sum, f32({2, 0}), {1})), "f32(2, 1)");
  EXPECT_EQ(type_of(gather(f32({5, 6, 7}), i32({2, 3}), 1)), "f32(5, 2, 3, 7)");
  EXPECT_EQ(type_of(gather(f32({5}), i64({}), 0)), "f32()");
  EXPECT_EQ(type_of(scatter_add(f32({5, 6}), i64({4}), f32({4, 6}), 0)), "f32(5, 6)");
  EXPECT_EQ(type_of(contract(f16({4, 2, 3}), f16({4, 3, 5}), DType::f32)), "f32(4, 2, 5)");
  EXPECT_EQ(type_of(contract(f32({2, 0}), f32({0, 5}), DType::f32)), "f32(2, 5)");
  EXPECT_EQ(type_of(store(f32({4}), f32({2}), {{Op::shrink, ShrinkAttrs{{0}, {2}, {2}}}})), "f32(4,)");
  EXPECT_EQ(type_of(after(f32(), std::vector{i64({9})})), "f32(2, 3)");
  EXPECT_EQ(type_of(copy(f32(), kThere)), "f32(2, 3)");
  EXPECT_EQ(copy(f32(), kThere).device(), kThere);
}

TEST(Infer, GivesAMaskItsGradient) {
  const Value q = f16({1, 2, 3, 4}), k = f16({1, 2, 5, 4}), mask = f32({1, 2, 3, 5}), lse = f32({1, 2, 3});
  const NodeRef back = attend_back({q, k, k, mask, q, lse, q}, kMasked);
  ASSERT_EQ(back->results(), 4u);
  EXPECT_EQ(to_string(back->type(3)), "f32(1, 2, 3, 5)");
}

}  // namespace
}  // namespace tenon::ir
