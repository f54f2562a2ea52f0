// Chains: several f32 instructions of a tile program as one pass.
//
// An instruction of its own reads its operands from memory and writes its result there. In a chain a few vectors of
// elements stay in registers from one link to the next: a link ends with a jump to the one behind it, which takes the
// vectors as arguments. What only the next link reads is never written. Every link computes what the instruction of the
// same name does, bit for bit.

#pragma once

#include <cstddef>

#include "tenon/ir/op.h"

namespace tenon::backends::cpu {

/// Code of a link. Its true type has vectors in it, which differ with the instruction set.
using LinkFn = void (*)();

struct Link {
  LinkFn run = nullptr;
  const void* in = nullptr;  // elements, or one number per row
  void* out = nullptr;       // elements, or one ReduceState per row
};

/// What an op does with the elements at hand (`v`) and with in.
enum class LinkForm : unsigned char { v, v_v, v_elements, elements_v, v_number, number_v };
inline constexpr size_t kLinkForms = 6;

/// f32 only; null where there is no such link.
LinkFn link_of(ir::Op op, LinkForm form);
LinkFn link_load();
LinkFn link_store();
/// Past the caches; `out` lies on a 64-byte boundary.
LinkFn link_stream();
/// Adds the elements at hand to the lanes of their row's ReduceState, or to the elements of `out`, which has one row.
LinkFn link_sum();
LinkFn link_column_sum();
/// Ends every chain.
LinkFn link_end();

/// Elements that pass through a chain at a time.
size_t chain_width();
/// Over `rows` rows of n elements each; n is a multiple of chain_width().
void run_chain(const Link* links, size_t rows, size_t n);

}  // namespace tenon::backends::cpu
