// Kernels with one mistake each, and what is said of them; and the listing.

#include <gtest/gtest.h>

#include "../error_text.h"
#include "tenon/codegen/builder.h"

namespace tenon::codegen {
namespace {

using ir::Op;
using Kind = Inst::Kind;

// Buffers: 0 is read, 1 is written, 2 has narrow elements and is written. Arguments of a call are evaluated in any
// order, so that no call below makes two new instructions whose numbers show.
Builder make_builder() {
  Builder b("k", 64);
  b.add_buffer(Scalar::f32, false);
  b.add_buffer(Scalar::f32, true);
  b.add_buffer(Scalar::u16, true);
  b.add_shared(Scalar::f32, 64);
  b.add_array(Scalar::f32, 4);
  b.set_numbers(1);
  b.u32(0);
  return b;
}
constexpr Id kFirst = 0;  // instruction 0 of all these kernels: the u32 0

/// What is said of a kernel that `write` has written.
std::string said(const std::function<void(Builder&)>& write) {
  return text_of([&] {
    Builder b = make_builder();
    write(b);
    b.finish();
  });
}

/// What is said of instructions that no Builder writes.
std::string said_of_code(const std::vector<Inst>& more) {
  return text_of([&] {
    KernelIr kernel = make_builder().finish();
    kernel.code = more;
    verify(kernel);
  });
}

constexpr std::string_view kNothing = "nothing was thrown";
const Inst kZero{.kind = Kind::constant, .type = Scalar::u32}, kOne{.kind = Kind::constant, .type = Scalar::f32};
const Inst kTrue{.kind = Kind::constant, .type = Scalar::boolean, .bits = 1};

TEST(VerifyTypes, OperandsAreOfOneType) {
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::add, Scalar::f32, {b.f32(1), b.u32(1)});
            }),
            "[codegen] k, instruction 3 (add %1 %2 : f32): %2 is u32, not f32");
}
TEST(VerifyTypes, AResultIsOfTheOperandsType) {
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::add, Scalar::i32, {b.u32(1), b.u32(2)});
            }),
            "[codegen] k, instruction 3 (add %1 %2 : i32): gives i32, not u32");
}
TEST(VerifyTypes, AComparisonGivesATruth) {
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::less, Scalar::f32, {b.f32(1), b.f32(2)});
            }),
            "[codegen] k, instruction 3 (less %1 %2 : f32): gives f32, not boolean");
}
TEST(VerifyTypes, AnOpHasItsTypes) {
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::shl, Scalar::f32, {b.f32(1), b.f32(2)});
            }),
            "[codegen] k, instruction 3 (shl %1 %2 : f32): f32 is no integer type");
  EXPECT_EQ(said([](Builder& b) { b.math(Op::sqrt, Scalar::u32, {b.u32(1)}); }),
            "[codegen] k, instruction 2 (sqrt %1 : u32): u32 is no float type");
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::bit_and, Scalar::f32, {b.f32(1), b.f32(2)});
            }),
            "[codegen] k, instruction 3 (bit_and %1 %2 : f32): has no meaning for f32");
  EXPECT_EQ(said([](Builder& b) {
              b.math(Op::add, Scalar::boolean, {b.boolean(true), b.boolean(false)});
            }),
            "[codegen] k, instruction 3 (add %1 %2 : boolean): has no meaning for truths");
}
TEST(VerifyTypes, OnlyElementwiseOpsAreMath) {
  EXPECT_EQ(said([](Builder& b) { b.math(Op::sum, Scalar::f32, {b.f32(1)}); }),
            "[codegen] k, instruction 2 (sum %1 : f32): is no elementwise op");
  EXPECT_EQ(said([](Builder& b) { b.math(Op::sigmoid, Scalar::f32, {b.f32(1)}); }),
            "[codegen] k, instruction 2 (sigmoid %1 : f32): is to be written by exp");
}
TEST(VerifyTypes, AnOpTakesItsOperands) {
  EXPECT_EQ(said([](Builder& b) { b.math(Op::add, Scalar::f32, {b.f32(1)}); }),
            "[codegen] k, instruction 2 (add %1 : f32): takes 2 operands, not 1");
}
TEST(VerifyTypes, ABitcastKeepsTheSize) {
  EXPECT_EQ(said([](Builder& b) { b.bitcast(b.f32(1), Scalar::u64); }),
            "[codegen] k, instruction 2 (bitcast %1 : u64): f32 and u64 differ in size");
}
TEST(VerifyTypes, NarrowTypesAreInMemoryAlone) {
  EXPECT_EQ(said([](Builder& b) { b.constant(Scalar::u8, 1); }),
            "[codegen] k, instruction 1 (constant 1 : u8): u8 exists in memory alone");
  EXPECT_EQ(said([](Builder& b) { b.store(2, b.u32(0), b.u32(7)); }), kNothing);
}
TEST(VerifyTypes, AStoreIsOfTheBuffersType) {
  EXPECT_EQ(said([](Builder& b) { b.store(1, kFirst, b.u32(7)); }),
            "[codegen] k, instruction 2 (store b1 %0 %1): %1 is u32, not f32");
}
TEST(VerifyTypes, OnlyWrittenBuffersAreStoredTo) {
  EXPECT_EQ(said([](Builder& b) { b.store(0, kFirst, b.f32(7)); }),
            "[codegen] k, instruction 2 (store b0 %0 %1): buffer 0 is not written");
}
TEST(VerifyTypes, AnIndexIsAWholeNumber) {
  EXPECT_EQ(said([](Builder& b) { b.load(0, b.f32(7)); }),
            "[codegen] k, instruction 2 (load b0 %1 : f32): %1 is f32, not a whole number");
}
TEST(VerifyTypes, AMaskIsATruth) {
  EXPECT_EQ(said([](Builder& b) { b.load(0, kFirst, b.thread()); }),
            "[codegen] k, instruction 2 (load b0 %0 %1 : f32): %1 is u32, not boolean");
}
TEST(VerifyTypes, WidthsArePowersOfTwoUpToEight) {
  EXPECT_EQ(said([](Builder& b) { b.load_several(0, b.u32(0), 3); }),
            "[codegen] k, instruction 1 (load b0 %0 : f32 x3): has the width 3; there are 1, 2, 4 and 8");
}
TEST(VerifyTypes, SlotsExist) {
  EXPECT_EQ(said([](Builder& b) { b.number(1); }), "[codegen] k, instruction 1 (number 1 : u64): there is no number 1");
  EXPECT_EQ(said([](Builder& b) { b.block(3); }), "[codegen] k, instruction 1 (block 3 : u32): there is no axis 3");
  EXPECT_EQ(said_of_code({kZero, {.kind = Kind::load, .slot = 9, .args = {0}}}),
            "[codegen] k, instruction 1 (load b9 %0 : f32): there is no buffer 9");
}
TEST(VerifyTypes, AKnownIndexLiesInItsArray) {
  EXPECT_EQ(said([](Builder& b) { b.array_load(0, b.u32(4)); }),
            "[codegen] k, instruction 2 (array_load a0 %1 : f32): element 4 of 4");
}
TEST(VerifyTypes, SharedMemoryIsTakenInVectorsOf16Bytes) {
  EXPECT_EQ(said([](Builder& b) { b.shared_load_several(0, kFirst, 4); }), kNothing);
  EXPECT_EQ(said([](Builder& b) { b.shared_load_several(0, kFirst, 8); }),
            "[codegen] k, instruction 1 (shared_load s0 %0 : f32 x8): 8 elements of f32 at once");
  EXPECT_EQ(said([](Builder& b) { b.shared_load_several(0, b.u32(62), 4); }),
            "[codegen] k, instruction 2 (shared_load s0 %1 : f32 x4): element 65 of 64");
  EXPECT_EQ(said_of_code({kZero, {.kind = Kind::array_load, .width = 2, .args = {0}}}),
            "[codegen] k, instruction 1 (array_load a0 %0 : f32 x2): takes one element at a time");
}
TEST(VerifyTypes, AComponentIsOfAVector) {
  EXPECT_EQ(said_of_code({kOne, {.kind = Kind::extract, .args = {0}}}),
            "[codegen] k, instruction 1 (extract 0 %0 : f32): %0 has no components");
  EXPECT_EQ(
      said_of_code(
          {kZero, {.kind = Kind::load, .width = 2, .args = {0}}, {.kind = Kind::extract, .slot = 2, .args = {1}}}),
      "[codegen] k, instruction 2 (extract 2 %1 : f32): component 2 of 2");
  EXPECT_EQ(
      said_of_code(
          {kZero, {.kind = Kind::load, .width = 2, .args = {0}}, {.kind = Kind::math, .op = Op::neg, .args = {1}}}),
      "[codegen] k, instruction 2 (neg %1 : f32): %1 has 2 components");
}
TEST(VerifyTypes, OnlyGetAndSetTakeAVariable) {
  EXPECT_EQ(said([](Builder& b) { b.math(Op::neg, Scalar::f32, {b.variable(b.f32(1))}); }),
            "[codegen] k, instruction 3 (neg %2 : f32): %2 is a variable: only get and set take it");
  EXPECT_EQ(said([](Builder& b) { b.get(b.f32(1)); }), "[codegen] k, instruction 2 (get %1 : f32): %1 is no variable");
  EXPECT_EQ(said([](Builder& b) { b.set(b.variable(b.f32(1)), kFirst); }),
            "[codegen] k, instruction 3 (set %2 %0): %0 is u32, not f32");
}
TEST(VerifyTypes, OtherInstructionsHaveTheirTypes) {
  EXPECT_EQ(said([](Builder& b) { b.fma(kFirst, kFirst, kFirst); }),
            "[codegen] k, instruction 1 (fma %0 %0 %0 : u32): u32 is no float type");
  EXPECT_EQ(said([](Builder& b) { b.mul_high(b.f32(1), b.f32(1)); }),
            "[codegen] k, instruction 2 (mul_high %1 %1 : u32): %1 is f32, not u32");
  EXPECT_EQ(said([](Builder& b) { b.pack_half(b.u32(1)); }),
            "[codegen] k, instruction 2 (pack_half %1 : u32): %1 is u32, not f32");
  EXPECT_EQ(said([](Builder& b) { b.unpack_half(b.f32(1)); }),
            "[codegen] k, instruction 2 (unpack_half %1 : f32): %1 is f32, not u32");
  EXPECT_EQ(said([](Builder& b) { b.shuffle(b.boolean(true), 1); }),
            "[codegen] k, instruction 2 (shuffle 1 %1 : boolean): boolean is not shuffled");
  EXPECT_EQ(said([](Builder& b) { b.leave_if(b.u32(1)); }),
            "[codegen] k, instruction 2 (leave_if %1): %1 is u32, not boolean");
  EXPECT_EQ(said([](Builder& b) { b.fault_if(Op::gather, ir::LookUp::of_op, b.boolean(true), kFirst, 0, 4); }),
            "[codegen] k, instruction 2 (fault_if gather axis 0 size 4 %1 %0): %0 is u32, not i64");
  EXPECT_EQ(said_of_code({kTrue,
                          {.kind = Kind::constant, .type = Scalar::i64},
                          {.kind = Kind::fault_if, .op = Op::gather, .bits = 4, .args = {0, 1}}}),
            "[codegen] k, instruction 2 (fault_if gather axis 0 size 4 %0 %1): the kernel may not fault");
}

TEST(VerifyOrder, AValueIsKnownWhereItWasMade) {
  Id inside = 0;
  EXPECT_EQ(said([&](Builder& b) {
              b.loop(b.u32(0), b.u32(4), b.u32(1), [&](Id i) { inside = b.add(i, b.thread()); });
              b.store(1, inside, b.f32(1));
            }),
            "[codegen] k, instruction 8 (store b1 %5 %7): %5 is not known here");
}
TEST(VerifyOrder, OneArmDoesNotKnowTheOthers) {
  EXPECT_EQ(said_of_code({kTrue,
                          {.kind = Kind::branch, .args = {0}},
                          kOne,
                          {.kind = Kind::otherwise},
                          {.kind = Kind::math, .op = Op::neg, .args = {2}},
                          {.kind = Kind::end}}),
            "[codegen] k, instruction 4 (neg %2 : f32): %2 is not known here");
}
TEST(VerifyOrder, AValueComesBeforeItsUse) {
  EXPECT_EQ(said_of_code({{.kind = Kind::math, .op = Op::neg, .args = {1}}, kOne}),
            "[codegen] k, instruction 0 (neg %1 : f32): %1 is not known here");
}
TEST(VerifyOrder, WhatGivesNoValueIsNone) {
  EXPECT_EQ(said_of_code({{.kind = Kind::barrier}, {.kind = Kind::math, .op = Op::neg, .args = {0}}}),
            "[codegen] k, instruction 1 (neg %0 : f32): %0 is not known here");
}
TEST(VerifyOrder, EndsMatch) {
  EXPECT_EQ(said_of_code({{.kind = Kind::end}}), "[codegen] k, instruction 0 (end): ends nothing");
  EXPECT_EQ(said_of_code({kTrue, {.kind = Kind::branch, .args = {0}}}),
            "[codegen] k, instruction 1 (branch %0): has no end");
  EXPECT_EQ(said_of_code({{.kind = Kind::otherwise}}), "[codegen] k, instruction 0 (otherwise): belongs to no branch");
}
TEST(VerifyOrder, ABlockHasThreads) {
  EXPECT_EQ(text_of([] { Builder("k", 0).finish(); }), "[codegen] k: a block has no threads");
}

/// What is said of a barrier under a condition.
std::string said_of_barrier_if(const std::function<Id(Builder&)>& condition) {
  const std::string text = said([&](Builder& b) { b.branch(condition(b), [&] { b.barrier(); }); });
  return text.substr(text.find(')') == std::string::npos ? 0 : text.find("): ") + 3);
}
constexpr std::string_view kNotAllCome = "not all threads of the block come here";

TEST(VerifyBarriers, StandUnderWhatAllThreadsAgreeOn) {
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.block(), b.u32(3)); }), kNothing);
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.load(0, b.block()), b.f32(3)); }), kNothing);
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.shared_load(0, b.u32(0)), b.f32(3)); }), kNothing);
}
TEST(VerifyBarriers, NotUnderWhatDiffers) {
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.thread(), b.u32(3)); }), kNotAllCome);
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.shuffle(b.f32(0), 1), b.f32(3)); }), kNotAllCome);
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.load(0, b.thread()), b.f32(3)); }), kNotAllCome);
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.shared_load(0, b.thread()), b.f32(3)); }), kNotAllCome);
}
TEST(VerifyBarriers, NotUnderWhatAWrittenBufferHolds) {
  EXPECT_EQ(said_of_barrier_if([](Builder& b) { return b.less(b.load(1, b.u32(0)), b.f32(3)); }), kNotAllCome);
}
TEST(VerifyBarriers, NotUnderAVariableSetWhereThreadsDiffer) {
  EXPECT_EQ(said_of_barrier_if([](Builder& b) {
              const Id x = b.variable(b.f32(0));
              b.branch(b.less(b.thread(), b.u32(3)), [&] { b.set(x, b.f32(1)); });
              return b.less(b.get(x), b.f32(1));
            }),
            kNotAllCome);
}
TEST(VerifyBarriers, NotUnderAnArrayThatDiffers) {
  EXPECT_EQ(said_of_barrier_if([](Builder& b) {
              b.array_store(0, b.u32(0), b.load(0, b.thread()));
              return b.less(b.array_load(0, b.u32(0)), b.f32(1));
            }),
            kNotAllCome);
}
TEST(VerifyBarriers, ALaterTurnOfALoopCounts) {
  EXPECT_EQ(said([](Builder& b) {
              const Id x = b.variable(b.u32(0));
              b.loop(0, 4, [&](Id) {
                b.branch(b.less(b.get(x), b.u32(1)), [&] { b.barrier(); });
                b.set(x, b.thread());
              });
            }),
            "[codegen] k, instruction 8 (barrier): not all threads of the block come here");
}
TEST(VerifyBarriers, NotInALoopOfDifferentLength) {
  EXPECT_EQ(said([](Builder& b) { b.loop(b.u32(0), b.thread(), b.u32(1), [&](Id) { b.barrier(); }); }),
            "[codegen] k, instruction 4 (barrier): not all threads of the block come here");
}
TEST(VerifyBarriers, NotAfterSomeThreadsLeft) {
  EXPECT_EQ(said([](Builder& b) {
              b.leave_if(b.less(b.thread(), b.u32(3)));
              b.barrier();
            }),
            "[codegen] k, instruction 5 (barrier): threads may have left at instruction 4");
  EXPECT_EQ(said([](Builder& b) {
              b.leave_if(b.less(b.block(), b.u32(3)));
              b.barrier();
              b.leave_if(b.less(b.thread(), b.u32(3)));
            }),
            kNothing);
}
TEST(VerifyBarriers, NotBeforeThreadsLeaveInTheSameLoop) {
  EXPECT_EQ(said([](Builder& b) {
              b.loop(0, 4, [&](Id) {
                b.barrier();
                b.leave_if(b.less(b.thread(), b.u32(3)));
              });
            }),
            "[codegen] k, instruction 4 (barrier): threads may have left at instruction 8, a turn of the loop before");
}

// ---- matrix tiles ----

/// What is said of a kernel of 64 threads, in subgroups of 32, with a shared array 1 of u32.
std::string said_of_tiles(const std::function<void(Builder&)>& write) {
  return said([&](Builder& b) {
    b.add_shared(Scalar::u32, 1024);
    b.use_tiles(32);
    write(b);
  });
}
Id left_tile(Builder& b, Id at) { return b.tile_load(1, at, b.u32(16), TileBits::kBf16); }
Id right_tile(Builder& b, Id at) { return b.tile_load(1, at, b.u32(16), TileBits::kBf16 | TileBits::kRight); }

TEST(VerifyTiles, AreTheSameForAllThreadsOfASubgroup) {
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id first = b.mul(b.div(b.thread(), b.u32(32)), b.u32(256));
              const Id sum = b.tile_zero(), left = left_tile(b, first), right = right_tile(b, b.u32(512));
              b.tile_mma(sum, left, right);
              b.barrier();
              b.tile_store(1, first, b.u32(16), sum);
            }),
            kNothing);
  EXPECT_EQ(said_of_tiles([](Builder& b) { left_tile(b, b.thread()); }),
            "[codegen] k, instruction 3 (tile_load s1 bf16 left %1 %2 : u32): its operands differ within a subgroup");
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id thread = b.thread();
              left_tile(b, b.div(thread, b.u32(16)));
            }),
            "[codegen] k, instruction 4 (tile_load s1 bf16 left %3 %2 : u32): its operands differ within a subgroup");
}
TEST(VerifyTiles, StandWhereAWholeSubgroupComes) {
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              b.branch(b.less(b.div(b.thread(), b.u32(32)), b.u32(1)), [&] { left_tile(b, kFirst); });
            }),
            kNothing);
  EXPECT_EQ(said_of_tiles([](Builder& b) { b.branch(b.less(b.thread(), b.u32(7)), [&] { b.tile_zero(); }); }),
            "[codegen] k, instruction 5 (tile_zero : f32): not all threads of the subgroup come here");
}
TEST(VerifyTiles, AProductHasALeftAndARightTile) {
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id sum = b.tile_zero(), left = left_tile(b, kFirst);
              b.tile_mma(sum, left, left);
            }),
            "[codegen] k, instruction 4 (tile_mma %1 %3 %3): %3 is the left tile of a product");
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id left = left_tile(b, kFirst), right = right_tile(b, kFirst);
              b.tile_mma(left, left, right);
            }),
            "[codegen] k, instruction 4 (tile_mma %2 %2 %3): %2 is no accumulator");
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id sum = b.tile_zero(), left = left_tile(b, kFirst);
              b.tile_mma(sum, left, b.tile_load(1, kFirst, b.u32(16), TileBits::kRight));
            }),
            "[codegen] k, instruction 5 (tile_mma %1 %3 %4): its tiles are of two dtypes");
}
TEST(VerifyTiles, LieInWordsOfSharedMemory) {
  EXPECT_EQ(said_of_tiles([](Builder& b) { b.tile_load(0, kFirst, kFirst, 0); }),
            "[codegen] k, instruction 1 (tile_load s0 f16 left %0 %0 : u32): tiles lie in arrays of u32, not of f32");
  EXPECT_EQ(said([](Builder& b) { b.tile_zero(); }),
            "[codegen] k, instruction 1 (tile_zero : f32): a block of 64 threads has no whole subgroups of 0");
}
TEST(VerifyTiles, AreNoNumbers) {
  EXPECT_EQ(said_of_tiles([](Builder& b) { b.math(Op::neg, Scalar::f32, {b.tile_zero()}); }),
            "[codegen] k, instruction 2 (neg %1 : f32): %1 is a tile");
}

TEST(VerifyTiles, AThreadHasEightNumbersOfATileAndMayComeAlone) {
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id sum = b.tile_zero();
              b.branch(b.less(b.thread(), b.u32(7)), [&] { b.tile_set(sum, 7, b.tile_get(sum, 0)); });
            }),
            kNothing);
  EXPECT_EQ(said_of_tiles([](Builder& b) { b.tile_get(b.tile_zero(), 8); }),
            "[codegen] k, instruction 2 (tile_get 8 %1 : f32): a thread has 8 numbers of a tile");
}
TEST(VerifyTiles, APackedTileIsTheLeftOneOfAProduct) {
  EXPECT_EQ(said_of_tiles([](Builder& b) {
              const Id sum = b.tile_zero(), number = b.tile_get(sum, 0);
              const Id packed = b.tile_pack(std::vector<Id>(8, number), TileBits::kBf16);
              b.tile_mma(sum, packed, right_tile(b, kFirst));
            }),
            kNothing);
  EXPECT_EQ(said_of_tiles([](Builder& b) { b.tile_pack(std::vector<Id>(7, b.f32(1)), 0); }),
            "[codegen] k, instruction 2 (tile_pack f16 %1 %1 %1 %1 %1 %1 %1 : u32): takes 8 operands, not 7");
}

TEST(Listing, SetsInWhatLoopsAndBranchesHold) {
  Builder b("sums", 64);
  const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true, true);
  const uint32_t all = b.add_shared(Scalar::f32, 64);
  b.set_numbers(1);
  const Id i = b.thread(), sum = b.variable(b.f32(0.5));
  const Id zero = b.u32(0), n = b.convert(b.number(0), Scalar::u32), two = b.u32(2);
  const auto body = [&](Id k) {
    const Id before = b.get(sum);
    b.set(sum, b.add(before, b.load_several(x, k, 2)[1]));
  };
  b.loop(zero, n, two, body, true);
  b.shared_store(all, i, b.get(sum));
  b.barrier();
  b.branch(
      b.less(i, b.u32(1)), [&] { b.store(y, i, b.shared_load(all, i)); }, [&] { b.leave_if(b.boolean(true)); });
  EXPECT_EQ(to_string(b.finish()), R"(sums: 64 threads, 1 numbers
b0: f32
b1: f32, written, aliased
s0: 64 f32
  %0 = thread : u32
  %1 = constant 0.5 : f32
  %2 = variable %1 : f32
  %3 = constant 0 : u32
  %4 = number 0 : u64
  %5 = cast %4 : u32
  %6 = constant 2 : u32
  %7 = loop unrolled %3 %5 %6 : u32
    %8 = get %2 : f32
    %9 = load b0 %7 : f32 x2
    %10 = extract 0 %9 : f32
    %11 = extract 1 %9 : f32
    %12 = add %8 %11 : f32
    set %2 %12
  end
  %15 = get %2 : f32
  shared_store s0 %0 %15
  barrier
  %18 = constant 1 : u32
  %19 = less %0 %18 : boolean
  branch %19
    %21 = shared_load s0 %0 : f32
    store b1 %0 %21
  otherwise
    %24 = constant true : boolean
    leave_if %24
  end
)");
}

}  // namespace
}  // namespace tenon::codegen
