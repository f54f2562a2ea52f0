// On disk a program is its SPIR-V behind its length, then what the driver made of it.

#include "tenon/backends/vulkan/toolchain.h"

#include <cstring>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/vulkan/glslang.h"
#include "tenon/base/error.h"

namespace tenon::backends::vulkan {
namespace {

uint32_t bytes_of(codegen::Scalar element, const codegen::Lacks& lacks) {
  const size_t bytes = codegen::size_of(element);
  const bool in_words = (bytes == 1 && lacks.bytes) || (bytes == 2 && lacks.halves) ||
                        (bytes == 8 && lacks.wide_integers && !codegen::is_float(element));
  return static_cast<uint32_t>(in_words ? 4 : bytes);
}

}  // namespace

Built::~Built() {
  if (!gpu::process_is_ending()) vkDestroyPipeline(device, pipeline, nullptr);
}

std::string Toolchain::depends_on() const {
  const VkPhysicalDeviceProperties& own = on_.properties;
  std::string uuid;
  for (const uint8_t byte : own.pipelineCacheUUID) uuid += fmt::format("{:02x}", byte);
  return fmt::format("{}\n{}\n{}\n{}\n{}", on_.name(), on_.driver, own.driverVersion, uuid,
                     render::asked_of(on_.shaders, on_.has_f64));
}

gpu::BuiltRef Toolchain::build(const std::string& source, const codegen::KernelIr& kernel) {
  return make(spirv_of(render::glsl_for(on_.shaders, source)), {}, kernel);
}

// Each pipeline has a cache of its own, which is what is kept of it.
gpu::BuiltRef Toolchain::make(std::vector<uint32_t> code, std::span<const std::byte> cached,
                              const codegen::KernelIr& kernel) {
  VkDevice device = driver_.device();
  auto made = std::make_shared<Built>();
  made->device = device;
  for (const codegen::KernelBuffer& buffer : kernel.buffers)
    made->element_bytes.push_back(bytes_of(buffer.element, lacks()));

  VkPipelineCacheCreateInfo kept{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  kept.initialDataSize = cached.size();
  kept.pInitialData = cached.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  require(vkCreatePipelineCache(device, &kept, nullptr, &cache), "a pipeline cache cannot be made");
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = code.size() * sizeof(uint32_t);
  shader.pCode = code.data();
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  size.requiredSubgroupSize = limits_.subgroup;
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
  create.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.pName = "main";
  create.layout = driver_.layout(kernel.buffers.size() + 1);
  if (limits_.subgroup > 1 && kernel.threads % limits_.subgroup == 0) {
    if (on_.chooses_subgroup) create.stage.pNext = &size;
    create.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  VkResult code_of = vkCreateShaderModule(device, &shader, nullptr, &create.stage.module);
  if (code_of == VK_SUCCESS) {
    code_of = vkCreateComputePipelines(device, cache, 1, &create, nullptr, &made->pipeline);
    vkDestroyShaderModule(device, create.stage.module, nullptr);
  }
  size_t bytes = 0;
  if (code_of == VK_SUCCESS && vkGetPipelineCacheData(device, cache, &bytes, nullptr) == VK_SUCCESS) {
    made->cached.resize(bytes);
    if (vkGetPipelineCacheData(device, cache, &bytes, made->cached.data()) != VK_SUCCESS) made->cached.clear();
  }
  vkDestroyPipelineCache(device, cache, nullptr);
  if (code_of != VK_SUCCESS) throw gpu::Refused{error_name(code_of), "the driver makes no pipeline of it"};
  made->code = std::move(code);
  return made;
}

std::vector<std::byte> Toolchain::binary_of(const gpu::Built& any) const {
  const auto& built = static_cast<const Built&>(any);
  const uint64_t words = built.code.size();
  const size_t code_bytes = words * sizeof(uint32_t);
  std::vector<std::byte> all(sizeof words + code_bytes + built.cached.size());
  std::memcpy(all.data(), &words, sizeof words);
  std::memcpy(all.data() + sizeof words, built.code.data(), code_bytes);
  if (!built.cached.empty())
    std::memcpy(all.data() + sizeof words + code_bytes, built.cached.data(), built.cached.size());
  return all;
}

gpu::BuiltRef Toolchain::load(std::span<const std::byte> binary, const codegen::KernelIr& kernel) {
  uint64_t words = 0;
  if (binary.size() < sizeof words) return nullptr;
  std::memcpy(&words, binary.data(), sizeof words);
  binary = binary.subspan(sizeof words);
  if (binary.size() / sizeof(uint32_t) < words) return nullptr;
  std::vector<uint32_t> code(words);
  std::memcpy(code.data(), binary.data(), words * sizeof(uint32_t));
  try {
    return make(std::move(code), binary.subspan(words * sizeof(uint32_t)), kernel);
  } catch (const gpu::Refused&) {
    return nullptr;
  }
}

}  // namespace tenon::backends::vulkan
