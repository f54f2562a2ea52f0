#include "tenon/backends/vulkan/glslang.h"

#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include "tenon/backends/gpu/compiler.h"
#include "tenon/render/matrix_types.h"

namespace tenon::backends::vulkan {

std::vector<uint32_t> spirv_of(const std::string& source) {
  static const bool is_ready = ::glslang::InitializeProcess();
  if (!is_ready) throw gpu::Refused{"glslang cannot be initialised", ""};
  constexpr auto kMessages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  ::glslang::TShader shader(EShLangCompute);
  const char* text = source.c_str();
  shader.setStrings(&text, 1);
  shader.setEnvInput(::glslang::EShSourceGlsl, EShLangCompute, ::glslang::EShClientVulkan, 100);
  shader.setEnvClient(::glslang::EShClientVulkan, ::glslang::EShTargetVulkan_1_2);
  shader.setEnvTarget(::glslang::EShTargetSpv, ::glslang::EShTargetSpv_1_5);
  if (!shader.parse(GetDefaultResources(), 460, false, kMessages)) throw gpu::Refused{"glslang", shader.getInfoLog()};
  ::glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(kMessages)) throw gpu::Refused{"glslang", program.getInfoLog()};
  std::vector<uint32_t> code;
  ::glslang::SpvOptions options;
  options.disableOptimizer = true;
  ::glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), code, &options);
  return render::with_matrix_types(std::move(code));
}

}  // namespace tenon::backends::vulkan
