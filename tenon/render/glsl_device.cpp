#include "tenon/render/glsl_device.h"

#include <fmt/format.h>

#include <cctype>

namespace tenon::render {
namespace {

// By the numbers in SPV_KHR_float_controls.
std::string asked_of(const FloatControls& floats, int bits) {
  std::string text;
  const auto ask = [&](bool can, int mode, int capability) {
    if (can)
      text +=
          fmt::format("spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], capabilities = [{}], {}, {});\n",
                      capability, mode, bits);
  };
  ask(floats.keeps_subnormals, 4459, 4464);
  ask(floats.keeps_signed_zeros, 4461, 4466);
  ask(floats.rounds_to_even, 4462, 4467);
  return text;
}

// `guards` is 0 or 1. A variable: glslang makes a branch of a choice between anything else.
std::string with_hidden_zeros(std::string source) {
  constexpr std::string_view kZero = "0.0", kOfF64 = "lf", kMain = "void main() {\n";
  const size_t main = source.find(kMain) + kMain.size();
  for (size_t at = main; (at = source.find(kZero, at)) != std::string::npos;) {
    const bool is_whole = !std::isdigit(static_cast<unsigned char>(source[at - 1])) &&
                          !std::isdigit(static_cast<unsigned char>(source[at + kZero.size()]));
    const bool is_f64 = source.compare(at + kZero.size(), kOfF64.size(), kOfF64) == 0;
    const std::string_view hidden = !is_whole ? kZero : is_f64 ? "zero_f64" : "zero";
    source.replace(at, kZero.size() + (is_whole && is_f64 ? kOfF64.size() : 0), hidden);
    at += hidden.size();
  }
  std::string hidden = "  float zero = uintBitsToFloat(arguments.guards >> 1);\n";
  if (source.find("zero_f64", main) != std::string::npos) hidden += "  double zero_f64 = double(zero);\n";
  return source.insert(main, hidden);
}

}  // namespace

std::string asked_of(const GlslDevice& device, bool has_f64) {
  std::string asked = asked_of(device.f32, 32);
  if (has_f64) asked += asked_of(device.f64, 64);
  if (!asked.empty()) asked = "#extension GL_EXT_spirv_intrinsics : require\n" + asked;
  if (device.has_fma) asked += "#define HAS_FMA\n";
  if (device.loses_nan) asked += "#define LOSES_NAN\n";
  return asked;
}

std::string glsl_for(const GlslDevice& device, const std::string& source) {
  const size_t at = source.find("layout(");  // behind the lines that name version and extensions
  const bool has_f64 = source.find("double ") != std::string::npos;
  const std::string made = source.substr(0, at) + asked_of(device, has_f64) + source.substr(at);
  return device.mistakes_zeros ? with_hidden_zeros(made) : made;
}

}  // namespace tenon::render
