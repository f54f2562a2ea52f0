// Which calls of attention the kernels of attention_hopper.cu take, and how they are started. Pure: what is decided
// follows from the call alone.
//
// They take 16-bit heads of 64 or 128 numbers whose rows they can copy 16 bytes at a time, causal or not, of any
// lengths, with keys shared by heads or not. Everything else (masks, dropped weights, few queries as in generation,
// other heads and layouts, other chips) is for the kernels of KernelIr.

#pragma once

#include <optional>
#include <string_view>

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"

namespace tenon::backends::cuda {

/// What the compiler calls the chip that they are for.
inline constexpr std::string_view kAttentionChip = "sm_90a";

/// The text of all kernels, which wants definitions before it.
extern const std::string_view kAttentionText;

/// None where the kernels of KernelIr do it.
std::optional<codegen::Module> plan_attention(const ir::Call& call);

}  // namespace tenon::backends::cuda
