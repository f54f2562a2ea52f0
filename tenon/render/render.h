// Spells a kernel in the language of a device.

#pragma once

#include <string>

#include "tenon/codegen/kernel_ir.h"

namespace tenon::render {

enum class Language : uint8_t { opencl, cuda, glsl, wgsl };

/// A whole source file with this one kernel as its entry point.
std::string render(const codegen::KernelIr& kernel, Language language);

}  // namespace tenon::render
