// Sizes near 2^31, 2^32, 2^53, 2^62 and 2^63: every op that makes a shape counts before it records. What is too large
// is an error at once; what is legal stays recorded and costs no memory until it is read.

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tenon/base/resident.h"
#include "tenon/ir/build.h"
#include "tenon/ir/shape.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

// Every number that has ever been one too many, and its neighbours.
std::vector<int64_t> hostile_sizes() {
  std::vector<int64_t> sizes{-1, 0, 1, 2, 3, kMost, kMost - 1, kLeast, kLeast + 1};
  for (const int bit : {30, 31, 32, 33, 40, 52, 53, 54, 60, 61, 62}) {
    for (const int64_t near : {-1, 0, 1}) {
      sizes.push_back((int64_t{1} << bit) + near);
      sizes.push_back(-(int64_t{1} << bit) - near);
    }
  }
  return sizes;
}

// Calls f with every size. It may refuse with an Error or record something; it must not take memory or time.
void survives(const char* op, const std::function<void(int64_t)>& f) {
  constexpr int64_t kLittle = int64_t{512} << 20;
  for (const int64_t size : hostile_sizes()) {
    SCOPED_TRACE(fmt::format("{} with {}", op, size));
    const int64_t before = base::resident_bytes();
    try {
      f(size);
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).substr(0, 1), "[") << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "not a tenon::Error: " << error.what();
    }
    EXPECT_LT(base::resident_bytes() - before, kLittle);
  }
}

// ---- counting ----

TEST(Count, MultipliesSizes) {
  EXPECT_EQ(ir::checked_count({}), 1);
  EXPECT_EQ(ir::checked_count({2, 3, 4}), 24);
  EXPECT_EQ(ir::checked_count({2, 0, 4}), 0);
}

TEST(Count, StopsAtTwoToThe53) {
  EXPECT_EQ(ir::checked_count({int64_t{1} << 53}), int64_t{1} << 53);
  EXPECT_EQ(ir::checked_count({int64_t{1} << 26, int64_t{1} << 27}), int64_t{1} << 53);
  EXPECT_FALSE(ir::checked_count({(int64_t{1} << 53) + 1}));
  EXPECT_FALSE(ir::checked_count({int64_t{1} << 62, 4}));  // 2^64 wraps to 0
  EXPECT_FALSE(ir::checked_count({int64_t{1} << 32, int64_t{1} << 32, 3}));
  EXPECT_FALSE(ir::checked_count({-1}));
}

TEST(Count, ASizeOfZeroDoesNotHideTheOthers) {
  EXPECT_FALSE(ir::checked_count({0, int64_t{1} << 62, 4}));
  EXPECT_FALSE(ir::checked_count({int64_t{1} << 62, 4, 0}));
}

TEST(Count, BytesFollowTheType) {
  EXPECT_EQ(ir::bytes_of({DType::f32, {2, 3}}), 24u);
  EXPECT_EQ(ir::bytes_of({DType::f64, {int64_t{1} << 53}}), size_t{1} << 56);
}

TEST(Count, FailsForAShapeThatNoTensorHas) {
  EXPECT_EQ(text_of([] {
              ir::count({int64_t{1} << 62, 4});
            }),
            "[shape] a tensor of shape (4611686018427387904, 4) has too many elements");
}

// ---- what is refused, in which words ----

TEST(Sizes, TheErrorNamesOpAndShape) {
  EXPECT_EQ(text_of([] {
              zeros({int64_t{1} << 62, 4});
            }),
            "[zeros] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_EQ(text_of([] {
              ones({int64_t{1} << 62, 4});
            }),
            "[ones] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_EQ(text_of([] {
              empty({int64_t{1} << 62, 4});
            }),
            "[empty] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_EQ(text_of([] {
              full({kMost, kMost}, 1);
            }),
            "[full] a tensor of shape (9223372036854775807, 9223372036854775807) has too many elements");
  EXPECT_EQ(text_of([] { eye(int64_t{1} << 33); }),
            "[eye] a tensor of shape (8589934592, 8589934592) has too many elements");
  EXPECT_EQ(text_of([] {
              rand({int64_t{1} << 32, int64_t{1} << 32});
            }),
            "[rand] a tensor of shape (4294967296, 4294967296) has too many elements");
  EXPECT_EQ(text_of([] { zeros({-3}); }), "[zeros] shape (-3,) has a negative size");
}

TEST(Sizes, ABroadcastIsCounted) {
  const Tensor row = zeros({int64_t{1} << 32}), column = zeros({int64_t{1} << 32, 1});
  EXPECT_EQ(text_of([&] { row + column; }), "[add] a tensor of shape (4294967296, 4294967296) has too many elements");
  EXPECT_EQ(text_of([&] { where(row > 0.0, column, 1.0); }),
            "[where] a tensor of shape (4294967296, 4294967296) has too many elements");
  EXPECT_EQ(text_of([&] { outer(row, row); }),
            "[outer] a tensor of shape (4294967296, 4294967296) has too many elements");
  EXPECT_EQ(text_of([&] { matmul(column, column.t()); }),
            "[matmul] a tensor of shape (4294967296, 4294967296) has too many elements");
  EXPECT_EQ(text_of([&] {
              einsum("i,j->ij", {row, row});
            }),
            "[einsum] a tensor of shape (4294967296, 4294967296) has too many elements");
}

TEST(Sizes, MovementIsCounted) {
  const Tensor x = ones({2}).clone().eval();
  EXPECT_EQ(text_of([&] {
              x.reshape({1, 2}).expand({kMost, 2});
            }),
            "[expand] a tensor of shape (9223372036854775807, 2) has too many elements");
  EXPECT_EQ(text_of([&] {
              repeat(x, {int64_t{1} << 62, 4});
            }),
            "[repeat] a tensor of shape (4611686018427387904, 1, 4, 2) has too many elements");
  EXPECT_EQ(text_of([&] {
              pad(x, {int64_t{1} << 53, 0});
            }),
            "[pad] a tensor of shape (9007199254740994,) has too many elements");
  EXPECT_EQ(text_of([&] {
              pad(x, {kMost, kMost});
            }),
            "[pad] 9223372036854775807 and 9223372036854775807 elements around dim 0 of a tensor of shape (2,) are too "
            "many elements");
  EXPECT_EQ(text_of([&] {
              x.reshape({int64_t{1} << 62, 4, -1});
            }),
            "[reshape] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_EQ(text_of([&] {
              one_hot(tensor({0, 1}), int64_t{1} << 62);
            }),
            "[one_hot] a tensor of shape (2, 4611686018427387904) has too many elements");
}

TEST(Sizes, AReshapeWhoseProductWrapsToTheRightCountIsRefused) {
  // 2^32 * 2^32 * ... = 2^64 = 0 elements, the count of an empty tensor.
  const Tensor none = zeros({0});
  EXPECT_EQ(text_of([&] {
              none.reshape({int64_t{1} << 32, int64_t{1} << 32});
            }),
            "[reshape] a tensor of shape (4294967296, 4294967296) has too many elements");
}

TEST(Sizes, JoiningIsCounted) {
  const Tensor half = zeros({int64_t{1} << 52}), row = half.unsqueeze(0);
  EXPECT_EQ(cat({half, half}).numel(), int64_t{1} << 53);
  EXPECT_EQ(text_of([&] {
              cat({half, half, half});
            }),
            "[cat] a tensor of shape (13510798882111488,) has too many elements");
  EXPECT_EQ(text_of([&] {
              stack({half, half, half});
            }),
            "[stack] a tensor of shape (3, 4503599627370496) has too many elements");
  EXPECT_EQ(text_of([&] { cat(std::vector<Tensor>(4096, half)); }),
            "[cat] a tensor of shape (13510798882111488,) has too many elements");
}

TEST(Sizes, HostBytesAreComparedWithWhatTheShapeTakes) {
  const std::vector<std::byte> none;
  EXPECT_EQ(text_of([&] {
              from_bytes(none, {int64_t{1} << 62, 4}, DType::f32);
            }),
            "[tensor] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_EQ(text_of([&] {
              from_vector<float>({}, {int64_t{1} << 61, 8});
            }),
            "[tensor] a tensor of shape (2305843009213693952, 8) has too many elements");
}

TEST(Sizes, CountedSequencesAreRefusedBeforeTheyWrap) {
  EXPECT_EQ(text_of([] { arange(kLeast, kMost); }),
            "[arange] from -9223372036854775808 to 9223372036854775807 in steps of 1 are too many elements");
  EXPECT_EQ(text_of([] { arange(0.0, 1e300); }), "[arange] from 0 to 1e+300 in steps of 1 are too many elements");
  EXPECT_EQ(text_of([] { linspace(0, 1, kMost); }),
            "[linspace] a tensor of shape (9223372036854775807,) has too many elements");
  EXPECT_EQ(text_of([] { randperm(kMost); }),
            "[randperm] a tensor of shape (9223372036854775807, 2) has too many elements");
}

TEST(Sizes, TheWholeRangeOfIntegersInFourSteps) {
  const std::vector<int64_t> wanted{kLeast, kLeast / 2, 0, int64_t{1} << 62};
  EXPECT_EQ(arange(kLeast, kMost, int64_t{1} << 62).to_vector<int64_t>(), wanted);
}

TEST(Sizes, ARefusedDrawLeavesTheStreamWhereItWas) {
  Generator generator(7);
  EXPECT_EQ(text_of([&] {
              rand({int64_t{1} << 62, 4}, {}, &generator);
            }),
            "[rand] a tensor of shape (4611686018427387904, 4) has too many elements");
  EXPECT_NE(text_of([&] { rand({int64_t{1} << 53}, DType::f64, &generator); }), "nothing was thrown");
  EXPECT_NE(text_of([&] { generator.bits(-4, {}); }), "nothing was thrown");
  EXPECT_EQ(generator.position(), 0u);
}

TEST(Sizes, ARangeOfRandomIntegersDoesNotWrap) {
  EXPECT_EQ(text_of([] { randint(kLeast, kMost, {2}); }),
            "[randint] a range of 18446744073709551615 is wider than 2^31");
}

// ---- index arithmetic ----

TEST(Sizes, NarrowComparesWithoutAdding) {
  const Tensor x = arange(4).eval();
  EXPECT_EQ(text_of([&] { x.narrow(0, 2, kMost); }),
            "[narrow] 9223372036854775807 elements from 2 do not fit dim 0 of size 4");
  EXPECT_EQ(text_of([&] { x.narrow(0, kMost, 1); }),
            "[narrow] 1 elements from 9223372036854775807 do not fit dim 0 of size 4");
  EXPECT_EQ(text_of([&] { x.narrow(0, kLeast, kMost); }),
            "[narrow] 9223372036854775807 elements from -9223372036854775808 do not fit dim 0 of size 4");
}

TEST(Sizes, SlicesTakeAnyStartStopAndStep) {
  const Tensor x = arange(4).eval();
  const auto read = [&](std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
    return x.slice(0, start, stop, step).to_vector<int64_t>();
  };
  EXPECT_EQ(read(kLeast, kMost, 1), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(read(1, {}, kMost), (std::vector<int64_t>{1}));
  EXPECT_EQ(read({}, {}, kLeast), (std::vector<int64_t>{3}));
  EXPECT_EQ(read(kMost, kLeast, -2), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(read(kMost, {}, 1), std::vector<int64_t>());
}

TEST(Sizes, CutsAtTheEdgesAreComparedWithoutNegating) {
  const Tensor x = arange(4, DType::f32).eval();
  EXPECT_EQ(text_of([&] {
              pad(x, {kLeast, 0});
            }),
            "[pad] cutting 9223372036854775808 and 0 elements from dim 0 of size 4");
  EXPECT_EQ(text_of([&] {
              pad(x, {kLeast, kLeast});
            }),
            "[pad] cutting 9223372036854775808 and 9223372036854775808 elements from dim 0 of size 4");
  EXPECT_EQ(pad(x, {-1, -2}).to_vector<float>(), (std::vector<float>{1}));
  EXPECT_EQ(pad(x, {-4, 0}).numel(), 0);
}

TEST(Sizes, RollGoesRoundAsOftenAsItTakes) {
  const Tensor x = arange(3).eval();
  EXPECT_EQ(roll(x, kMost, 0).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 1}));   // 2^63 - 1 = 1 mod 3
  EXPECT_EQ(roll(x, kLeast, 0).to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 1}));  // -2^63 = 1 mod 3
}

TEST(Sizes, ADiagonalFarOutsideKeepsAllOrNothing) {
  const Tensor x = ones({2, 2}).clone().eval();
  EXPECT_EQ(tril(x, kMost).sum().item<float>(), 4);
  EXPECT_EQ(tril(x, kLeast).sum().item<float>(), 0);
  EXPECT_EQ(triu(x, kMost).sum().item<float>(), 0);
  EXPECT_EQ(triu(x, kLeast).sum().item<float>(), 4);
}

TEST(Sizes, PartsOfAnySize) {
  const Tensor x = arange(4).eval();
  EXPECT_EQ(split(x, kMost).size(), 1u);
  EXPECT_EQ(chunk(x, kMost).size(), 4u);
  EXPECT_EQ(text_of([&] {
              split(x, Dims{kMost, kMost, 6});
            }),
            "[split] sizes (9223372036854775807, 9223372036854775807, 6) add up to too many elements");
  EXPECT_EQ(text_of([&] { split(x, Dims{6, -2}); }), "[split] sizes (6, -2) hold a negative one");
}

TEST(Sizes, AViewIsNotCutIntoMorePartsThanMemoryHolds) {
  const Tensor x = scalar(1.0).expand({int64_t{1} << 40});
  EXPECT_EQ(text_of([&] { unbind(x); }),
            "[unbind] a tensor of shape (1099511627776,) would fall into 1099511627776 parts; at most 262144 are made");
  EXPECT_EQ(text_of([&] { split(x, 2); }),
            "[split] a tensor of shape (1099511627776,) would fall into 549755813888 parts; at most 262144 are made");
  EXPECT_EQ(chunk(x, 4).size(), 4u);
}

// The positions are joined to one number: (4, 5) of (3, 2^24) is none, and no multiple of anything must make it one.
TEST(Sizes, APositionOutsideOfItsAxisIsRefusedHoweverLongTheOthersAre) {
  const Tensor x = scalar(1.0).expand({3, int64_t{1} << 24});
  Tensor row = tensor({4}) * 1, column = tensor({5}) * 1;  // computed: only the device sees them
  EXPECT_NE(text_of([&] { x.index({row, column}).to_vector<float>(); }), "nothing was thrown");
  Tensor inside = tensor({2}) * 1;
  EXPECT_EQ(x.index({inside, column}).to_vector<float>(), (std::vector<float>{1}));
}

// ---- what stays legal ----

TEST(Sizes, AHugeViewIsLegalAsLongAsNobodyReadsIt) {
  const Tensor x = scalar(3.0).expand({int64_t{1} << 40});
  const Tensor y = (x * 2 + 1).reshape({int64_t{1} << 20, int64_t{1} << 20}).t();
  EXPECT_EQ(y.numel(), int64_t{1} << 40);
  EXPECT_EQ(y.narrow(0, 12345, 2).narrow(1, 54321, 2).to_vector<float>(), (std::vector<float>{7, 7, 7, 7}));
}

TEST(Sizes, AHugePadIsReadWhereItIsNeeded) {
  const Tensor x = arange(3, DType::f32).eval();
  const Tensor y = pad(x, {int64_t{1} << 50, int64_t{1} << 50});
  EXPECT_EQ(y.narrow(0, (int64_t{1} << 50) - 1, 5).to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 0}));
}

// A slice in long steps, padded widely, needs an offset of steps times padding.
TEST(Sizes, LongStepsAndWidePaddingTogether) {
  const Tensor x =
      arange(4, DType::f32).eval().reshape({4, 1}).expand({4, int64_t{1} << 40}).reshape({int64_t{1} << 42});
  const Tensor every = x.slice(0, {}, {}, int64_t{1} << 40);
  EXPECT_EQ(every.to_vector<float>(), (std::vector<float>{0, 1, 2, 3}));
  const Tensor wide = pad(every, {int64_t{1} << 50, 0});
  EXPECT_EQ(wide.narrow(0, (int64_t{1} << 50) - 1, 3).to_vector<float>(), (std::vector<float>{0, 0, 1}));
}

TEST(Sizes, WritingIntoWhatCouldNotBeMadeIsNotReached) {
  EXPECT_EQ(text_of([] {
              zeros({int64_t{1} << 62, 4}).clone().eval().narrow(0, 0, 65536).fill_(7);
            }),
            "[zeros] a tensor of shape (4611686018427387904, 4) has too many elements");
}

TEST(Sizes, LegalButTooLargeForThisMachineIsRefusedWhenItIsRead) {
  for (const int64_t size : {int64_t{1} << 45, int64_t{1} << 53}) {
    const std::string text = text_of([&] { zeros({size}).clone().eval(); });
    EXPECT_EQ(text.find("[memory] "), 0u) << text;
    EXPECT_EQ(text_of([&] { zeros({size}).to_vector<float>(); }).find("[memory] "), 0u);
  }
}

TEST(Sizes, ManyHugeTemporariesAreRefusedAndNotAddedUpToALittle) {
  const Tensor x = zeros({int64_t{1} << 53}, DType::f64);
  std::vector<Tensor> all;
  for (int i = 0; i < 300; ++i) all.push_back(cumsum(x + i, 0));  // each is 2^56 bytes, together more than 2^64
  Tensor total = all[0];
  for (const Tensor& one : all) total = total + flip(one, {0});
  const std::string text = text_of([&] { total.clone().eval(); });
  EXPECT_EQ(text.find("[memory] "), 0u) << text;
}

// ---- every op, every size ----

TEST(HostileSizes, Creation) {
  survives("zeros", [](int64_t n) { zeros({n}); });
  survives("zeros of two", [](int64_t n) { zeros({n, n}); });
  survives("zeros with 0", [](int64_t n) { zeros({0, n, n}); });
  survives("ones", [](int64_t n) { ones({n, 4}); });
  survives("full", [](int64_t n) { full({4, n}, 2); });
  survives("empty", [](int64_t n) { empty({n, 2, n}); });
  survives("eye", [](int64_t n) { eye(n); });
  survives("eye of two", [](int64_t n) { eye(3, n); });
  survives("arange to", [](int64_t n) { arange(n); });
  survives("arange from to", [](int64_t n) { arange(n, 10); });
  survives("arange from least", [](int64_t n) { arange(kLeast, n); });
  survives("arange in steps", [](int64_t n) { arange(kLeast, kMost, n); });
  survives("arange of reals", [](int64_t n) { arange(0.0, static_cast<double>(n), 0.5); });
  survives("linspace", [](int64_t n) { linspace(0, 1, n); });
  survives("rand", [](int64_t n) { rand({n, n}); });
  survives("rand f64", [](int64_t n) { rand({n}, DType::f64); });
  survives("randn", [](int64_t n) { randn({n}); });
  survives("randint", [](int64_t n) { randint(0, 10, {n, 3}); });
  survives("randint up to", [](int64_t n) { randint(-5, n, {2}); });
  survives("randint from", [](int64_t n) { randint(n, 5, {2}); });
  survives("randperm", [](int64_t n) { randperm(n); });
  survives("bits", [](int64_t n) { Generator(1).bits(n, {}); });
  survives("multinomial", [](int64_t n) { multinomial(ones({4}), n, true); });
  survives("from_bytes", [](int64_t n) { from_bytes({}, {n, 2}, DType::f32); });
  survives("one_hot", [](int64_t n) { one_hot(tensor({0, 1}), n); });
}

// On values that exist, which are looked at lazily, and on recorded ones.
class HostileMovement : public testing::TestWithParam<bool> {
 protected:
  Tensor x = GetParam() ? arange(12, DType::f32).reshape({3, 4}).clone().eval() : ones({3, 4}) + arange(4);
};

TEST_P(HostileMovement, EveryOp) {
  survives("reshape", [&](int64_t n) { x.reshape({n, -1}).shape(); });
  survives("reshape of two", [&](int64_t n) { x.reshape({n, n}).shape(); });
  survives("view", [&](int64_t n) { x.view({-1, n}).shape(); });
  survives("expand", [&](int64_t n) { x.expand({n, 3, 4}).shape(); });
  survives("expand of one", [&](int64_t n) { x.unsqueeze(1).expand({3, n, 4}).shape(); });
  survives("expand of three", [&](int64_t n) { x.unsqueeze(1).expand({n, n, 3, n, 4}).shape(); });
  survives("broadcast_to", [&](int64_t n) { broadcast_to(x, {n, 3, 4}).shape(); });
  survives("repeat", [&](int64_t n) { repeat(x, {n, n}).shape(); });
  survives("repeat of more", [&](int64_t n) { repeat(x, {n, 1, 2}).shape(); });
  survives("pad before", [&](int64_t n) { pad(x, {n, 0}).shape(); });
  survives("pad after", [&](int64_t n) { pad(x, {0, n}).shape(); });
  survives("pad all", [&](int64_t n) { pad(x, {n, n, n, n}, 1.5).shape(); });
  survives("narrow from", [&](int64_t n) { x.narrow(1, n, 2).to_bytes(); });
  survives("narrow length", [&](int64_t n) { x.narrow(1, 1, n).to_bytes(); });
  survives("narrow both", [&](int64_t n) { x.narrow(0, n, n).to_bytes(); });
  survives("narrow dim", [&](int64_t n) { x.narrow(n, 0, 1).to_bytes(); });
  survives("slice start", [&](int64_t n) { x.slice(1, n).to_bytes(); });
  survives("slice stop", [&](int64_t n) { x.slice(1, {}, n).to_bytes(); });
  survives("slice step", [&](int64_t n) { x.slice(1, {}, {}, n).to_bytes(); });
  survives("slice all", [&](int64_t n) { x.slice(1, n, ~n, n).to_bytes(); });
  survives("select", [&](int64_t n) { x.select(0, n).to_bytes(); });
  survives("index", [&](int64_t n) { x.index({n, Slice(n, {}, n)}).to_bytes(); });
  survives("roll", [&](int64_t n) { roll(x, n, 1).to_bytes(); });
  survives("tril", [&](int64_t n) { tril(x, n).to_bytes(); });
  survives("triu", [&](int64_t n) { triu(x, n).to_bytes(); });
  survives("split", [&](int64_t n) { split(x, n, 1); });
  survives("split by sizes", [&](int64_t n) { split(x, Dims{n, n, 4}, 1); });
  survives("chunk", [&](int64_t n) { chunk(x, n, 1); });
  survives("topk", [&](int64_t n) { topk(x, n, 1); });
  survives("transpose", [&](int64_t n) { x.transpose(n, 0).to_bytes(); });
  survives("permute", [&](int64_t n) { x.permute({n, 0}).to_bytes(); });
  survives("unsqueeze", [&](int64_t n) { x.unsqueeze(n).to_bytes(); });
  survives("squeeze", [&](int64_t n) { x.squeeze(n).to_bytes(); });
  survives("flatten", [&](int64_t n) { x.flatten(0, n).to_bytes(); });
  survives("flip", [&](int64_t n) { flip(x, {n}).to_bytes(); });
  survives("sum", [&](int64_t n) { x.sum({n}).to_bytes(); });
  survives("cumsum", [&](int64_t n) { cumsum(x, n).to_bytes(); });
  survives("sort", [&](int64_t n) { sort(x, n).first.to_bytes(); });
}
INSTANTIATE_TEST_SUITE_P(Views, HostileMovement, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "OfAValue" : "OfAnExpression"; });

TEST(HostileSizes, OpsOnHugeViews) {
  const Tensor one = scalar(1.0);
  const auto wide = [&](int64_t n) { return one.expand({n}); };
  survives("binary", [&](int64_t n) { wide(n) + wide(n).unsqueeze(1); });
  survives("unary", [&](int64_t n) { exp(wide(n)).to(DType::f64); });
  survives("cat", [&](int64_t n) { cat({wide(n), wide(n), wide(n)}); });
  survives("cat across", [&](int64_t n) { cat({wide(n).unsqueeze(0), wide(n).unsqueeze(0)}, 1); });
  survives("stack", [&](int64_t n) { stack({wide(n), wide(n)}, 1); });
  survives("matmul", [&](int64_t n) { matmul(wide(n).unsqueeze(1), wide(n).unsqueeze(0)); });
  survives("batched matmul", [&](int64_t n) { matmul(one.expand({n, 2, 3}), one.expand({n, 1, 3, n})); });
  survives("outer", [&](int64_t n) { outer(wide(n), wide(n)); });
  survives("einsum", [&](int64_t n) { einsum("ab,bc->abc", {one.expand({n, 2}), one.expand({2, n})}); });
  survives("index_select", [&](int64_t n) { index_select(one.expand({3, n}), 0, tensor({0, 1, 2, 0})); });
  survives("index_select by many", [&](int64_t n) { index_select(ones({3, 4}), 0, zeros({n}, DType::i64)); });
  survives("gather", [&](int64_t n) { gather(one.expand({3, n}), 0, zeros({2, 1}, DType::i64)); });
  survives("gather by many", [&](int64_t n) { gather(one.expand({3, n}), 0, zeros({3, n}, DType::i64)); });
  survives("scatter_add", [&](int64_t n) {
    scatter_add(one.expand({3, n}), 0, zeros({3, n}, DType::i64), one.expand({3, n}));
  });
  survives("sort", [&](int64_t n) { sort(one.expand({3, n}), 1); });
  survives("argmax", [&](int64_t n) { argmax(one.expand({3, n}), 1); });
  survives("sum", [&](int64_t n) { sum(one.expand({n, 2}), {0}); });
  survives("mean", [&](int64_t n) { mean(one.expand({n, 2}), {}); });
  survives("softmax", [&](int64_t n) { softmax(one.expand({n, 2}), 0); });
  survives("cumsum", [&](int64_t n) { cumsum(one.expand({n, 2}), 0); });
  survives("flatten", [&](int64_t n) { flatten(one.expand({n, 2, n})); });
  survives("flip", [&](int64_t n) { flip(one.expand({n, 2}), {0}); });
  survives("slice", [&](int64_t n) { wide(n).slice(0, {}, {}, 3).slice(0, 1, {}, n).shape(); });
  survives("roll", [&](int64_t n) { roll(wide(n), 5, 0); });
  survives("bernoulli", [&](int64_t n) { bernoulli(one.expand({n, 2})); });
  survives("rand_like", [&](int64_t n) { rand_like(one.expand({n, 2})); });
  survives("full_like", [&](int64_t n) { full_like(one.expand({n, 2}), 3); });
  survives("chunk", [&](int64_t n) { chunk(wide(n), 3); });
  survives("split", [&](int64_t n) { split(wide(n), int64_t{1} << 30); });
}

TEST(HostileSizes, GradientsOfHugeViews) {
  for (const int64_t n : {int64_t{1} << 31, int64_t{1} << 40, int64_t{1} << 52, int64_t{1} << 53}) {
    Tensor w = ones({1}).requires_grad_();
    try {
      const Tensor y = w.expand({n}).slice(0, 1, {}, 5) * 2;
      y.sum().backward();
      EXPECT_EQ(w.grad().shape(), Dims{1});
    } catch (const Error& error) {
      EXPECT_NE(std::string_view(error.what()).find("too many elements"), std::string_view::npos) << error.what();
    }
  }
}

TEST(HostileSizes, Layers) {
  survives("kv cache", [](int64_t n) {
    if (n < 0 || n > (int64_t{1} << 32)) nn::KvCache(n, n, n, n);
  });
  survives("rotary", [](int64_t n) {
    if (n < 0 || n > (int64_t{1} << 32)) nn::RotaryEmbedding(64, n);
  });
}

}  // namespace
}  // namespace tenon
