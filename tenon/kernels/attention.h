// Attention and its gradients, without ever holding the matrix of scores.

#pragma once

#include "tenon/codegen/kernel_ir.h"
#include "tenon/ir/call.h"
#include "tenon/ir/limits.h"

namespace tenon::kernels {

codegen::Module lower_attention(const ir::Call& call, const ir::Limits& limits);
codegen::Module lower_attention_backward(const ir::Call& call, const ir::Limits& limits);

}  // namespace tenon::kernels
