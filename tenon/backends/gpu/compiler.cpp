// On disk each binary stands behind its length.

#include "tenon/backends/gpu/compiler.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tenon/base/environment.h"
#include "tenon/base/error.h"
#include "tenon/base/hash.h"
#include "tenon/codegen/legalise.h"
#include "tenon/device/about.h"
#include "tenon/kernels/kernels.h"

namespace tenon::backends::gpu {
namespace {

constexpr size_t kMostSources = 1024;  // before those that nobody needs any more are forgotten

std::string_view ending_of(render::Language language) {
  switch (language) {
    case render::Language::opencl: return "cl";
    case render::Language::cuda: return "cu";
    case render::Language::glsl: return "comp";
    default: return "wgsl";
  }
}

std::string first_lines(const std::string& text, size_t lines) {
  size_t end = 0;
  while (lines-- > 0 && end != std::string::npos) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

// Where the source was left; nothing where no file could be written.
std::string leave_behind(const std::string& source, const std::string& name, render::Language language,
                         std::filesystem::path folder = {}) {
  std::error_code none;
  if (folder.empty()) folder = std::filesystem::temp_directory_path(none);
  const auto path = folder / fmt::format("tenon-{}-{:016x}.{}", name, base::hash_bytes(source), ending_of(language));
  std::ofstream file(path);
  file << source;
  file.close();
  return file && !none ? path.string() : std::string();
}

void keep_if_wanted(const std::string& source, const std::string& name, render::Language language) {
  const auto folder = base::env::value(base::env::kKeepKernels);
  if (!folder) return;
  std::error_code none;
  std::filesystem::create_directories(*folder, none);
  static std::atomic<bool> was_told{false};
  if (leave_behind(source, name, language, *folder).empty() && !was_told.exchange(true))
    std::fprintf(stderr, "[tenon] kernels cannot be kept in %s (TENON_KEEP_KERNELS)\n", folder->c_str());
}

}  // namespace

codegen::Module Compiler::lower(const device::Kernel& kernel) const { return kernels::lower(kernel, limits_); }

std::vector<Step> Compiler::library_steps(const device::Kernel&) { return {}; }

std::string Compiler::source_of(const codegen::KernelIr& kernel) const {
  if (!kernel.text.empty()) return kernel.text;
  const codegen::Lacks lacks = toolchain_.lacks();
  if (lacks == codegen::Lacks{}) return render::render(kernel, toolchain_.language());
  return render::render(codegen::legalise(kernel, lacks), toolchain_.language());
}

BuiltRef Compiler::build(const std::string& source, const codegen::KernelIr& kernel) {
  keep_if_wanted(source, kernel.name, toolchain_.language());
  try {
    return toolchain_.build(source, kernel);
  } catch (const Refused& refused) {
    const std::string file = leave_behind(source, kernel.name, toolchain_.language());
    constexpr size_t kShown = 8;
    base::fail(toolchain_.backend(), "kernel {} does not compile on {} ({}){}: {}", kernel.name, toolchain_.chip(),
               refused.why, file.empty() ? "" : fmt::format("; its source is in {}", file),
               first_lines(refused.log, kShown));
  }
}

BuiltRef Compiler::build_once(const std::string& source, const std::function<BuiltRef()>& make) {
  std::shared_ptr<Source> entry;
  {
    std::lock_guard lock(mutex_);
    if (sources_.size() >= kMostSources)
      std::erase_if(sources_,
                    [](const auto& one) { return one.second.use_count() == 1 && one.second->built.expired(); });
    std::shared_ptr<Source>& known = sources_[source];
    if (!known) known = std::make_shared<Source>();
    entry = known;
  }
  std::lock_guard lock(entry->mutex);
  BuiltRef built = entry->built.lock();
  if (built) return built;
  built = make();
  entry->built = built;
  return built;
}

Step Compiler::finished(const codegen::Dispatch& dispatch, BuiltRef built) const {
  Step step = step_of(dispatch, std::move(built));
  // Bytes and halves that are reached in words: each buffer has to begin with one.
  const codegen::Lacks lacks = toolchain_.lacks();
  for (size_t i = 0; i < step.alignments.size(); ++i) {
    const size_t bytes = codegen::size_of(dispatch.kernel.buffers[i].element);
    if ((bytes == 1 && lacks.bytes) || (bytes == 2 && lacks.halves))
      step.alignments[i] = std::max(step.alignments[i], 4u);
  }
  return step;
}

Step Compiler::step(const codegen::Dispatch& dispatch) {
  const std::string source = source_of(dispatch.kernel);
  return finished(dispatch, build_once(source, [&] { return build(source, dispatch.kernel); }));
}

namespace {
std::vector<uint32_t> alignments_of(const std::vector<Step>& steps, const ir::Limits& limits) {
  std::vector<uint32_t> made;
  for (const Step& step : steps) {
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      const uint32_t own = i < step.alignments.size() ? step.alignments[i] : limits.alignment;
      const size_t arg = step.buffers[i].arg;
      if (made.size() <= arg) made.resize(arg + 1, 1);
      made[arg] = std::max(made[arg], own);
    }
  }
  return made;
}
}  // namespace

// None where `make` gives none.
device::ProgramRef Compiler::assemble(const device::Kernel& kernel, const Make& make) {
  const codegen::Module module = lower(kernel);
  auto made = std::make_shared<Program>();
  made->scratch = module.scratch_bytes;
  made->steps = library_steps(kernel);
  made->about = device::about(kernel, made->steps.empty() ? std::string_view() : library_name(kernel));
  for (size_t i = 0; i < module.dispatches.size(); ++i) {
    const codegen::Dispatch& dispatch = module.dispatches[i];
    const std::string source = source_of(dispatch.kernel);
    BuiltRef built = build_once(source, [&] { return make(i, source, dispatch.kernel); });
    if (!built) return nullptr;
    made->steps.push_back(finished(dispatch, std::move(built)));
  }
  made->alignments = alignments_of(made->steps, limits_);
  return made;
}

device::ProgramRef Compiler::compile(const device::Kernel& kernel) {
  return assemble(kernel,
                  [&](size_t, const std::string& source, const codegen::KernelIr& ir) { return build(source, ir); });
}

bool Compiler::takes(const ir::Call& call) const { return kernels::takes(call); }

std::vector<ir::Way> Compiler::ways(const ir::Call& call) const { return kernels::ways(call, limits_); }

std::string Compiler::saved_as(const device::Kernel& kernel) const {
  const std::string depends_on = toolchain_.depends_on();
  if (depends_on.empty()) return {};
  const codegen::Module module = lower(kernel);
  if (module.dispatches.empty()) return {};
  std::string text = fmt::format("{}\n{}\n", toolchain_.backend(), depends_on);
  for (const codegen::Dispatch& dispatch : module.dispatches) text += source_of(dispatch.kernel);
  return text;
}

std::vector<std::byte> Compiler::save(const device::Program& program) const {
  std::vector<std::byte> all;
  for (const Step& step : static_cast<const Program&>(program).steps) {
    if (step.is_library) continue;
    const std::vector<std::byte> binary = toolchain_.binary_of(*step.built);
    if (binary.empty()) return {};
    const size_t at = all.size(), bytes = binary.size();
    all.resize(at + sizeof bytes + bytes);
    std::memcpy(all.data() + at, &bytes, sizeof bytes);
    std::memcpy(all.data() + at + sizeof bytes, binary.data(), bytes);
  }
  return all;
}

device::ProgramRef Compiler::load(const device::Kernel& kernel, std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> binaries;
  while (!bytes.empty()) {
    size_t size = 0;
    if (bytes.size() < sizeof size) return nullptr;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) return nullptr;
    binaries.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  try {
    return assemble(kernel, [&](size_t i, const std::string&, const codegen::KernelIr& ir) {
      return i < binaries.size() ? toolchain_.load(binaries[i], ir) : nullptr;
    });
  } catch (const Error&) {  // a binary without our kernel
    return nullptr;
  }
}

}  // namespace tenon::backends::gpu
