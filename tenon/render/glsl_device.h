// GLSL for one device: what a shader asks of its arithmetic, and what has to be kept from its compiler.

#pragma once

#include <string>

namespace tenon::render {

/// What a device does with floats of one size, if a shader asks for it.
struct FloatControls {
  bool keeps_subnormals = false, keeps_signed_zeros = false, rounds_to_even = false;
};

struct GlslDevice {
  FloatControls f32, f64;
  bool has_fma = false;
  /// Where lavapipe (Mesa 22.3) sees a 0 it takes x * 0 for 0 and x / 0 for anything, whatever x is.
  bool mistakes_zeros = false;
  /// For SwiftShader 2^NaN is a number.
  bool loses_nan = false;
};

/// What a shader asks of the device and is told of it, as lines of GLSL.
std::string asked_of(const GlslDevice& device, bool has_f64);
/// A text of `render` for this device.
std::string glsl_for(const GlslDevice& device, const std::string& source);

}  // namespace tenon::render
