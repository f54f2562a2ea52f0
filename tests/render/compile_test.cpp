// What compilers say of rendered kernels: NVRTC of CUDA C++, glslang of GLSL, naga or tint of WGSL, each where it is
// installed.

#include <gtest/gtest.h>

#include "../error_text.h"
#include "../nvrtc.h"
#include "compilers.h"
#include "kernels.h"
#include "tenon/render/render.h"

namespace tenon::render {
namespace {

using ir::Op;

// ---- CUDA ----

TEST(Cuda, NvrtcCompilesEveryKernel) {
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  for (const KernelIr& kernel : all_kernels()) EXPECT_EQ(compile_cuda(nvrtc, render(kernel, Language::cuda)), "");
  for (const bool is_bf16 : {false, true}) {
    for (const bool is_turned : {false, true})
      EXPECT_EQ(compile_cuda(nvrtc, render(tile_kernel(is_bf16, is_turned, !is_turned), Language::cuda)), "");
  }
}

// ---- GLSL and WGSL ----

/// The ops of a type that a language has, as rendering says.
std::vector<Op> ops_in(Language language, Scalar type) {
  std::vector<Op> ops;
  for (const Op op : ops_of(type)) {
    try {
      render(ops_kernel(type, {op}), language);
      ops.push_back(op);
    } catch (const Error&) {
    }
  }
  return ops;
}

/// All kernels; of the ops of a type those that the language has.
std::vector<KernelIr> kernels_in(Language language) {
  std::vector<KernelIr> kernels;
  for (KernelIr& kernel : all_kernels()) {
    if (!kernel.name.starts_with("ops_")) kernels.push_back(std::move(kernel));
  }
  for (const Scalar type : kValueTypes) {
    if (const auto ops = ops_in(language, type); !ops.empty()) kernels.push_back(ops_kernel(type, ops));
  }
  return kernels;
}

TEST(Glsl, GlslangCompilesEveryKernel) {
  if (!has_glslang()) GTEST_SKIP() << "no glslangValidator";
  std::vector<std::string> sources;
  for (const KernelIr& kernel : kernels_in(Language::glsl)) sources.push_back(render(kernel, Language::glsl));
  EXPECT_EQ(check_glsl(sources), "");
}

TEST(Glsl, LacksNoOpButTheseOfFloats) {
  for (const Scalar type : {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64})
    EXPECT_EQ(ops_in(Language::glsl, type), ops_of(type)) << name(type);
  EXPECT_EQ(ops_of(Scalar::f32).size() - ops_in(Language::glsl, Scalar::f32).size(), 4);
  EXPECT_EQ(text_of([] { render(ops_kernel(Scalar::f32, {Op::erf}), Language::glsl); }),
            "[render] GLSL has no spelling of erf on f32");
  EXPECT_EQ(text_of([] { render(ops_kernel(Scalar::f32, {Op::mod}), Language::glsl); }),
            "[render] GLSL has no spelling of mod on f32");
  EXPECT_EQ(text_of([] { render(ops_kernel(Scalar::f64, {Op::exp}), Language::glsl); }),
            "[render] GLSL has no spelling of exp on f64");
}

/// All kernels as the language takes them: legalised, without those of f64 where it has none.
std::vector<std::string> legal_sources(Language language) {
  std::vector<std::string> sources;
  for (const KernelIr& kernel : all_kernels()) {
    try {
      sources.push_back(render(codegen::legalise(kernel, lacks_of(language)), language));
    } catch (const Error& error) {
      EXPECT_TRUE(lacks_of(language).f64);
      EXPECT_NE(std::string(error.what()).find("f64"), std::string::npos) << error.what();
    }
  }
  return sources;
}

TEST(Wgsl, TakesEveryKernelWithoutF64) {
  const std::vector<std::string> sources = legal_sources(Language::wgsl);
  EXPECT_GT(sources.size(), 25);
  if (const std::string why = why_no_wgsl(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(check_wgsl(sources), "");
}

TEST(Glsl, TakesLegalisedKernels) {
  const std::vector<std::string> sources = legal_sources(Language::glsl);
  EXPECT_GT(sources.size(), 25);
  if (!has_glslang()) GTEST_SKIP() << "no glslangValidator";
  EXPECT_EQ(check_glsl(sources), "");
}

TEST(Wgsl, RefusesWhatItLacksByName) {
  const auto refusal = [](const KernelIr& kernel) { return text_of([&] { render(kernel, Language::wgsl); }); };
  EXPECT_EQ(refusal(copy_kernel(Scalar::u8)), "[render] WGSL has no u8 in buffers");
  EXPECT_EQ(refusal(copy_kernel(Scalar::u16)), "[render] WGSL has no u16 in buffers");
  EXPECT_EQ(refusal(copy_kernel(Scalar::boolean)), "[render] WGSL has no boolean in buffers");
  EXPECT_EQ(refusal(copy_kernel(Scalar::i64)), "[render] WGSL has no i64");
  EXPECT_EQ(refusal(copy_kernel(Scalar::f64)), "[render] WGSL has no f64");
  EXPECT_EQ(refusal(fault_kernel()), "[render] WGSL has no i64");
  EXPECT_EQ(refusal(ops_kernel(Scalar::f32, {Op::log1p})), "[render] WGSL has no spelling of log1p on f32");
}

TEST(Wgsl, RefusesMatrixTiles) {
  EXPECT_EQ(text_of([] { render(tile_kernel(true, false, false), Language::wgsl); }),
            "[render] WGSL has no matrix tiles (kernel tile_bf16)");
}

// A compiler cannot divide by itself: it does not know that a sum of products is a multiple of four.
TEST(Glsl, PlacesOfVectorsAreCountedInVectors) {
  codegen::Builder b("vectors", 32);
  const uint32_t from = b.add_buffer(Scalar::f32, false), to = b.add_buffer(Scalar::f32, true);
  const auto times = [&](Id id, uint32_t by) { return b.mul(id, b.u32(by)); };
  const Id block = b.block(), thread = b.thread();  // v0, v1
  const Id at = b.add(times(block, 768), times(thread, 4)), odd = b.add(times(block, 6), thread);
  b.store_several(to, at, b.load_several(from, at, 4));
  b.store_several(to, b.add(at, b.u32(4)), b.load_several(from, odd, 4));
  const std::string source = render(b.finish(), Language::glsl);
  const auto has = [&](std::string_view text) { return source.find(text) != std::string::npos; };
  EXPECT_TRUE(has("= b0x4[arguments.o0 / 4u + v0 * (192u) + v1];")) << source;
  EXPECT_TRUE(has("b1x4[arguments.o1 / 4u + v0 * (192u) + v1 + 1u] = ")) << source;
  EXPECT_TRUE(has("/ 4u];")) << source;  // what cannot be told is divided
}

// Of a half by itself the compiler makes three instructions before it is a float.
TEST(Cuda, HalvesAreReadAsWords) {
  codegen::Builder b("halves", 32);
  const uint32_t from = b.add_buffer(Scalar::u16, false), to = b.add_buffer(Scalar::u16, true);
  const Id at = b.mul(b.thread(), b.u32(8));
  b.store_several(to, at, b.load_several(from, at, 8));
  b.set_resident(2);
  const std::string source = render(b.finish(), Language::cuda);
  const auto has = [&](std::string_view text) { return source.find(text) != std::string::npos; };
  EXPECT_TRUE(has("__launch_bounds__(32, 2) halves(")) << source;
  EXPECT_TRUE(has("= *(const Several<unsigned, 4>*)(b0 + ")) << source;
  EXPECT_TRUE(has(".s[3] & 0xffffu;")) << source;
  EXPECT_TRUE(has(".s[3] >> 16;")) << source;
  if (const Nvrtc nvrtc = open_nvrtc()) {
    EXPECT_EQ(compile_cuda(nvrtc, source), "");
  }
}

TEST(Glsl, EightHalvesAreOneAccess) {
  codegen::Builder b("halves", 32);
  const uint32_t from = b.add_buffer(Scalar::u16, false), to = b.add_buffer(Scalar::u16, true);
  const Id at = b.mul(b.thread(), b.u32(8));
  b.store_several(to, at, b.load_several(from, at, 8));
  const std::string source = render(b.finish(), Language::glsl);
  const auto has = [&](std::string_view text) { return source.find(text) != std::string::npos; };
  EXPECT_TRUE(has("restrict readonly buffer B0x8 { uvec4 b0x8[]; };")) << source;
  EXPECT_TRUE(has("= halves_of(b0x8[arguments.o0 / 8u + v0]);")) << source;
  EXPECT_TRUE(has("b1x8[arguments.o1 / 8u + v0] = uvec4((v3 & 0xffffu) | v4 << 16, ")) << source;
}

// Where multiply-adds are quick, which the device says, a reciprocal is a few of them.
TEST(Glsl, ReciprocalsAreNoDivisionsWhereMultiplyAddsAreQuick) {
  codegen::Builder b("reciprocal", 32);
  const uint32_t to = b.add_buffer(Scalar::f32, true);
  b.store(to, b.thread(), b.reciprocal(b.convert(b.add(b.thread(), b.u32(1)), Scalar::f32)));
  const std::string source = render(b.finish(), Language::glsl), version = "#version 460\n";
  ASSERT_TRUE(source.starts_with(version));
  EXPECT_NE(source.find("= reciprocal_of(v"), std::string::npos) << source;
  if (!has_glslang()) GTEST_SKIP() << "no glslangValidator";
  EXPECT_EQ(check_glsl({source, version + "#define HAS_FMA\n" + source.substr(version.size())}), "");
}

TEST(Glsl, MatrixTilesAreCooperativeMatrices) {
  const std::string source = render(tile_kernel(false, true, false), Language::glsl);
  const auto has = [&](std::string_view text) { return source.find(text) != std::string::npos; };
  EXPECT_TRUE(has("shared uvec4 s0[128];"));
  EXPECT_TRUE(has("= tile_left(s0[0u], 1u, 2u, ")) << source;
  EXPECT_TRUE(has("= tile_right(s0[32u], 0u, 2u, "));
  EXPECT_TRUE(has("#define TILE_FACTOR 0u\n"));
  EXPECT_FALSE(has("SPV_KHR_bfloat16"));
  const std::string of_bf16 = render(tile_kernel(true, true, false), Language::glsl);
  EXPECT_NE(of_bf16.find("#define TILE_FACTOR 1u\n"), std::string::npos);
  EXPECT_NE(of_bf16.find("\"SPV_KHR_bfloat16\""), std::string::npos);
}

TEST(Glsl, WhatIsTheSameMemoryIsDecoratedSo) {
  Builder b("in_place", 1);
  const uint32_t x = b.add_buffer(Scalar::f32, false, true), y = b.add_buffer(Scalar::f32, false),
                 z = b.add_buffer(Scalar::f32, true, true);
  b.store(z, b.u32(0), b.add(b.load(x, b.u32(0)), b.load(y, b.u32(0))));
  const std::string source = render(b.finish(), Language::glsl);
  const auto has = [&](std::string_view text) { return source.find(text) != std::string::npos; };
  EXPECT_TRUE(has("spirv_decorate(20) buffer B0 ")) << source;
  EXPECT_TRUE(has("restrict readonly buffer B1 ")) << source;
  EXPECT_TRUE(has("spirv_decorate(20) buffer B2 ")) << source;
}

TEST(Glsl, GlslangCompilesMatrixTiles) {
  if (!has_glslang()) GTEST_SKIP() << "no glslangValidator";
  std::vector<std::string> sources;
  for (const bool is_bf16 : {false, true}) {
    for (const bool left : {false, true}) {
      for (const bool right : {false, true})
        sources.push_back(render(tile_kernel(is_bf16, left, right), Language::glsl));
    }
  }
  EXPECT_EQ(check_glsl(sources), "");
}

TEST(Rendering, ReadsLikeCode) {
  Builder b("scaled", 64);
  const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true);
  b.set_numbers(1);
  const Id block = b.block(), first = b.mul(block, b.u32(64)), i = b.add(first, b.thread());
  b.leave_if(b.is_not(b.less(i, b.convert(b.number(0), Scalar::u32))));
  const Id value = b.load(x, i);
  b.store(y, i, b.mul(value, b.f32(0.1)));
  EXPECT_EQ(render(b.finish(), Language::opencl), R"(#pragma OPENCL FP_CONTRACT OFF
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scaled(__global const uchar* restrict m0, ulong o0, __global uchar* restrict m1, ulong o1, ulong n0, __global int* fault, uint guards) {
  if (guards != 0 && fault[0] != 0) return;
  __global const float* b0 = (__global const float*)(m0 + o0);
  __global float* b1 = (__global float*)(m1 + o1);
  const uint v0 = (uint)get_group_id(0);
  const uint v1 = v0 * 64u;
  const uint v2 = (uint)get_local_id(0);
  const uint v3 = v1 + v2;
  const ulong v4 = n0;
  const uint v5 = (uint)v4;
  const bool v6 = v3 < v5;
  const bool v7 = v6 != true;
  if (v7) { return; }
  const float v8 = b0[(int)v3];
  const float v9 = v8 * 0x1.99999ap-4f;
  b1[(int)v3] = v9;
}
)");
}

// Compilers are slow, and kernels of one text are compiled once.
TEST(Rendering, ConstantsThatNobodyReadsDoNotChangeAText) {
  const auto doubled = [](bool makes_more) {
    Builder b("doubled", 64);
    const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true);
    const Id i = b.thread();
    if (makes_more) b.u32(77);
    b.store(y, i, b.mul(b.load(x, i), b.f32(2)));
    return render(b.finish(), Language::opencl);
  };
  EXPECT_EQ(doubled(true), doubled(false));
}

TEST(Rendering, SaysWhichLoopsAreToStayLoops) {
  Builder b("sums", 1);
  const uint32_t x = b.add_buffer(Scalar::f32, false), y = b.add_buffer(Scalar::f32, true);
  const Id sum = b.variable(b.f32(0));
  b.loop(
      0, 4, [&](Id i) { b.set(sum, b.add(b.get(sum), b.load(x, i))); }, codegen::Unroll::never);
  b.store(y, b.u32(0), b.get(sum));
  const codegen::KernelIr kernel = b.finish();
  const auto says = [&](Language language, std::string_view what) {
    return render(kernel, language).find(what) != std::string::npos;
  };
  EXPECT_TRUE(says(Language::opencl, "  #pragma unroll 1\n  for"));
  EXPECT_TRUE(says(Language::cuda, "  #pragma unroll 1\n  for"));
  EXPECT_TRUE(says(Language::glsl, "  [[dont_unroll]]\n  for"));
}

}  // namespace
}  // namespace tenon::render
