// The ops of the reference device, by kind.

#pragma once

#include <span>

#include "tenon/backends/reference/array.h"

namespace tenon::backends::reference {

using Arrays = std::vector<Array>;

void run_leaf(const ir::Call& call, const Arrays& in, Array& out);
void run_elementwise(const ir::Call& call, const Arrays& in, Array& out);
void run_reduce(const ir::Call& call, const Arrays& in, Array& out);
void run_indexed(const ir::Call& call, const Arrays& in, Array& out);
void run_call(const ir::Call& call, const Arrays& in, Arrays& out);
void run_effect(const ir::Call& call, const Arrays& in, Array& out);
void run_convolution(const ir::Call& call, const Arrays& in, Array& out);
void run_max_pool(const ir::Call& call, const Array& in, Array& value, Array& place);
void run_max_pool_backward(const ir::Call& call, const Array& in, const Array& place, Array& out);
void run_attention(const ir::AttentionAttrs& attrs, const Arrays& in, Arrays& out);
void run_attention_backward(const ir::AttentionAttrs& attrs, const Arrays& in, Arrays& out);

}  // namespace tenon::backends::reference
