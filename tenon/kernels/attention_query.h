// Attention of one query for each head, as for one token of a text that is being written.
//
// There is a row of scores and no matrix of them, so all scores of a head are held at once: a block finds them, makes
// weights of them, and adds up what these weigh. Every key and every value is read once, several threads on each.

#pragma once

#include <optional>

#include "tenon/kernels/attention_kernel.h"

namespace tenon::kernels {

/// None where there are more queries, dropped weights, too many keys for the memory of a block, or a device without
/// subgroups, and where keys or values do not lie in lines of 16 bytes.
std::optional<codegen::Dispatch> query_attention(const AttentionProblem& p, const ir::Limits& limits);

}  // namespace tenon::kernels
