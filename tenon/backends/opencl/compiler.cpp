// All dispatches of a module are built as one program.

#include "tenon/backends/opencl/compiler.h"

#include <fstream>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/codegen/lower.h"
#include "tenon/device/profile.h"
#include "tenon/kernels/kernels.h"
#include "tenon/render/render.h"

namespace tenon::backends::opencl {
namespace {

codegen::Module module_of(const device::Kernel& kernel, const ir::Limits& limits) {
  if (const auto* nest = std::get_if<ir::LoopNest>(&kernel)) return codegen::lower(*nest, limits);
  return kernels::lower(std::get<ir::Call>(kernel), limits);
}

std::string source_of(const codegen::Module& module) {
  std::string source;
  for (const codegen::Dispatch& dispatch : module.dispatches)
    source += render::render(dispatch.kernel, render::Language::opencl);
  return source;
}

std::string name_of(const codegen::Module& module) {
  return module.dispatches.empty() ? "nothing" : module.dispatches.front().kernel.name;
}

std::string build_log(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  if (bytes > 0) cl().get_build_info(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

std::string first_lines(const std::string& text, size_t lines) {
  size_t end = 0;
  while (lines-- > 0 && end != std::string::npos) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

// Where the source was left; nothing where no file could be written.
std::string leave_behind(const std::string& source, const std::string& name) {
  std::error_code none;
  const auto path =
      std::filesystem::temp_directory_path(none) / fmt::format("tenon-{}-{:016x}.cl", name, base::hash_bytes(source));
  std::ofstream file(path);
  file << source;
  file.close();
  return file && !none ? path.string() : std::string();
}

}  // namespace

void Step::set_arguments(cl_kernel to, const device::Launch& launch, cl_mem fault) const {
  cl_uint index = 0;
  cl_int code = CL_SUCCESS;
  const auto set = [&](const auto& value) {
    const cl_int now = cl().set_argument(to, index++, sizeof value, &value);
    if (now != CL_SUCCESS) code = now;
  };
  for (const codegen::Dispatch::Binding& buffer : buffers) {
    const device::Arg& arg = launch.args[buffer.arg];
    set(reinterpret_cast<cl_mem>(arg.buffer.handle));
    set(cl_ulong{arg.offset + buffer.offset});
  }
  for (uint32_t i = 0; i < numbers; ++i) set(cl_ulong{launch.numbers[i]});
  set(fault);
  set(cl_uint{launch.writes_state && writes_results});
  if (code != CL_SUCCESS) base::fail("opencl", "kernel {} does not take its arguments: {}", name, error_name(code));
}

Compiled::~Compiled() {
  if (process_is_ending()) return;
  for (const Step& step : steps) {
    if (step.kernel) cl().release_kernel(step.kernel);
  }
  if (program) cl().release_program(program);
}

cl_program build(cl_context context, const Found& on, const std::string& source, const std::string& name) {
  const char* text = source.c_str();
  const size_t bytes = source.size();
  cl_int code = CL_SUCCESS;
  cl_program program = cl().program_of_source(context, 1, &text, &bytes, &code);
  require(code, "a program cannot be made");
  code = cl().build_program(program, 1, &on.device, build_options(on).c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  const std::string log = build_log(program, on.device);
  cl().release_program(program);
  const std::string file = leave_behind(source, name);
  constexpr size_t kShown = 8;
  base::fail("opencl", "kernel {} does not compile on {} ({}){}: {}", name, on.name, error_name(code),
             file.empty() ? "" : fmt::format("; its source is in {}", file), first_lines(log, kShown));
}

device::ProgramRef Compiler::finish(const device::Kernel& kernel, const codegen::Module& module,
                                    cl_program program) const {
  auto made = std::make_shared<Compiled>();
  made->program = program;
  made->scratch = module.scratch_bytes;
  if (device::profiles()) made->what = device::describe(kernel);
  for (const codegen::Dispatch& dispatch : module.dispatches) {
    const codegen::KernelIr& ir = dispatch.kernel;
    cl_int code = CL_SUCCESS;
    Step& step = made->steps.emplace_back();
    step.name = ir.name;
    step.kernel = cl().create_kernel(program, ir.name.c_str(), &code);
    if (code != CL_SUCCESS) base::fail("opencl", "the program has no kernel {}: {}", ir.name, error_name(code));
    size_t most = 0;  // registers may allow fewer than the device does
    if (cl().get_work_group_info(step.kernel, on_.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr) ==
            CL_SUCCESS &&
        most < ir.threads)
      base::fail("opencl", "kernel {} wants blocks of {} threads; {} runs at most {} of it", ir.name, ir.threads,
                 on_.name, most);
    step.global = {size_t{dispatch.blocks[0]} * ir.threads, dispatch.blocks[1], dispatch.blocks[2]};
    step.local = {ir.threads, 1, 1};
    step.buffers = dispatch.buffers;
    step.numbers = ir.numbers;
    step.may_fault = ir.may_fault;
    step.writes_results = dispatch.writes_results;
  }
  return made;
}

device::ProgramRef Compiler::compile(const device::Kernel& kernel) {
  const codegen::Module module = module_of(kernel, limits_);
  cl_program program = module.dispatches.empty() ? nullptr : build(context_, on_, source_of(module), name_of(module));
  return finish(kernel, module, program);
}

std::string Compiler::saved_as(const device::Kernel& kernel) const {
  const codegen::Module module = module_of(kernel, limits_);
  if (module.dispatches.empty()) return {};
  return fmt::format("opencl\n{}\n{}\n{}\n{}\n{}", on_.platform_name, on_.name, on_.driver, build_options(on_),
                     source_of(module));
}

std::vector<std::byte> Compiler::save(const device::Program& program) const {
  const auto& compiled = static_cast<const Compiled&>(program);
  size_t bytes = 0;
  if (!compiled.program ||
      cl().get_program_info(compiled.program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS)
    return {};
  std::vector<std::byte> binary(bytes);
  auto* to = reinterpret_cast<unsigned char*>(binary.data());
  if (cl().get_program_info(compiled.program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) != CL_SUCCESS) return {};
  return binary;
}

device::ProgramRef Compiler::load(const device::Kernel& kernel, std::span<const std::byte> bytes) {
  if (bytes.empty()) return nullptr;
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t size = bytes.size();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  cl_program program = cl().program_of_binary(context_, 1, &on_.device, &size, &from, &status, &code);
  if (code != CL_SUCCESS || status != CL_SUCCESS) {
    if (program) cl().release_program(program);
    return nullptr;
  }
  if (cl().build_program(program, 1, &on_.device, build_options(on_).c_str(), nullptr, nullptr) != CL_SUCCESS) {
    cl().release_program(program);
    return nullptr;
  }
  try {
    return finish(kernel, module_of(kernel, limits_), program);
  } catch (const Error&) {  // a binary without our kernels; `finish` has let go of it
    return nullptr;
  }
}

}  // namespace tenon::backends::opencl
