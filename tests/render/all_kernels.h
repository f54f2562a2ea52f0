// Every kernel that programs of all kinds become on a device of a language's kind: what compilers of that language have
// to take.

#pragma once

#include <vector>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/render/render.h"

namespace tenon::render {

/// What devices have that are programmed in a language: those of Vulkan and WebGPU lack f64, and WebGPU's may lack
/// subgroups.
ir::Limits limits_for(Language language);

/// What steps of training GPT-2 and the rows of tests/ops (in all dtypes and layouts, and their gradients) lower to,
/// each form once, named k0, k1, ... and legalised for the language. Half of GPT-2's and about 25 of the rows', at even
/// distances; where TENON_ALL_CASES is set all of GPT-2's, and 1000 of the rows' (all of them in WGSL, whose validator
/// is quick).
const std::vector<codegen::KernelIr>& kernels_of_everything(Language language);

}  // namespace tenon::render
