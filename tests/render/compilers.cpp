#include "compilers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tenon::render {
namespace {

bool succeeds(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }
bool is_on_path(const std::string& program) { return succeeds("command -v " + program); }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a command in a folder with the sources as 0000.ending and so on. It names a bad one in its last line.
std::string check(const std::vector<std::string>& sources, const std::string& ending, const std::string& command) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tenon_render_{}_{}", getpid(), ending);
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < sources.size(); ++i) std::ofstream(folder / fmt::format("{:06}.{}", i, ending)) << sources[i];
  const int status = std::system(fmt::format("cd {} && ({}) > log 2>&1", folder.string(), command).c_str());
  std::string said = status == 0 ? "" : text_of(folder / "log");
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (status != 0) said += "\n" + text_of(folder / said.substr(said.rfind('\n') + 1));
  std::filesystem::remove_all(folder);
  return said;
}

const std::string kScript = std::string(TENON_SOURCE_DIR) + "/scripts/check_wgsl.py";
/// A Python that has the package wgpu, which brings naga along; it needs some driver of Vulkan to open it.
std::string python_with_wgpu() {
  for (const std::string python : {"python3", "${TENON_PYTHON:-python3}"}) {
    if (succeeds(python + " " + kScript)) return python;
  }
  return "";
}

}  // namespace

bool has_glslang() { return is_on_path("glslangValidator"); }

std::string check_glsl(const std::vector<std::string>& sources) {
  std::string each = "glslangValidator --quiet -V --target-env vulkan1.2 -S comp -o out $f";
  // Validators that come with glslang 12 do not know cooperative matrices.
  if (is_on_path("spirv-val"))
    each += " && { grep -q SPV_KHR_cooperative_matrix $f || spirv-val --target-env vulkan1.2 out; }";
  return check(sources, "comp", fmt::format("for f in *.comp; do {{ {}; }} || {{ echo $f; exit 1; }}; done", each));
}

std::string why_no_wgsl() {
  if (is_on_path("naga") || is_on_path("tint") || !python_with_wgpu().empty()) return "";
  return "no naga, no tint, and no python3 with the package wgpu and a driver of Vulkan (TENON_PYTHON names another)";
}

std::string check_wgsl(const std::vector<std::string>& sources) {
  const std::string validator = is_on_path("naga") ? "naga" : is_on_path("tint") ? "tint" : "";
  if (validator.empty()) return check(sources, "wgsl", fmt::format("{} {} *.wgsl", python_with_wgpu(), kScript));
  return check(sources, "wgsl", fmt::format("for f in *.wgsl; do {} $f || {{ echo $f; exit 1; }}; done", validator));
}

}  // namespace tenon::render
