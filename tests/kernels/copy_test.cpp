// Stores into the parts of one buffer.

#include <gtest/gtest.h>

#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::kernels {
namespace {

// Writes 64 numbers into a buffer of 1024, from `begin` on.
codegen::Module store_at(int64_t begin) {
  ir::Call call;
  call.op = ir::Op::store;
  call.attrs = ir::StoreAttrs{{{ir::Op::shrink, ir::ShrinkAttrs{Dims{begin}, Dims{64}, Dims{1}}}}};
  call.inputs.push_back({DType::f32, ir::IndexMap(Dims{1024})});
  call.inputs.push_back({DType::f32, ir::IndexMap(Dims{64})});
  call.outputs.push_back({DType::f32, Dims{1024}});
  return lower(call, {});
}

TEST(Stores, IntoPartsOfOneBufferAreOneKernelWhoseLaunchSaysWhere) {
  const codegen::Dispatch low = store_at(64).dispatches.back(), high = store_at(512).dispatches.back();
  EXPECT_EQ(render::render(low.kernel, render::Language::opencl),
            render::render(high.kernel, render::Language::opencl));
  ASSERT_EQ(low.buffers.size(), 2);
  EXPECT_EQ(low.buffers[1].arg, 2);
  EXPECT_EQ(low.buffers[1].offset, 64 * 4);
  EXPECT_EQ(high.buffers[1].offset, 512 * 4);
}

// Four numbers are written at once where they begin at 16 bytes.
TEST(Stores, BeginWhereVectorsMay) {
  const codegen::Dispatch odd = store_at(7).dispatches.back();
  EXPECT_EQ(odd.buffers[1].offset, 4 * 4);
}

}  // namespace
}  // namespace tenon::kernels
