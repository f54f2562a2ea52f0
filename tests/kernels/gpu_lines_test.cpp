// What scatter_add, sort and scan become on a GPU: threads that read ahead, blocks within its limits, and source that
// its compiler takes.

#include <gtest/gtest.h>

#include <set>

#include "../nvrtc.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::kernels {
namespace {

ir::Limits limits_of_a_gpu() {
  ir::Limits limits;
  limits.subgroup = 32;
  limits.vector = 4;
  limits.max_threads = 1024;
  limits.processors = 132;
  limits.shared_bytes = 49152;
  limits.has_fma = true;
  return limits;
}

ir::Call call_of(ir::Op op, const ir::Attrs& attrs, std::initializer_list<ir::Type> inputs,
                 std::initializer_list<ir::Type> outputs) {
  ir::Call call;
  call.op = op;
  call.attrs = attrs;
  for (const ir::Type& type : inputs) call.inputs.push_back({type.dtype, ir::IndexMap(type.shape)});
  for (const ir::Type& type : outputs) call.outputs.push_back(type);
  return call;
}
ir::Call scatter(DType dtype, const Dims& base, int64_t axis, DType index, int64_t picks) {
  Dims values = base;
  values[static_cast<size_t>(axis)] = picks;
  return call_of(ir::Op::scatter_add, ir::AxisAttrs{axis}, {{dtype, base}, {index, {picks}}, {dtype, values}},
                 {{dtype, base}});
}
ir::Call sort(DType dtype, const Dims& shape, int64_t axis, bool descending) {
  return call_of(ir::Op::sort, ir::SortAttrs{axis, descending}, {{dtype, shape}},
                 {{dtype, shape}, {DType::i64, shape}});
}
ir::Call scan(DType dtype, const Dims& shape, int64_t axis, ir::ScanKind kind) {
  return call_of(ir::Op::scan, ir::ScanAttrs{axis, kind}, {{dtype, shape}}, {{dtype, shape}});
}

std::vector<codegen::Module> modules() {
  const ir::Limits limits = limits_of_a_gpu();
  std::vector<codegen::Module> made;
  for (const ir::Call& call :
       {scatter(DType::f32, {50257, 768}, 0, DType::i64, 32768), scatter(DType::bf16, {4, 300, 5}, 1, DType::i32, 70),
        sort(DType::f32, {3, 5000}, 1, true), sort(DType::f64, {40, 70}, 0, false), sort(DType::f16, {9}, 0, false),
        scan(DType::f32, {1'000'000}, 0, ir::ScanKind::sum), scan(DType::bf16, {300, 70}, 0, ir::ScanKind::prod),
        // With places of 64 bits.
        scatter(DType::u8, {3'000'000'000, 2}, 0, DType::i32, 5000), sort(DType::u8, {1 << 20, 3000}, 1, false),
        sort(DType::i64, {1 << 30, 5}, 1, true), scan(DType::f16, {1 << 11, 1 << 21}, 1, ir::ScanKind::sum)})
    made.push_back(lower(call, limits));
  return made;
}

TEST(LinesOnGpus, NvrtcCompilesEveryKernel) {
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  for (const codegen::Module& module : modules()) {
    for (const codegen::Dispatch& dispatch : module.dispatches)
      EXPECT_EQ(compile_cuda(nvrtc, render::render(dispatch.kernel, render::Language::cuda)), "");
  }
}

TEST(LinesOnGpus, KernelsOfAModuleHaveNamesOfTheirOwn) {
  for (const codegen::Module& module : modules()) {
    std::set<std::string> names;
    for (const codegen::Dispatch& dispatch : module.dispatches)
      EXPECT_TRUE(names.insert(dispatch.kernel.name).second) << dispatch.kernel.name;
  }
}

TEST(LinesOnGpus, BlocksStayWithinTheDevice) {
  const ir::Limits limits = limits_of_a_gpu();
  for (const codegen::Module& module : modules()) {
    for (const codegen::Dispatch& dispatch : module.dispatches) {
      size_t shared = 0;
      for (const codegen::KernelArray& array : dispatch.kernel.shared) shared += array.count * size_of(array.element);
      EXPECT_LE(shared, limits.shared_bytes) << dispatch.kernel.name;
      EXPECT_LE(dispatch.kernel.threads, limits.max_threads) << dispatch.kernel.name;
    }
  }
}

// Sorting 32768 picks: tiles of 1024, then five doublings; then the copy, the sums of segments and those of runs.
TEST(LinesOnGpus, AnEmbeddingsGradientIsNineDispatches) {
  const codegen::Module module = lower(scatter(DType::f32, {50257, 768}, 0, DType::i64, 32768), limits_of_a_gpu());
  EXPECT_EQ(module.dispatches.size(), 9);
  for (size_t i = 0; i < 6; ++i) EXPECT_FALSE(module.dispatches[i].writes_results) << i;
  EXPECT_TRUE(module.dispatches[0].kernel.may_fault);
}

// The sums must not be written before every index was seen to be good: only the sort may find a bad one.
TEST(LinesOnGpus, IndicesAreCheckedBeforeAnythingIsWritten) {
  for (const codegen::Module& module : modules()) {
    for (const codegen::Dispatch& dispatch : module.dispatches)
      EXPECT_FALSE(dispatch.kernel.may_fault && dispatch.writes_results) << dispatch.kernel.name;
  }
}

}  // namespace
}  // namespace tenon::kernels
