// Whether compilers that look at the CPU's number, as LLVM does, would write instructions that end this process.

#pragma once

namespace tenon::backends::vulkan {

/// On some ARM machines, in virtual machines mostly, the system hides SVE while the CPU's number says that it is there.
bool compiler_assumes_hidden_sve();

}  // namespace tenon::backends::vulkan
