// Halves that are put side by side, as rotary positions have them: neighbours that are all padding, or all none, are
// read at once, whichever of both they are.

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/codegen/lower.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using ir::Instr;
using ir::Op;

// store(x behind so many columns of padding)
codegen::Module moved_right(int64_t columns) {
  ir::LoopNest nest;
  nest.space = {1024, 64};
  nest.row_rank = 1;
  nest.inputs = nest.outputs = 1;
  ir::IndexMap padded(Dims{1024, 64 - columns});
  padded.apply(Op::pad, ir::PadAttrs{Dims{0, columns}, Dims{0, 0}});
  nest.code.push_back({.kind = Instr::Kind::load, .buffer = 0, .map = padded});
  Instr store{.kind = Instr::Kind::store, .buffer = 1, .map = ir::IndexMap(nest.space)};
  store.args.push_back(0);
  nest.code.push_back(store);
  ir::Limits limits;
  limits.max_threads = 1024;
  limits.vector = 4;
  return codegen::lower(nest, limits);
}

size_t loads_of(const codegen::Module& made) {
  const auto& code = made.dispatches.at(0).kernel.code;
  return static_cast<size_t>(std::count_if(
      code.begin(), code.end(), [](const codegen::Inst& inst) { return inst.kind == codegen::Inst::Kind::load; }));
}

TEST(PaddedRuns, ALoadIsOneWhereItLiesInsideOrOutsideAsAWhole) {
  EXPECT_EQ(loads_of(moved_right(32)), 1u);
  EXPECT_EQ(loads_of(moved_right(30)), 4u);
}

Tensor counted(const Dims& shape, const char* device) {
  return arange(ir::count(shape), Options(DType::i32, "cpu")).reshape(shape).to(DType::f32).to(device);
}

// Of halves of 4, 6 and 32 columns.
TEST(PaddedRuns, HalvesThatAreTurnedAndTheirGradientsAreThoseOfTheCpu) {
  for (const int64_t width : {8, 12, 64}) {
    std::vector<std::vector<float>> values, slopes;
    for (const char* device : {"cpu", "simulated"}) {
      const Tensor x = counted({3, 5, width}, device).requires_grad_();
      const Tensor angle = counted({5, width / 2}, device) * 0.25;
      const std::vector<Tensor> half = x.chunk(2, -1);
      const Tensor turned = cat({half[0] * angle - half[1], half[1] * angle + half[0]}, -1);
      const Tensor moved = pad(turned.narrow(-1, width / 2, width / 2), {width / 2, 0});
      (turned * turned + moved).sum().backward();
      values.push_back((turned + moved).to_vector<float>());
      slopes.push_back(x.grad().to_vector<float>());
    }
    EXPECT_EQ(values[0], values[1]);
    EXPECT_EQ(slopes[0], slopes[1]);
  }
}

}  // namespace
}  // namespace tenon
