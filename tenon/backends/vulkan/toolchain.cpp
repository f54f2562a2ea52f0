// On disk a program is its SPIR-V behind its length, then what the driver made of it.

#include "tenon/backends/vulkan/toolchain.h"

#include <cctype>
#include <cstring>

#include "tenon/backends/gpu/at_exit.h"
#include "tenon/backends/vulkan/glslang.h"
#include "tenon/base/error.h"

namespace tenon::backends::vulkan {
namespace {

// What a shader asks of the arithmetic, where the device can do so (see the numbers in SPV_KHR_float_controls), and
// what it is told of it.
std::string asked_of(const Found& on, bool has_f64) {
  std::string text;
  const auto ask = [&](bool can, int mode, int capability, int bits) {
    if (can)
      text +=
          fmt::format("spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [{}], {}, {});\n",
                      capability, mode, bits);
  };
  const auto ask_all = [&](const Floats& can, int bits) {
    ask(can.keeps_subnormals, 4459, 4464, bits);
    ask(can.keeps_signed_zeros, 4461, 4466, bits);
    ask(can.rounds_to_even, 4462, 4467, bits);
  };
  ask_all(on.f32, 32);
  if (has_f64) ask_all(on.f64, 64);
  if (!text.empty()) text = "#extension GL_EXT_spirv_intrinsics : require\n" + text;
  return on.is_cpu() ? text : text + "#define HAS_FMA\n";
}

// Behind the lines that name version and extensions.
std::string with_asked(const std::string& source, const Found& on) {
  const size_t at = source.find("layout(");
  const bool has_f64 = on.has_f64 && source.find("double ") != std::string::npos;
  return source.substr(0, at) + asked_of(on, has_f64) + source.substr(at);
}

// Where lavapipe (Mesa 22.3) sees a 0 it takes x * 0 for 0 and x / 0 for anything, whatever x is. So it does not see
// one: `guards` is 0 or 1.
std::string with_hidden_zeros(std::string source) {
  constexpr std::string_view kZero = "0.0", kOfF64 = "lf", kMain = "void main()";
  for (size_t at = 0; (at = source.find(kZero, at)) != std::string::npos;) {
    const bool is_whole = at > 0 && !std::isdigit(static_cast<unsigned char>(source[at - 1])) &&
                          !std::isdigit(static_cast<unsigned char>(source[at + kZero.size()]));
    const bool is_f64 = source.compare(at + kZero.size(), kOfF64.size(), kOfF64) == 0;
    const std::string_view hidden = !is_whole ? kZero : is_f64 ? "double(zero())" : "zero()";
    source.replace(at, kZero.size() + (is_whole && is_f64 ? kOfF64.size() : 0), hidden);
    at += hidden.size();
  }
  return source.insert(source.find(kMain), "float zero() { return uintBitsToFloat(arguments.guards >> 1); }\n");
}

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
  return fmt::format("{}\n{}\n{}\n{}\n{}", on_.name(), on_.driver, own.driverVersion, uuid, asked_of(on_, on_.has_f64));
}

gpu::BuiltRef Toolchain::build(const std::string& source, const codegen::KernelIr& kernel) {
  const std::string asked = with_asked(source, on_);
  return make(spirv_of(on_.is_cpu() ? with_hidden_zeros(asked) : asked), {}, kernel);
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
