// Spells a kernel in the language of a device.

#pragma once

#include <string>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/codegen/legalise.h"

namespace tenon::render {

enum class Language : uint8_t { opencl, cuda, glsl, wgsl };

/// What a language itself lacks, or has not well enough; devices may lack more. Kernels are legalised for it first.
codegen::Lacks lacks_of(Language language);

/// A whole source file with this one kernel as its entry point, by its name (in GLSL: main). What the arguments are,
/// the head of each language's file says. Fails, naming op or type, where the language lacks something. To be compiled
/// without contraction and with correct division and square roots: OpenCL C by -cl-std=CL1.2
/// -cl-fp32-correctly-rounded-divide-sqrt where the device takes it, CUDA C++ by -fmad=false.
std::string render(const codegen::KernelIr& kernel, Language language);

/// Bytes of shared memory that a launch of the kernel in CUDA C++ has to bring: all of it, where that is more than a
/// block has by itself, and none otherwise.
uint32_t cuda_shared_bytes_of_launch(const codegen::KernelIr& kernel);

}  // namespace tenon::render
