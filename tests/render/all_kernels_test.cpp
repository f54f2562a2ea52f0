// Every kernel of the op suite and of GPT-2 is a text in every language, and compilers take it where they are
// installed. OpenCL's are compiled by running them (ops_on_opencl).

#include "all_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "../nvrtc.h"
#include "compilers.h"

namespace tenon::render {
namespace {

std::vector<std::string> sources_in(Language language) {
  std::vector<std::string> sources;
  for (const codegen::KernelIr& kernel : kernels_of_everything(language)) sources.push_back(render(kernel, language));
  return sources;
}

TEST(EveryKernel, HasATextInOpenCl) { EXPECT_GT(sources_in(Language::opencl).size(), 50); }

TEST(EveryKernel, IsTakenByNvrtc) {
  const std::vector<std::string> sources = sources_in(Language::cuda);
  EXPECT_GT(sources.size(), 50);
  const Nvrtc nvrtc = open_nvrtc();
  if (!nvrtc) GTEST_SKIP() << "no libnvrtc";
  // Many to a program: one by itself takes longer to begin than to compile.
  for (size_t first = 0; first < sources.size(); first += 25) {
    std::string all;
    for (size_t i = first; i < std::min(first + 25, sources.size()); ++i)
      all += fmt::format("namespace n{} {{\n{}}}\n", i, sources[i]);
    // The oldest chip that today's compiler knows, as PTX; and machine code for a newer one, which takes its time.
    ASSERT_EQ(compile_cuda(nvrtc, all, "compute_75"), "");
    if (!std::getenv("TENON_ALL_CASES")) continue;
    ASSERT_EQ(compile_cuda(nvrtc, all, "sm_90"), "");
  }
}

TEST(EveryKernel, IsTakenByGlslang) {
  const std::vector<std::string> sources = sources_in(Language::glsl);
  EXPECT_GT(sources.size(), 50);
  if (!has_glslang()) GTEST_SKIP() << "no glslangValidator";
  EXPECT_EQ(check_glsl(sources), "");
}

TEST(EveryKernel, IsTakenByAValidatorOfWgsl) {
  const std::vector<std::string> sources = sources_in(Language::wgsl);
  EXPECT_GT(sources.size(), 50);
  if (const std::string why = why_no_wgsl(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(check_wgsl(sources), "");
}

}  // namespace
}  // namespace tenon::render
