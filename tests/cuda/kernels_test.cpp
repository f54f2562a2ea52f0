// Kernels of the cuda device: compiled by NVRTC where it is there (no GPU is needed), loaded, launched and checked by
// the stand-in; and what a fault leaves of a plan.

#include "tenon/kernels/kernels.h"

#include <numeric>

#include "on_stand_in.h"
#include "tenon/backends/cuda/toolchain.h"
#include "tenon/backends/gpu/copy_kernel.h"
#include "tenon/codegen/builder.h"
#include "tenon/device/registry.h"
#include "tenon/render/render.h"
#include "tenon/tenon.h"
#include "tests/error_text.h"

namespace tenon {
namespace {

using backends::cuda::nvrtc;
using codegen::Id;
using codegen::Scalar;
using device::Buffer;
using device::Command;
using device::Launch;

class CudaKernels : public OnStandIn {
 protected:
  void SetUp() override {
    if (!nvrtc()) GTEST_SKIP() << backends::cuda::why_no_compiler();
    OnStandIn::SetUp();
  }

  // Turns a matrix of two rows.
  static device::Kernel turn() {
    ir::Call call;
    call.op = ir::Op::contiguous;
    ir::IndexMap map(Dims{2, 3});
    map.apply({ir::Op::permute, ir::AxesAttrs{Dims{1, 0}}});
    call.inputs.push_back({DType::f32, map});
    call.outputs.push_back({DType::f32, Dims{3, 2}});
    return call;
  }
  Launch launch(const device::ProgramRef& program) {
    Launch made{program, {}, 1};
    made.args.push_back({make(24), 0, 24});
    made.args.push_back({make(24), 0, 24});
    return made;
  }
};

// Every thread turns an array of more shared memory than a block has by itself.
codegen::Dispatch much_shared_memory(uint32_t words) {
  codegen::Builder b("much_shared", 256);
  const uint32_t to = b.add_buffer(Scalar::f32, true);
  const uint32_t first = b.add_shared(Scalar::f32, words), second = b.add_shared(Scalar::u16, 256);
  const Id thread = b.thread(), other = b.sub(b.u32(255), thread);
  b.shared_store(first, b.add(thread, b.u32(words - 256)), b.convert(thread, Scalar::f32));
  b.shared_store(second, thread, thread);
  b.barrier();
  const Id sum = b.add(b.shared_load(first, b.add(other, b.u32(words - 256))),
                       b.convert(b.shared_load(second, other), Scalar::f32));
  b.store(to, thread, sum);
  return {b.finish(), {1, 1, 1}, {{0, 0}}};
}

TEST(CudaShared, ComesWithTheLaunchWhereABlockHasNotEnough) {
  EXPECT_EQ(render::cuda_shared_bytes_of_launch(much_shared_memory(1000).kernel), 0u);
  EXPECT_EQ(render::cuda_shared_bytes_of_launch(much_shared_memory(20000).kernel), 80000u + 512u);
  const std::string source = render::render(much_shared_memory(20000).kernel, render::Language::cuda);
  EXPECT_NE(source.find("float* s0 = (float*)(shared_memory + 0);"), std::string::npos) << source;
  EXPECT_NE(source.find("unsigned short* s1 = (unsigned short*)(shared_memory + 80000);"), std::string::npos) << source;
}

TEST_F(CudaKernels, AreCompiledForHopper) {
  for (const codegen::Dispatch& dispatch :
       {much_shared_memory(1000), much_shared_memory(57000), backends::gpu::copy_kernel(1, 64),
        backends::gpu::copy_kernel(4, 64), backends::gpu::copy_kernel(16, 64)}) {
    try {
      const auto cubin =
          backends::cuda::compile(*nvrtc(), render::render(dispatch.kernel, render::Language::cuda), "sm_90a");
      EXPECT_GT(cubin.size(), 100u);
    } catch (const backends::gpu::Refused& refused) {
      ADD_FAILURE() << refused.why << "\n" << refused.log;
    }
  }
}

TEST_F(CudaKernels, RunWithSharedMemoryBeyondThatOfABlock) {
  auto& compiler = static_cast<backends::gpu::Compiler&>(device_->compiler());
  auto program = std::make_shared<backends::gpu::Program>();
  program->steps.push_back(compiler.step(much_shared_memory(57000)));
  Launch launch{program, {}, 0};
  launch.args.push_back({make(1024), 0, 1024});
  run({launch});
  EXPECT_EQ(stand_in().calls("cuFuncSetAttribute"), 1);
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 1);
}

TEST_F(CudaKernels, AreLaunchedWithAllTheirArguments) {
  run({launch(device_->compiler().compile(turn()))});
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 1);
}

TEST_F(CudaKernels, OfOneTextAreLoadedOnce) {
  const device::ProgramRef first = device_->compiler().compile(turn()), second = device_->compiler().compile(turn());
  EXPECT_EQ(stand_in().calls("cuModuleLoadData"), 1);
}

TEST_F(CudaKernels, ASavedProgramIsLoadedWithoutTheCompiler) {
  device::Compiler& compiler = device_->compiler();
  const std::string name = compiler.saved_as(turn());
  EXPECT_EQ(name.find("cuda\nsm_90a\n--fmad=false\n"), 0u) << name;
  EXPECT_NE(name.find("__global__"), std::string::npos);
  const std::vector<std::byte> saved = compiler.save(*compiler.compile(turn()));
  const device::ProgramRef program = compiler.load(turn(), saved);
  ASSERT_NE(program, nullptr);
  run({launch(program)});
}

TEST_F(CudaKernels, DamagedProgramsAreNotLoaded) {
  device::Compiler& compiler = device_->compiler();
  std::vector<std::byte> saved = compiler.save(*compiler.compile(turn()));
  EXPECT_EQ(compiler.load(turn(), {}), nullptr);
  EXPECT_EQ(compiler.load(turn(), std::span(saved).first(saved.size() - 1)), nullptr);
  saved[8] ^= std::byte{1};  // the first byte behind the length
  EXPECT_EQ(compiler.load(turn(), saved), nullptr);
}

TEST_F(CudaKernels, ARecordedLaunchIsPartOfTheGraph) {
  const Command command = launch(device_->compiler().compile(turn()));
  const auto recording = device_->record({&command, 1});
  for (int i = 0; i < 4; ++i) device_->wait(recording->replay({}, true));
  EXPECT_EQ(stand_in().calls("cuLaunchKernel"), 2);  // once by itself, once into the graph
  EXPECT_EQ(stand_in().calls("cuGraphLaunch"), 3);
}

TEST(CudaCompile, SaysWhatTheCompilerSays) {
  if (!nvrtc()) GTEST_SKIP() << backends::cuda::why_no_compiler();
  try {
    backends::cuda::compile(*nvrtc(), "extern \"C\" __global__ void broken() { no_such_thing(); }\n", "sm_90a");
    ADD_FAILURE() << "it compiles";
  } catch (const backends::gpu::Refused& refused) {
    EXPECT_EQ(refused.why, "NVRTC_ERROR_COMPILATION");
    EXPECT_NE(refused.log.find("no_such_thing"), std::string::npos) << refused.log;
  }
}

// ---- faults, from tensors down ----

TEST_F(CudaKernels, ACopyIntoStateDoesNothingBehindAFault) {
  const Device cuda("cuda");
  device::Device& shared = device::open(device::find("cuda"));
  const auto number = [&](uint8_t value) {
    const Buffer made = shared.allocate(4);
    const Command fill = device::Fill{{made, 0, 4}, std::byte{value}};
    shared.wait(shared.send({&fill, 1}, true));
    return made;
  };
  const auto read_number = [&](const Buffer& from) {
    std::vector<std::byte> to(1);
    const Command command = device::Download{{from, 0, 1}, to};
    shared.wait(shared.send({&command, 1}, true));
    return static_cast<int>(to[0]);
  };
  const Buffer value = number(7), state = number(1), result = number(1);
  const Tensor table = from_vector(std::vector<float>{1, 2, 3}, {3}, cuda);
  const uint32_t words[8] = {1, static_cast<uint32_t>(ir::Op::gather), 0, 8, 0, 3, 0, 0};
  stand_in().fault(words);
  const Tensor bad = index_select(table, 0, full({2}, 7, Options(DType::i64, cuda)).clone() + 1).eval();
  const std::vector<Command> copies = {device::Copy{{value, 0, 4}, {state, 0, 4}, true},
                                       device::Copy{{value, 0, 4}, {result, 0, 4}}};
  const device::Ticket ticket = shared.send(copies, false);
  EXPECT_EQ(text_of([&] { shared.wait(ticket); }), "[gather] index 8 is out of range for axis 0 of size 3");
  EXPECT_TRUE(shared.is_known_to_fail(ticket));
  EXPECT_EQ(read_number(state), 1);
  EXPECT_EQ(read_number(result), 7);
  shared.wait(shared.send(copies, false));
  EXPECT_EQ(read_number(state), 7);
  for (const Buffer& each : {value, state, result}) shared.release(each);
}

TEST_F(CudaKernels, AFaultInAGraphIsFound) {
  const Device cuda("cuda");
  const Tensor table = from_vector(std::vector<float>{1, 2, 3}, {3}, cuda);
  auto look = compile([&](const Tensor& at) { return index_select(table, 0, at); });
  const Tensor at = full({2}, 1, Options(DType::i64, cuda)).clone().eval();
  for (int i = 0; i < 6; ++i) look(at).eval();
  synchronize();
  EXPECT_GT(stand_in().calls("cuGraphLaunch"), 0);
  const uint32_t words[8] = {1, static_cast<uint32_t>(ir::Op::gather), 0, 9, 0, 3, 0, 0};
  stand_in().fault(words);
  const Tensor bad = look(at);
  EXPECT_EQ(text_of([&] { bad.to_vector<float>(); }), "[gather] index 9 is out of range for axis 0 of size 3");
}

}  // namespace
}  // namespace tenon
